"""The report as one page: works offline, sends nothing, and shows every text as text.

The page is a template with a style sheet, scripts and the data as JSON. Neither this module nor the
scripts build markup from texts, and a content security policy allows only these scripts to run.
"""

import base64
import hashlib
import importlib.util
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib import resources
from typing import Any

import yaml

from tedaudit.reports.chart import chart_finding, chart_plans
from tedaudit.reports.example import choose_example
from tedaudit.reports.headline import headlines
from tedaudit.reports.losses.chart import chart_losses
from tedaudit.reports.plugin_cards import describe_plugins
from tedaudit.reports.redaction import redact_spec, rename_plans, safe_json
from tedaudit.reports.sample import Sample, take_sample
from tedaudit.reports.section import Section
from tedaudit.reports.summary import paragraphs, tiles
from tedaudit.reports.table import CLAIM_HEADINGS, HEADINGS, RIGHT, explain_table, format_claims
from tedaudit.reports.utility import Utility, redact_utility
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow
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
    data = page_data(shown, manifest, sample, redact=redact)
    study = utility or Utility()
    labels = [finding.label for finding in original]
    data["losses"] = chart_losses(losses)
    example = None if redact else choose_example(original)
    data["example"] = None if example is None else example.to_dict()
    data["sections"] = [show_section(section) for section in sections]
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


def charts_missing() -> str:
    """Return how to get charts if they cannot be drawn, otherwise an empty string."""
    if importlib.util.find_spec("plotly") is not None:
        return ""
    return "report.html has no charts: Plotly is not installed. pip install 'tedaudit[reports]'"


def page_data(
    result: AuditResult, manifest: Mapping[str, Any], sample: Sample, *, redact: bool
) -> dict[str, Any]:
    """Return everything that the page shows, as plain data."""
    spec = redact_spec(manifest["spec"]) if redact else manifest["spec"]
    return {
        "name": result.name, "written": manifest.get("written", ""), "version": __version__,
        "folder": "RUN" if redact else str(result.folder), "redacted": redact,
        "headlines": [asdict(headline) for headline in headlines(result)], "tiles": tiles(result),
        "paragraphs": paragraphs(result, manifest), "notes": list(result.notes),
        "reading": explain_table(result) if result.findings else "",
        "plans": chart_plans(result, manifest),
        "headings": HEADINGS, "right": sorted(RIGHT),
        "claims": {"headings": CLAIM_HEADINGS, "rows": format_claims(result),
                   "violated": [claim.verdict.is_violation for claim in result.claims]},
        "findings": [chart_finding(finding) for finding in result],
        "sample": {
            "texts": sample.texts, "trials": sample.trials, "of": sample.of,
            "per_table": sample.per_table, "cut": sample.cut,
        },
        "cards": describe_plugins(spec), "manifest": _describe_manifest(manifest, spec, result),
        "missing": charts_missing(),
    }  # fmt: skip


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
