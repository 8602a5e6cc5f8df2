"""The comparison as one page that works offline and contains no text of the corpus."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.reports.chart import chart_finding, chart_plans
from tedaudit.reports.comparison_table import (
    AGREEMENT,
    RIGHT,
    agreement_cells,
    explain_comparison,
    format_cells,
    headings,
)
from tedaudit.reports.page import charts_missing, html
from tedaudit.reports.redaction import redact_result, rename_labels, rename_plans
from tedaudit.results.comparison import Compared, Comparison
from tedaudit.results.lineups import Axis, Side
from tedaudit.store.exported import write_exported
from tedaudit.store.files import make_folders
from tedaudit.version import __version__

SCRIPTS = ("elements.js", "charts.js", "comparison.js")


def write_comparison(
    compared: Compared, path: Path, runs: Sequence[Path] = (), *, force: bool = False
) -> None:
    """Write the page; a file that was not written from one of the runs is replaced only by force."""
    content = html(page_data(compared), "comparison.html", SCRIPTS).encode()
    make_folders(path.parent, None)
    write_exported(path, content, runs, force=force)


def page_data(compared: Compared) -> dict[str, Any]:
    """Return everything that the page shows, as plain data; labels of several words become numbers."""
    shown = redact_comparison(compared)
    return {
        **_collect_charts(compared),
        "by": shown.by, "scale": shown.scale, "alpha": shown.alpha, "version": __version__,
        "missing": charts_missing(),
        "headline": _write_headline(shown), "paragraphs": _write_paragraphs(shown),
        "reading": explain_comparison(shown, both=True),
        "runs": list(shown.runs),
        "headings": headings(shown), "right": sorted(RIGHT),
        "rows": [_describe_comparison(comparison, shown) for comparison in shown.comparisons],
        "agreement_headings": AGREEMENT,
        "agreements": [agreement_cells(agreement) for agreement in shown.agreements],
        "notes": list(shown.notes),
    }  # fmt: skip


def redact_comparison(compared: Compared) -> Compared:
    """Return the comparison without names that somebody may have typed a text into."""
    sides = [side for c in compared.comparisons for side in (c.first, c.second)]
    runs = rename_labels("run", [str(run["name"]) for run in compared.runs])
    labels, attacks = _rename_labels(compared)
    members = {side.member: _rename_member(side, compared.by, runs, labels, attacks) for side in sides}
    within = {**runs, **attacks}
    names = {**runs, **labels, **attacks, **members}

    def rename(side: Side) -> Side:
        old = side.finding
        finding = replace(old, label=labels[old.label], attack=attacks[old.attack])
        run = replace(side.run, name=runs[side.run.name])
        return replace(side, run=run, finding=finding, member=members[side.member])

    notes = list(compared.notes)
    for old, new in names.items():
        if old != new:
            notes = [note.replace(old, new) for note in notes]
    return replace(
        compared,
        runs=tuple({**run, "name": runs[str(run["name"])]} for run in compared.runs),
        comparisons=tuple(
            replace(c, first=rename(c.first), second=rename(c.second)) for c in compared.comparisons
        ),
        agreements=tuple(
            replace(a, within=within[a.within], first=members[a.first], second=members[a.second])
            for a in compared.agreements
        ),
        notes=tuple(notes),
        references=tuple(replace(one, member=members[one.member]) for one in compared.references),
    )


def _rename_member(
    side: Side, by: Axis, runs: dict[str, str], labels: dict[str, str], attacks: dict[str, str]
) -> str:
    """Return the name of a side on its axis, as the whole page names it."""
    if by == "run":
        return runs[side.run.name]
    if by == "attack":
        return attacks[side.finding.attack]
    plain = labels[side.finding.label]
    return plain if side.member == side.finding.label else f"{plain} ({runs[side.run.name]})"


def _rename_labels(compared: Compared) -> tuple[dict[str, str], dict[str, str]]:
    """Return the names that the page uses for mechanisms and attacks of all runs."""
    findings = [finding for run in compared.opened for finding in run.result]
    labels = rename_labels("mechanism", [finding.label for finding in findings])
    return labels, rename_labels("attack", [finding.attack for finding in findings])


def _collect_charts(compared: Compared) -> dict[str, Any]:
    """Return the findings of all runs with their plans; each plan of each run is a separate choice."""
    labels, attacks = _rename_labels(compared)
    runs = rename_labels("run", [run.name for run in compared.opened])
    charts: dict[str, list[dict[str, Any]]] = {"plans": [], "findings": []}
    for run in compared.opened:
        clean = redact_result(run.result, run.manifest)
        manifest = rename_plans(run.result, clean, run.manifest)
        name = runs[run.name]
        title = name if name == run.corpus["name"] else f"{name}, {run.corpus['name']}"
        charts["plans"] += [
            {**plan, "name": f"{run.number} {plan['name']}", "words": f"{title}: {plan['words']}"}
            for plan in chart_plans(clean, manifest)
        ]
        for original, shown in zip(run.result, clean, strict=True):
            finding = replace(shown, label=labels[original.label], attack=attacks[original.attack])
            charts["findings"].append({**chart_finding(finding), "plan": f"{run.number} {shown.plan}"})
    return charts


def _describe_comparison(comparison: Comparison, compared: Compared) -> dict[str, Any]:
    row = format_cells(comparison, compared)
    shared = row[: headings(compared).index("epsilon")][1:]
    epsilon = comparison.epsilon.phrase
    versus = f"{comparison.second.member} against {comparison.first.member}"
    return {
        "cells": row, "name": ", ".join(part for part in (versus, *shared, epsilon) if part),
        "plan": comparison.plan, "paired": comparison.counts is not None, "differs": comparison.differs,
        "success": None if comparison.success is None else comparison.success.to_dict(),
        "epsilon_difference": comparison.epsilon_span.to_dict(),
    }  # fmt: skip


def _write_headline(compared: Compared) -> str:
    differing = sum(comparison.differs for comparison in compared.comparisons)
    total = len(compared.comparisons)
    if not differing:
        return f"None of {total} comparisons shows a difference."
    return f"{differing} of {total} comparisons {'shows' if differing == 1 else 'show'} a difference."


def _write_paragraphs(compared: Compared) -> list[str]:
    runs, total = len(compared.runs), len(compared.comparisons)
    texts = " and ".join(f"{corpus['name']} ({corpus['texts']:,} texts)" for corpus in compared.corpora)
    paired = sum(comparison.counts is not None for comparison in compared.comparisons)
    corpora = "corpus" if len(compared.corpora) == 1 else "corpora"
    subject = f"{runs} run{'s' * (runs != 1)} on the {corpora} {texts}, "
    sentences = [
        f"{subject}compared by {compared.by}.",
        f"{paired} of {total} comparisons are paired: both sides had the same candidates, secrets and noise.",
    ]
    taus = [agreement.tau for agreement in compared.agreements if agreement.tau is not None]
    if taus:
        sentences.append(
            f"The rankings of mechanisms agree with Kendall's tau from {min(taus):.2f} to {max(taus):.2f}."
        )
    return sentences
