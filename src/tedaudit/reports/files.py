"""The files written at the end of every run: summary.json, report.md, estimates.parquet, report.html."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.reports.export.frames import frame_rows
from tedaudit.reports.page import make_page
from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_section
from tedaudit.results.exposure import list_exposures
from tedaudit.results.findings import AuditResult
from tedaudit.results.lead import tell_lead
from tedaudit.results.losses import read_losses
from tedaudit.results.redaction import redact_result, rename_plans
from tedaudit.results.section import Section, read_sections, strip_sections
from tedaudit.results.summary import describe_claims, title_run
from tedaudit.results.telling_audit import explain_columns, tell_audit, tell_strongest
from tedaudit.results.telling_exposure import tell_exposures
from tedaudit.results.telling_losses import read_parts, rename_losses, tell_losses, tell_parts
from tedaudit.results.utility import Utility, read_utility
from tedaudit.runs.files import make_parquet


def write_reports(result: AuditResult, *, utility: Utility | None = None, page: bool = True) -> AuditResult:
    """Write all of them into the run directory, and return the result as they show it.

    Only report.html contains texts of the corpus; if the run is redacted, none of them does, and sections
    lose theirs. Without `utility`, the run's utility.json is shown.
    """
    run = result.run
    redact = run.files.is_redacted
    if redact:
        strip_sections(run)
    shown = redact_result(result, run.manifest()) if redact else result
    losses = read_losses(result)
    named = rename_losses(losses, result, shown)
    summary = shown.to_dict()
    if losses:
        summary["losses"] = [row.to_dict() for row in named]
    summary |= list_exposures(shown)
    sections = read_sections(run)
    if losses:
        told = [tell_losses(result, losses), *tell_parts(read_parts(result, losses))]
        sections = [section.redact() if redact else section for section in told] + sections
    sections = [*tell_exposures(shown, named), *sections]
    manifest = rename_plans(result, shown, run.manifest())
    contents = {
        run.summary: json.dumps(summary, indent=2, ensure_ascii=False).encode(),
        run.report: markdown(shown, manifest, sections, redact=redact).encode(),
    }
    if shown.findings:
        contents[run.estimates] = make_parquet(run.estimates.name, frame_rows(shown), "estimates")
    if page:
        study = read_utility(run) if utility is None else utility
        contents[run.page] = make_page(result, shown, sections, named, redact=redact, utility=study)
    run.files.write(contents, redacted=redact)
    return shown


def markdown(
    result: AuditResult, manifest: Mapping[str, Any], sections: Sequence[Section] = (), *, redact: bool
) -> str:
    """Return the report as Markdown, which holds no text; `manifest` names plans as the result does."""
    leading = [section for section in sections if section.leads]
    lead = tell_lead(result, manifest, leading)
    parts = [
        f"# Audit {markdown_text(title_run(result, manifest, redact=redact))}",
        f"**{markdown_text(lead.headline)}**",
        *(write_section(section.leave_texts_out()).rstrip() for section in leading),
    ]
    if result.findings:
        parts += [markdown_text(text) for text in (lead.detail, *describe_claims(result)) if text]
        parts += [write_section(tell_strongest(result)).rstrip(), f"## All rows\n\n{explain_columns(result)}"]
    others = (section for section in sections if not section.leads)
    parts += [write_section(section.leave_texts_out()).rstrip() for section in (*tell_audit(result), *others)]
    return "\n\n".join([*parts, f"## Notes\n\n{markdown_list(result.notes)}\n"])
