"""Sections on the pages of a PDF: drawn by matplotlib with embedded fonts, so that words can be copied.

What has no room is not moved to another page: whoever tells chooses what stands on each.
"""

import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tedaudit.errors import escape_control
from tedaudit.reports.section import Section, Table
from tedaudit.reports.writers.figures import FONTS, GREY, fit_labels
from tedaudit.reports.writers.terminal import fit_table, measure, tell_left_out
from tedaudit.store.files import write_atomically
from tedaudit.version import __version__

Page = tuple[str, Sequence[Section]]
"""The title of a page, and what stands on it; a section without a title goes on with the one before."""
_SIZE = (8.27, 11.69)  # A4, inches
_LEFT, _RIGHT, _TOP = 0.09, 0.91, 0.945
_LETTERS = 108  # on a line of small print
_LETTERS_BOLD = 78  # on a line of a section's title
_FIGURE = 0.17  # the height of a figure, as a share of the page


def write_pdf(pages: Sequence[Page], path: Path, title: str) -> None:
    """Write pages as a PDF of this title; the same sections give the same file."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    buffer = io.BytesIO()
    metadata = {"CreationDate": None, "Title": title}  # neither time nor machine is in it
    with rc_context(FONTS), PdfPages(buffer, metadata=metadata) as pdf:
        for page in draw_pages(pages):
            fit_labels(page.figure)
            pdf.savefig(page.figure)
    write_atomically(path, buffer.getvalue())


def draw_pages(pages: Sequence[Page]) -> list["DrawnPage"]:
    """Return the pages as figures."""
    return [
        DrawnPage(title, sections, f"page {number} of {len(pages)}")
        for number, (title, sections) in enumerate(pages, 1)
    ]


class DrawnPage:
    """A page that is filled from the top; `height` is where it ends."""

    def __init__(self, title: str, sections: Sequence[Section], number: str) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=_SIZE)
        self.height = _TOP
        self._write(title, size=14, weight="bold", letters=70)
        self._put(_LEFT, 0.03, f"tedaudit {__version__}, {number}", size=7, color=GREY)
        for section in sections:
            self._add(section)

    def _add(self, section: Section) -> None:
        if section.title:
            self.height -= 0.006
            self._write(section.title, size=10.5, weight="bold", letters=_LETTERS_BOLD)
        if section.reading:
            self._write(section.reading, color=GREY)
        for sentence in section.sentences:
            self._write(sentence)
        if section.figure is not None:
            section.figure(self._make_axes())
        if section.table.columns:
            self._tabulate(section.table)

    def _write(self, text: str, size: float = 8.5, letters: int = _LETTERS, **style: Any) -> None:
        """Write a paragraph and leave some room below it."""
        for line in textwrap.wrap(text, letters, break_on_hyphens=False):
            self._put(_LEFT, self.height, line, size=size, **style)
            self.height -= size * 1.45 / 72 / _SIZE[1]
        self.height -= 0.006

    def _tabulate(self, table: Table) -> None:
        """Write a table over the whole line; a cell has one line, and is cut if it is longer."""
        from rich.cells import set_cell_size

        shown, widths = fit_table(table, _LETTERS)
        step = (_RIGHT - _LEFT) / sum(width + 1 for width in widths)
        for number, row in enumerate([shown.headings, *shown.cells]):
            place = _LEFT
            for cell, width in zip(map(escape_control, row), widths, strict=True):
                text = cell if measure(cell) <= width else f"{set_cell_size(cell, width - 3)}..."
                self._put(place, self.height, text, size=7.5, weight="normal" if number else "bold")
                place += step * (width + 1)
            self.height -= 0.0145
        missing = tell_left_out(table, shown)
        if missing:
            self._write(missing, color=GREY)
        self.height -= 0.006

    def _make_axes(self) -> Any:
        self.height -= _FIGURE
        axes = self.figure.add_axes(
            (_LEFT + 0.06, self.height + 0.045, _RIGHT - _LEFT - 0.06, _FIGURE - 0.055)
        )
        self.height -= 0.01
        return axes

    def _put(self, x: float, y: float, text: str, **style: Any) -> None:
        self.figure.text(x, y, text, va="top", parse_math=False, **style)
