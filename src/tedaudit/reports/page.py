"""The report as one page: works offline, sends nothing, and shows every text as text.

The page is a template with a style sheet, scripts and the data as JSON. Neither this module nor the
scripts build markup from texts, and a content security policy allows only these scripts to run.
"""

import base64
import hashlib
import importlib.util
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import yaml

from tedaudit.estimators.loss import DELTAS
from tedaudit.reports.figures import axis_top, epsilon_grid, success_marks
from tedaudit.reports.plugin_cards import describe_plugins
from tedaudit.reports.writers.figures import labels_with_room
from tedaudit.results.examples import Sample, choose_example, take_sample
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.lead import tell_lead
from tedaudit.results.losses import LossRow
from tedaudit.results.redaction import redact_spec, rename_plans, safe_json
from tedaudit.results.section import Section
from tedaudit.results.summary import describe_audit, describe_claims, find_strongest, title_run
from tedaudit.results.telling_audit import (
    explain_columns,
    plan_words,
    plans,
    tell_claims,
    tell_plans,
    tell_strongest,
)
from tedaudit.results.utility import Utility, redact_utility
from tedaudit.results.words import tell_meaning
from tedaudit.text.plain_data import pick
from tedaudit.version import __version__

SCRIPTS = ("elements.js", "charts.js", "loss.js", "explorer.js", "page.js")


def make_page(
    original: AuditResult,
    shown: AuditResult,
    sections: Sequence[Section] = (),
    losses: Sequence[LossRow] = (),
    *,
    redact: bool,
    utility: Utility | None = None,
) -> bytes:
    """Return report.html; `shown` is the result as it may be shown, the same findings in the same order."""
    manifest = original.run.manifest()
    sample = take_sample(original, redacted=redact)
    manifest = rename_plans(original, shown, manifest)
    leading = [section for section in sections if section.leads]
    data = page_data(shown, manifest, sample, leading, redact=redact)
    study = utility or Utility()
    labels = [finding.label for finding in original]
    data["losses"] = chart_losses(losses)
    example = None if redact or not original.has_texts else choose_example(original)
    data["example"] = None if example is None else example.to_dict()
    data["sections"] = [show_section(section) for section in sections if not section.leads]
    data["utility"] = (redact_utility(study, labels) if redact else study).to_dict()
    return html(data).encode()


def show_section(section: Section) -> dict[str, Any]:
    """Return a section as the page shows it: cells as text, and which columns are texts or figures."""
    table = section.table
    return {
        "title": section.title, "remarks": section.remarks, "headings": table.headings, "rows": table.cells,
        "private": [column.name for column in table.columns if column.is_text],
        "right": [column.name for column in table.columns if column.is_figure],
        "marked": sorted(table.marked),
    }  # fmt: skip


def _show_answer(section: Section, headline: str) -> dict[str, Any]:
    """Return a section that leads: what it says beside the headline comes before how to read it."""
    reading = section.remarks[: len(section.remarks) - len(section.sentences)]
    told = [text for text in section.sentences if text != headline]
    return {**show_section(section), "remarks": [*told, *reading]}


def charts_missing() -> str:
    """Return how to get charts if they cannot be drawn, otherwise an empty string."""
    if importlib.util.find_spec("plotly") is not None:
        return ""
    return "No charts on the page: Plotly is not installed. pip install 'tedaudit[reports]'"


def page_data(
    result: AuditResult,
    manifest: Mapping[str, Any],
    sample: Sample,
    leading: Sequence[Section] = (),
    *,
    redact: bool,
) -> dict[str, Any]:
    """Return everything that the page shows, as plain data; it begins with the sections that lead."""
    spec = redact_spec(manifest["spec"]) if redact else manifest["spec"]
    lead = tell_lead(result, manifest, leading)
    return {
        "name": title_run(result, manifest, redact=redact), "written": manifest.get("written", ""),
        "version": __version__,
        "folder": "RUN" if redact else str(result.folder), "redacted": redact,
        "lead": lead.to_dict(), "answers": [_show_answer(section, lead.headline) for section in leading],
        "notes": list(result.notes),
        "audited": [describe_audit(result, manifest), *describe_claims(result)] if result.findings else [],
        "strongest": show_section(tell_strongest(result)), "meaning": show_section(tell_meaning()),
        "reading": explain_columns(result) if result.findings else "",
        "plans": chart_plans(result, manifest),
        "tables": [*map(show_section, (*tell_claims(result), *_tell_plans(result, manifest)))],
        **chart_findings(result), "sample": sample.to_dict(),
        "cards": describe_plugins(spec, manifest.get("cards"), redact=redact),
        "manifest": _describe_manifest(manifest, spec, result),
        "missing": charts_missing(),
    }  # fmt: skip


def _tell_plans(result: AuditResult, manifest: Mapping[str, Any]) -> Iterator[Section]:
    """Yield the findings of each plan, with what the plan is."""
    for plan, section in zip(plans(result), tell_plans(result), strict=True):
        yield replace(section, title=f"{section.title}: {plan_words(plan, manifest)}")


