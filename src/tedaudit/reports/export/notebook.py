"""A result as a notebook shows it: an HTML table per plan, every name escaped."""

from html import escape

from tedaudit.reports.headline import headlines
from tedaudit.reports.table import HEADINGS as ALL
from tedaudit.reports.table import RIGHT, explain_table, format_cells, plans, shown_columns
from tedaudit.results.findings import AuditResult, Finding

_EPS = ALL.index("eps_emp")


def make_html(result: AuditResult) -> str:
    """Return headlines, a table per plan and how to read it; no text of the corpus."""
    if not result.findings:
        return "<p>No attack has finished a block yet: there is nothing to estimate from.</p>"
    told = "".join(f"<li>{escape(headline.text)}</li>" for headline in headlines(result))
    tables = "".join(_make_table(result, plan) for plan in plans(result))
    remark = f"<p><small>{escape(explain_table(result))}</small></p>"
    return f"<div><ul>{told}</ul>{tables}{remark}</div>"


def _make_table(result: AuditResult, plan: str) -> str:
    findings = [finding for finding in result if finding.plan == plan]
    columns = shown_columns(findings)
    head = "".join(f"<th{_align(ALL[i])}>{escape(ALL[i])}</th>" for i in columns)
    body = "".join(_make_row(finding, columns) for finding in findings)
    caption = f"<caption>{escape(f'{result.name}: {plan}')}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _make_row(finding: Finding, columns: list[int]) -> str:
    cells = list(format_cells(finding))
    if finding.bound.is_at_ceiling:
        cells[_EPS] += " (ceiling)"
    shown = "".join(f"<td{_align(ALL[i])}>{escape(cells[i])}</td>" for i in columns)
    style = ' style="font-weight:bold"' if finding.verdict.is_violation else ""
    return f"<tr{style}>{shown}</tr>"


def _align(heading: str) -> str:
    return ' style="text-align:right"' if heading in RIGHT else ' style="text-align:left"'
