"""Sections as HTML, every name escaped: a table for a notebook, and a document that is read or printed."""

import io
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from tedaudit.errors import escape_control
from tedaudit.results.section import Column, Section
from tedaudit.version import __version__

Page = tuple[str, Sequence[Section]]
"""The title of a page, and what stands on it; a section without a title goes on with the one before."""
_STYLE = """
@page { size: A4; margin: 16mm 18mm; }
body { font: 10pt/1.4 system-ui, sans-serif; max-width: 174mm; margin: 2em auto; color: #1f2328; }
section + section { break-before: page; margin-top: 4em; }
h1 { font-size: 15pt; } h2 { font-size: 11pt; margin: 1em 0 .3em; } p { margin: .3em 0; }
table { border-collapse: collapse; margin: .5em 0; font-size: 8.5pt; } caption { display: none; }
th, td { padding: 0 .8em .1em 0; vertical-align: top; } tr { break-inside: avoid; }
svg { display: block; width: 100%; height: auto; } .quiet { color: #59636e; }
@media print {
  body, section + section { margin: 0; } body { font-size: 8pt; line-height: 1.25; }
  h1 { margin: 0; } h2 { font-size: 9.5pt; margin: .6em 0 .1em; } p { margin: .15em 0; }
  table { font-size: 7pt; margin: .2em 0; } svg { max-height: 46mm; }
}
"""


def write_document(pages: Sequence[Page], title: str) -> str:
    """Return pages as a document of this title, each on a sheet of its own; the same sections give the same.

    Figures are drawn if matplotlib is installed.
    """
    parts = "\n".join(
        f"<section><h1>{_write(name)}</h1>\n{''.join(map(_write_part, sections))}"
        f'<p class="quiet">tedaudit {__version__}, page {number} of {len(pages)}</p></section>'
        for number, (name, sections) in enumerate(pages, 1)
    )
    head = f'<meta charset="utf-8"><title>{_write(title)}</title>\n<style>{_STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{parts}\n</body></html>\n'


def _write_part(section: Section) -> str:
    """Return a section with its title, how to read it, its sentences, its figure and its table."""
    parts = [f"<h2>{_write(section.title)}</h2>"] if section.title else []
    parts += [f'<p class="quiet">{_write(section.reading)}</p>'] if section.reading else []
    parts += [f"<p>{_write(sentence)}</p>" for sentence in section.sentences]
    parts += [_draw(section.figure)] if section.figure is not None else []
    parts += [write_section(section)] if section.table.columns else []
    return "\n".join([*parts, ""])


def _draw(figure: Callable[[Any], None]) -> str:
    """Return a figure as SVG; why it is missing if it cannot be drawn."""
    from tedaudit.reports.writers.figures import figures_missing

    if figures_missing():
        return f'<p class="quiet">{_write(figures_missing())}</p>'
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    drawn, buffer = Figure(figsize=(6.9, 1.9), layout="constrained"), io.StringIO()
    with rc_context({"svg.hashsalt": "tedaudit", "svg.fonttype": "none", "font.size": 8}):
        figure(drawn.subplots())
        drawn.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})  # no time
    content = buffer.getvalue()
    return content[content.index("<svg") :]


def _write(text: str) -> str:
    return escape(escape_control(text))


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
