"""A result as a notebook shows it: an HTML table per plan, every name escaped."""

from html import escape

from tedaudit.reports.headline import headlines
from tedaudit.reports.section import Column
from tedaudit.reports.table import explain_table, plans, tell_plan
from tedaudit.results.findings import AuditResult


def make_html(result: AuditResult) -> str:
    """Return headlines, a table per plan and how to read it; no text of the corpus."""
    if not result.findings:
        return "<p>No attack has finished a block yet: there is nothing to estimate from.</p>"
    told = "".join(f"<li>{escape(headline.text)}</li>" for headline in headlines(result))
    tables = "".join(_make_table(result, plan) for plan in plans(result))
    remark = f"<p><small>{escape(explain_table(result))}</small></p>"
    return f"<div><ul>{told}</ul>{tables}{remark}</div>"


def _make_table(result: AuditResult, plan: str) -> str:
    table = tell_plan(result, plan).table
    ceilings = [finding.bound.is_at_ceiling for finding in result if finding.plan == plan]
    head = "".join(f"<th{_align(column)}>{escape(column.name)}</th>" for column in table.columns)
    body = ""
    for number, row in enumerate(table.cells):
        style = ' style="font-weight:bold"' if number in table.marked else ""
        body += f"<tr{style}>"
        for column, cell in zip(table.columns, row, strict=True):
            at_ceiling = " (ceiling)" if column.name == "eps_emp" and ceilings[number] else ""
            body += f"<td{_align(column)}>{escape(cell)}{at_ceiling}</td>"
        body += "</tr>"
    caption = f"<caption>{escape(f'{result.name}: {plan}')}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _align(column: Column) -> str:
    return ' style="text-align:right"' if column.is_figure else ' style="text-align:left"'
