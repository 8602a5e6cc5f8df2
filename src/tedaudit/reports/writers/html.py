"""Sections as HTML for a notebook, every name escaped."""

from html import escape

from tedaudit.reports.section import Column, Section


def write_section(section: Section) -> str:
    """Return the table of a section, its title as the caption; marked rows are bold."""
    table = section.table
    head = "".join(f"<th{_align(column)}>{escape(column.name)}</th>" for column in table.columns)
    body = ""
    for number, row in enumerate(table.cells):
        style = ' style="font-weight:bold"' if number in table.marked else ""
        cells = zip(table.columns, row, strict=True)
        shown = "".join(f"<td{_align(column)}>{escape(cell)}</td>" for column, cell in cells)
        body += f"<tr{style}>{shown}</tr>"
    caption = f"<caption>{escape(section.title)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _align(column: Column) -> str:
    return ' style="text-align:right"' if column.is_figure else ' style="text-align:left"'
