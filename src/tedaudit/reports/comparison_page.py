"""The comparison as one page that works offline and holds no text of the corpus."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.errors import SpecError
from tedaudit.reports.chart import chart_finding, chart_plans
from tedaudit.reports.comparison_table import AGREEMENT, RIGHT, agreement_cells, cells, headings, reading
from tedaudit.reports.page import charts_missing, html
from tedaudit.reports.safe import redacted, renamed, shown_plans
from tedaudit.results.comparison import Compared, Comparison
from tedaudit.results.lineups import Axis, Side
from tedaudit.store.directory import write_atomically
from tedaudit.version import __version__

SCRIPTS = ("elements.js", "charts.js", "comparison.js")


def write_comparison(compared: Compared, path: Path) -> None:
    """Write the page."""
    try:
        write_atomically(path, html(page_data(compared), "comparison.html", SCRIPTS).encode())
    except OSError as error:
        raise SpecError(f"'{path}' cannot be written ({error.strerror}); name a file elsewhere.") from error


def page_data(compared: Compared) -> dict[str, Any]:
    """Return everything that the page shows, as plain data; labels of several words are numbered."""
    shown = without_texts(compared)
    return {
        **_charted(compared),
        "by": shown.by, "alpha": shown.alpha, "version": __version__, "missing": charts_missing(),
        "headline": _headline(shown), "paragraphs": _paragraphs(shown), "reading": reading(shown),
        "runs": list(shown.runs),
        "headings": headings(shown), "right": sorted(RIGHT),
        "rows": [_row(one, shown) for one in shown.comparisons],
        "agreement_headings": AGREEMENT,
        "agreements": [agreement_cells(one) for one in shown.agreements], "notes": list(shown.notes),
    }  # fmt: skip


def without_texts(compared: Compared) -> Compared:
    """Return the comparison without names that a person may have filled with a text."""
    sides = [side for one in compared.comparisons for side in (one.first, one.second)]
    runs = renamed("run", [str(run["name"]) for run in compared.runs])
    labels, attacks = _names(compared)
    members = {side.member: _member(side, compared.by, runs, labels, attacks) for side in sides}
    within = {**runs, **attacks}
    names = {**runs, **labels, **attacks, **members}

    def side(one: Side) -> Side:
        finding = replace(one.finding, label=labels[one.finding.label], attack=attacks[one.finding.attack])
        run = replace(one.run, name=runs[one.run.name])
        return replace(one, run=run, finding=finding, member=members[one.member])

    notes = list(compared.notes)
    for old, new in names.items():
        if old != new:
            notes = [note.replace(old, new) for note in notes]
    return replace(
        compared,
        runs=tuple({**run, "name": runs[str(run["name"])]} for run in compared.runs),
        comparisons=tuple(
            replace(c, first=side(c.first), second=side(c.second)) for c in compared.comparisons
        ),
        agreements=tuple(
            replace(a, within=within[a.within], first=members[a.first], second=members[a.second])
            for a in compared.agreements
        ),
        notes=tuple(notes),
    )


def _member(
    side: Side, by: Axis, runs: dict[str, str], labels: dict[str, str], attacks: dict[str, str]
) -> str:
    """Return how a side is called on its axis, by the names that the whole page uses."""
    if by == "run":
        return runs[side.run.name]
    if by == "attack":
        return attacks[side.finding.attack]
    plain = labels[side.finding.label]
    return plain if side.member == side.finding.label else f"{plain} ({runs[side.run.name]})"


def _names(compared: Compared) -> tuple[dict[str, str], dict[str, str]]:
    """Return how mechanisms and attacks of all runs are called on the page."""
    findings = [finding for run in compared.opened for finding in run.result]
    labels = renamed("mechanism", [finding.label for finding in findings])
    return labels, renamed("attack", [finding.attack for finding in findings])


def _charted(compared: Compared) -> dict[str, Any]:
    """Return the findings of all runs with their plans, a plan of each run as one to choose."""
    labels, attacks = _names(compared)
    runs = renamed("run", [run.name for run in compared.opened])
    found: dict[str, list[dict[str, Any]]] = {"plans": [], "findings": []}
    for run in compared.opened:
        clean = redacted(run.result, run.manifest)
        manifest = shown_plans(run.result, clean, run.manifest)
        name = runs[run.name]
        title = name if name == run.corpus["name"] else f"{name}, {run.corpus['name']}"
        found["plans"] += [
            {**plan, "name": f"{run.number} {plan['name']}", "words": f"{title}: {plan['words']}"}
            for plan in chart_plans(clean, manifest)
        ]
        for original, shown in zip(run.result, clean, strict=True):
            one = replace(shown, label=labels[original.label], attack=attacks[original.attack])
            found["findings"].append({**chart_finding(one), "plan": f"{run.number} {shown.plan}"})
    return found


def _row(one: Comparison, compared: Compared) -> dict[str, Any]:
    told = cells(one, compared)
    shared = told[: headings(compared).index("epsilon")][1:]
    epsilon = "" if math.isinf(one.epsilon) else f"epsilon {one.epsilon:g}"
    versus = f"{one.second.member} against {one.first.member}"
    return {
        "cells": told, "name": ", ".join(part for part in (versus, *shared, epsilon) if part),
        "plan": one.plan, "paired": one.counts is not None, "differs": one.differs,
        "success": None if one.success is None else one.success.to_dict(),
        "epsilon_difference": one.epsilon_emp.to_dict(),
    }  # fmt: skip


def _headline(compared: Compared) -> str:
    differing = sum(one.differs for one in compared.comparisons)
    many = len(compared.comparisons)
    if not differing:
        return f"None of {many} comparisons shows a difference."
    return f"{differing} of {many} comparisons {'shows' if differing == 1 else 'show'} a difference."


def _paragraphs(compared: Compared) -> list[str]:
    runs, many = len(compared.runs), len(compared.comparisons)
    texts = " and ".join(f"{corpus['name']} ({corpus['texts']:,} texts)" for corpus in compared.corpora)
    paired = sum(one.counts is not None for one in compared.comparisons)
    corpora = "corpus" if len(compared.corpora) == 1 else "corpora"
    what = f"{runs} run{'s' * (runs != 1)} on the {corpora} {texts}, "
    told = [
        f"{what}put side by side by {compared.by}.",
        f"{paired} of {many} comparisons are paired: both sides met the same candidates, secrets and noise.",
    ]
    taus = [one.tau for one in compared.agreements if one.tau is not None]
    if taus:
        told.append(
            f"The rankings of mechanisms agree with Kendall's tau from {min(taus):.2f} to {max(taus):.2f}."
        )
    return told