def html(data: Mapping[str, Any], template: str = "template.html", names: Sequence[str] = SCRIPTS) -> str:
    """Return the page around its data."""
    scripts = [_read_plotly(), *(_read_asset(name) for name in names)]
    allowed = " ".join(f"'sha256-{_hash(script)}'" for script in scripts)
    nothing_else = "default-src 'none'; base-uri 'none'; form-action 'none'"
    parts = {
        "policy": f"{nothing_else}; style-src 'unsafe-inline'; img-src data: blob:; script-src {allowed}",
        "style": _read_asset("style.css"),
        "calibration": _read_asset("calibration.html"),
        "data": safe_json(data),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match.group(1)], _read_asset(template))


def _describe_manifest(
    manifest: Mapping[str, Any], spec: Mapping[str, Any], result: AuditResult
) -> dict[str, Any]:
    corpus, machine = manifest["corpus"], manifest.get("machine", {})
    about = {key: machine[key] for key in ("system", "cores", "device") if key in machine}
    return {
        "spec": yaml.safe_dump(dict(spec), sort_keys=False, allow_unicode=True),
        "versions": machine.get("versions", {}),
        "machine": {key: str(value) for key, value in about.items()},
        "corpus": {
            "name": corpus["name"], "texts": f"{corpus['texts']:,}", "splits": ", ".join(corpus["splits"]),
            "fingerprint": corpus["fingerprint"],
        },
        "alpha": f"{result.alpha:g}", "models": [dict(model) for model in result.models],
    }  # fmt: skip


def _read_asset(name: str) -> str:
    return resources.files("tedaudit.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _read_plotly() -> str:
    """Return the library that draws the charts, or an empty string if it is not installed."""
    if charts_missing():
        return ""
    from plotly.offline import get_plotlyjs

    # a browser turns \r\n into \n before it checks the script against the policy
    script: str = get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


# --- The data of the chart of claims, losses and attacks against nominal epsilon.

DELTA = DELTAS[0]


def chart_losses(rows: Sequence[LossRow]) -> dict[str, Any]:
    """Return losses as the chart of a page shows them; None for what is infinite or unknown."""
    return {
        "delta": DELTA,
        "attacks": list(dict.fromkeys(row.finding.attack for row in rows)),
        "rows": [_describe(row) for row in rows],
    }


def _describe(row: LossRow) -> dict[str, Any]:
    claim, at, supremum, text = row.finding.claim, row.epsilons[0], row.supremum, row.believed_text
    return {
        "plan": row.finding.plan, "mechanism": row.finding.label, "epsilon": row.finding.epsilon.json,
        "claim": None if claim is None else _finite(claim.total), "refuted": row.refuted,
        "slack": None if row.slack is None else row.slack.at_most,
        "supremum": None if supremum is None or row.refuted else _finite(supremum.epsilon(DELTA)),
        "text": None if text is None else _finite(text.epsilon_at[0].point),
        **{name: None if row.refuted else _finite(getattr(at, name)) for name in ("point", "lower", "upper")},
        "median": None if row.refuted else _finite(row.median), "unknown": row.sample.unknown,
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# --- The data of the chart of eps_emp against nominal epsilon.


def chart_plans(result: AuditResult, manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plans in the order of the spec, with the data of their charts."""
    charts = []
    for name in (name for name in manifest["plans"] if name in plans(result)):
        findings = [finding for finding in result if finding.plan == name]
        epsilons = epsilon_grid(findings)
        top = axis_top(max(finding.bound.ceiling for finding in findings))
        totals = sorted({total for total in map(get_total, findings) if total is not None})
        charts.append({
            "name": name, "words": plan_words(name, manifest), "top": top,
            "successes": success_marks(findings[0].bound.candidates, top), "epsilons": epsilons,
            "labelled": labels_with_room(epsilons, 0.065),
            "labelled_narrow": labels_with_room(epsilons, 0.18),
            "takes_epsilon": any(finding.epsilon.is_given for finding in findings),
            "totals": totals, "totals_labelled": labels_with_room(totals, 0.1) if totals else [],
            "totals_labelled_narrow": labels_with_room(totals, 0.24) if totals else [],
        })  # fmt: skip
    return charts


def chart_findings(findings: Iterable[Finding]) -> dict[str, Any]:
    """Return findings as the charts of a page show them, and which of them they open on."""
    shown = list(findings)
    strongest = find_strongest(shown)
    opened = shown.index(strongest) if strongest is not None else 0
    return {"findings": [_chart_finding(finding) for finding in shown], "opened": opened}


_CHARTED = (
    "plan, label as mechanism, epsilon, attack, bound.trials, bound.guesses, bound.correct, bound.success, "
    "bound.candidates, surest, bound.lower, bound.point, bound.upper, bound.ceiling, complete, "
    "verdict.name as verdict, verdict.is_violation"
)


def _chart_finding(finding: Finding) -> dict[str, Any]:
    claim = "none" if finding.claim is None else str(finding.claim)
    return {**pick(finding, _CHARTED), "claim": claim, "total": get_total(finding)}


def get_total(finding: Finding) -> float | None:
    """Return what is claimed for a whole text, if a logarithmic axis has a place for it."""
    total = 0.0 if finding.claim is None else finding.claim.total
    return float(total) if total > 0 and math.isfinite(total) else None
