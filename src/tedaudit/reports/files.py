"""The files written at the end of every run: summary.json, report.md, estimates.parquet, report.html."""

import json

import polars as pl

from tedaudit.reports.markdown import markdown_list
from tedaudit.reports.page import write_page
from tedaudit.reports.safe import redacted
from tedaudit.reports.table import markdown_tables, post_processing_table, reading
from tedaudit.reports.utility import Utility, read_utility
from tedaudit.results.reading import AuditResult
from tedaudit.store.directory import RunDirectory, write_atomically, write_frame


def write_reports(
    result: AuditResult, *, redact: bool = False, utility: Utility | None = None, page: bool = True
) -> AuditResult:
    """Write all of them into the run directory, and return the result as they show it.

    Only report.html contains texts of the corpus, and none if it is redacted. Without `utility`, the run's
    utility.json is shown.
    """
    shown = redacted(result, RunDirectory(result.folder).manifest()) if redact else result
    summary = json.dumps(shown.to_dict(), indent=2, ensure_ascii=False)
    write_atomically(result.folder / "summary.json", summary.encode())
    write_atomically(result.folder / "report.md", markdown(shown).encode())
    if shown.findings:
        rows = [_flatten(finding.to_dict()) for finding in shown]
        frame = pl.DataFrame(rows, infer_schema_length=None)
        write_frame(result.folder / "estimates.parquet", frame, "estimates")
    if page:
        write_page(
            result, shown, redact=redact, utility=read_utility(result.folder) if utility is None else utility
        )
    return shown


def markdown(result: AuditResult) -> str:
    """Return the report as Markdown."""
    verdict = (
        "At least one claim is **violated**." if result.violated else "No claim was refuted by these attacks."
    )
    notes = markdown_list(result.notes)
    effect = post_processing_table(result)
    body = (
        f"{verdict} The largest lower bound found is {result.epsilon:.2f}.\n\n"
        f"{reading(result.findings)}\n\n{markdown_tables(result)}{effect}"
    )
    if not result.findings:
        body = "No attack has finished a block yet: there is nothing to estimate from."
    return f"# Audit {result.name}\n\n{body}\n\n## Notes\n\n{notes}\n"


def _flatten(row: dict[str, object]) -> dict[str, object]:
    claim = row.pop("claim")
    keys = ("epsilon", "unit", "delta", "max_units", "neighbours", "actual", "total", "total_delta")
    values = claim if isinstance(claim, dict) else dict.fromkeys(keys)
    return {**row, **{f"claim_{key}": values[key] for key in keys}}
