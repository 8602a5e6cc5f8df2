"""Sections on a terminal: a table that fits, without the columns for which there is no room.

Cells fold between words and not within. What is left out is named: a table is never cut in two.
"""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tedaudit.errors import escape_control
from tedaudit.results.section import Section, Table

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Clean = Callable[[str], str]
_LINE = 78  # of what is told in lines alone
_LONGEST_WORD = 20  # a longer one, such as a path, is folded anywhere
_BORDER = 3  # columns of the terminal that each column of a table takes for itself


def make_printable(text: str, encoding: str) -> str:
    """Return a text that is safe to print: control and unencodable characters are escaped."""
    return escape_control(text).encode(encoding, "backslashreplace").decode(encoding)


def to_rich(section: Section, width: int = 200, clean: Clean = escape_control) -> "RichTable":
    """Return the table of a section in this width; `clean` makes every word of it safe to print."""
    from rich.table import Table as RichTable
    from rich.text import Text

    table, widths = fit_table(section.table, width, clean)
    drawn = RichTable(title=Text(clean(section.title)), title_justify="left", header_style="bold")
    for column, size in zip(table.columns, widths, strict=True):
        side: Literal["right", "left"] = "right" if column.is_figure else "left"
        drawn.add_column(Text(clean(column.name)), justify=side, overflow="fold", width=size)
    for number, row in enumerate(table.cells):
        style = "red" if number in table.marked else ""
        drawn.add_row(*(Text(clean(cell)) for cell in row), style=style)  # Text: no markup
    return drawn


def fit_section(section: Section, width: int, clean: Clean = escape_control) -> Section:
    """Return a section with the columns that have room; what the others mean goes with them."""
    return replace(section, table=fit_table(section.table, width, clean)[0])


def tell_left_out(table: Table, shown: Table) -> str:
    """Return which columns of a table are not shown, in a sentence; empty if all are."""
    missing = [name for name in table.headings if name not in shown.headings]
    return f"No room for: {', '.join(missing)}." if missing else ""


def write_lines(sections: Sequence[Section], clean: Clean = escape_control) -> list[str]:
    """Return sections without tables as short lines: each title, and what it says indented below."""
    lines: list[str] = []
    for section in sections:
        lines += [""] if lines else []
        lines += textwrap.wrap(clean(section.title), _LINE)
        for sentence in section.sentences:
            lines += textwrap.wrap(clean(sentence), _LINE, initial_indent="   ", subsequent_indent="   ")
    return lines


def fit_table(table: Table, width: int, clean: Clean = escape_control) -> tuple[Table, list[int]]:
    """Return the columns that have room, and their widths."""
    written = [[clean(cell) for cell in row] for row in (table.headings, *table.cells)]
    cells = [[row[i] for row in written] for i in range(len(table.columns))]
    natural = [max(map(measure, column)) for column in cells]
    least = [
        min(_LONGEST_WORD, max(measure(word) for cell in column for word in cell.split() or [""]))
        for column in cells
    ]
    kept = list(range(len(cells)))
    while sum(least[i] + _BORDER for i in kept) + 1 > width:
        last = max(kept, key=lambda i: (table.columns[i].rank, i), default=0)
        if not kept or table.columns[last].rank == 0:
            break
        kept.remove(last)
    return table.keep(kept), _share_width(kept, natural, least, width)


def _share_width(kept: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Return widths that fit: the widest columns give way first, none below its longest word."""
    widths = {i: max(1, natural[i]) for i in kept}
    while sum(size + _BORDER for size in widths.values()) + 1 > width:
        widest = max(kept, key=lambda i: widths[i] if widths[i] > least[i] else 0)
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return list(widths.values())


def measure(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    from rich.cells import cell_len

    return cell_len(text)
