"""Two pages for a committee as PDF: what was measured, the figures, what they do not say. No text at all.

Drawn by matplotlib with embedded fonts, so that words can be searched and copied. Nothing is on it that
somebody typed or that came from the table but figures, and names of columns and attacks of one word.
"""

import io
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.errors import escape_control, shorten
from tedaudit.reports.redaction import rename_labels
from tedaudit.reports.section import Cell, Section, Table
from tedaudit.reports.writers.figures import GREY, STYLES, fit_labels
from tedaudit.store.files import write_atomically
from tedaudit.studies.link.result import LinkResult
from tedaudit.studies.link.telling import (
    describe_bounds,
    describe_inference,
    describe_linkability,
    describe_records,
    describe_singling_out,
)
from tedaudit.studies.link.words import (
    LIMITS,
    MEANINGS,
    SOURCE,
    tell_bound,
    tell_inference,
    tell_linkability,
    tell_singling_out,
)
from tedaudit.version import __version__

_SIZE = (8.27, 11.69)  # A4, inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.09, 0.91, 0.945, 0.06
_LETTERS = 108  # on a line of small print
_LONGEST_ID = 40
_MOST_ATTACKS, _MOST_COLUMNS, _MOST_IDS = 2, 3, 5  # that have room


def write_document(result: LinkResult, path: Path, *, ids: int = 0) -> None:
    """Write the document; with `ids`, it names so many records with the most evidence, and else none."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_pdf import PdfPages

    whole = redact_names(result)
    buffer = io.BytesIO()
    # Neither time nor machine is in it: the same figures give the same file.
    metadata = {"CreationDate": None, "Title": "Linking rewrites to their originals"}
    fonts = {"pdf.fonttype": 42, "font.size": 9}
    with rc_context(fonts), PdfPages(buffer, metadata=metadata) as pdf:
        for page in draw_pages(whole, ids):
            fit_labels(page.figure)
            pdf.savefig(page.figure)
    write_atomically(path, buffer.getvalue())


def draw_pages(result: LinkResult, ids: int = 0) -> tuple["_Page", "_Page"]:
    """Return both pages, filled; bounds speak of all attacks, shown or not."""
    shown = _choose(result)
    return _draw_first(shown, tell_bound(result)), _draw_second(shown, describe_bounds(result), ids)


def _choose(result: LinkResult) -> LinkResult:
    """Return the result with as many attacks and columns as have room, those that found most."""
    attacks = sorted(result, key=lambda found: -found.linkability.right)[:_MOST_ATTACKS]
    columns = sorted(result.inferences, key=lambda found: -found.gain[0])[:_MOST_COLUMNS]
    return replace(result, attacks=tuple(attacks), inferences=tuple(columns))


def redact_names(result: LinkResult) -> LinkResult:
    """Return the result with names of one word for attacks and columns; others become numbers."""
    attacks = rename_labels("attack", [found.attack for found in result])
    columns = rename_labels("column", [found.column for found in result.inferences])
    return replace(
        result,
        attacks=tuple(replace(found, attack=attacks[found.attack]) for found in result),
        inferences=tuple(replace(found, column=columns[found.column]) for found in result.inferences),
    )


class _Page:
    """A page that is filled from the top."""

    def __init__(self, title: str, number: int) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=_SIZE)
        self.height = _TOP
        self.write(title, size=14, weight="bold", letters=70)
        self._put(_LEFT, 0.03, f"tedaudit {__version__}, page {number} of 2", size=7, color=GREY)

    def write(self, text: str, size: float = 8.5, letters: int = _LETTERS, **style: Any) -> None:
        """Write a paragraph and leave some room below it."""
        for line in textwrap.wrap(text, letters, break_on_hyphens=False):
            self._put(_LEFT, self.height, line, size=size, **style)
            self.height -= size * 1.45 / 72 / _SIZE[1]
        self.height -= 0.006

    def head(self, text: str) -> None:
        """Write a heading."""
        self.height -= 0.006
        self.write(text, size=10.5, weight="bold")

    def tabulate(self, table: Table, widths: Sequence[float]) -> None:
        """Write a table; `widths` are shares of the line."""
        starts = _LEFT + (_RIGHT - _LEFT) * np.concatenate([[0.0], np.cumsum(widths)[:-1]])
        for number, row in enumerate([table.headings, *table.cells]):
            for start, width, cell in zip(starts, widths, row, strict=True):
                room = int(width * _LETTERS)
                shown = cell if len(cell) <= room else f"{cell[: room - 3]}..."
                self._put(float(start), self.height, shown, size=7.5, weight="normal" if number else "bold")
            self.height -= 0.0145
        self.height -= 0.006

    def chart(self, height: float) -> Any:
        """Return axes for a chart of this height, a share of the page."""
        self.height -= height
        axes = self.figure.add_axes(
            (_LEFT + 0.06, self.height + 0.045, _RIGHT - _LEFT - 0.06, height - 0.055)
        )
        self.height -= 0.01
        return axes

    def _put(self, x: float, y: float, text: str, **style: Any) -> None:
        self.figure.text(x, y, text, va="top", parse_math=False, **style)


def _draw_first(result: LinkResult, bound: str) -> _Page:
    """Draw the page with the findings."""
    page = _Page("Can rewritten texts be linked to their originals?", 1)
    page.write(
        f"{len(result.release):,} records were rewritten before their release. An adversary that has the "
        f"rewrites and all {result.originals:,} distinct originals tried to find out which belong together. "
        "This page has no text of any record."
    )
    page.head("Singling out")
    page.write(MEANINGS["Singling out"], color=GREY)
    for found in result:
        page.write(tell_singling_out(found))
    page.head("Linkability")
    page.write(MEANINGS["Linkability"], color=GREY)
    for found in result:
        page.write(tell_linkability(found))
    _draw_places(page.chart(0.17), result)
    page.tabulate(describe_linkability(result).table, (0.16, 0.2, 0.18, 0.12, 0.2, 0.14))
    page.head("Inference")
    page.write(MEANINGS["Inference"], color=GREY)
    for inference in result.inferences:
        page.write(tell_inference(inference))
    if not result.inferences:
        page.write("Not measured: no private column was named.")
    page.head("Privacy loss")
    page.write(bound)
    return page


def _draw_second(result: LinkResult, bounds: Section, ids: int) -> _Page:
    """Draw the page with bounds, how to read them, and what is not said."""
    page = _Page("How to read it", 2)
    sure, names = describe_singling_out(result), [found.attack for found in result]
    page.head("Bounds on the privacy loss")
    page.write(bounds.reading)
    own = tuple(row for row in bounds.table.rows if row[0] in names)
    page.tabulate(replace(bounds.table, rows=own), (0.2, 0.18, 0.36, 0.13, 0.13))
    page.head("The most certain guesses")
    page.write(sure.reading)
    page.tabulate(replace(sure.table, rows=_shorten(sure.table.rows)), (0.25, 0.3, 0.25, 0.2))
    if result.inferences:
        found = describe_inference(result)
        page.write(found.reading)
    if ids:
        records = describe_records(result, min(ids, _MOST_IDS)).table
        rows = tuple((shorten(escape_control(str(row[0])), _LONGEST_ID), *row[1:]) for row in records.rows)
        page.head("Records with the most evidence (named on request)")
        page.tabulate(replace(records, rows=rows), (0.3, 0.15, 0.1, 0.1, 0.1, 0.25))
    page.head("What this does not say")
    page.write(
        f"Up to {_MOST_ATTACKS} attacks, {_MOST_COLUMNS} columns and 3 parts of the guesses are shown; the "
        "report has all."
    )
    for limit in LIMITS:
        page.write(limit)
    page.head("The words")
    page.write(f"Singling out, linkability and inference are the words of: {SOURCE}.")
    return page


def _shorten(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    """Return the rows of all guesses, the surer half and the surest part of every attack: what has room."""
    attacks = dict.fromkeys(row[0] for row in rows)
    parts = [[row for row in rows if row[0] == attack] for attack in attacks]
    return tuple(row for own in parts for row in (own[:2] + own[2:][-1:]))


def _draw_places(axes: Any, result: LinkResult) -> None:
    """Draw the share of records whose original is among the first r, against r."""
    size = result.originals
    places = np.unique(np.geomspace(1, size, 60).astype(np.int64))
    for number, found in enumerate(result):
        place = np.sort(found.ranks.place[result.release.first])
        shares = np.searchsorted(place, places, side="right") / size
        colour, _ = STYLES[number % len(STYLES)]
        axes.plot(
            places, 100 * shares, color=colour, linewidth=1.6, label=found.attack, drawstyle="steps-post"
        )
    axes.plot(places, 100 * places / size, color=GREY, linestyle="--", linewidth=1, label="by chance")
    axes.set(xscale="log", ylim=(0, 104), xlim=(1, size), ylabel="% of originals",
             xlabel="own original is among the first ... of all originals")  # fmt: skip
    axes.set_xticks([10**power for power in range(len(str(size)))])
    axes.xaxis.set_major_formatter(lambda place, _: f"{place:,.0f}")
    axes.minorticks_off()
    axes.tick_params(labelsize=7)
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)
