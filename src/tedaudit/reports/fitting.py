"""Tables that fit a terminal: cells fold between words and not within; what has no room comes below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

_LONGEST_WORD = 20  # a longer one, such as a path, is folded anywhere
_BORDER = 3  # columns of the terminal that each column of a table takes for itself


def fit_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, keys: Sequence[int]
) -> list[dict[int, int]]:
    """Return the columns of each part of a table with their widths; every part begins with the keys."""
    cells = [[heading, *(row[i] for row in rows)] for i, heading in enumerate(headings)]
    natural = [max(map(_measure, column)) for column in cells]
    least = [
        min(_LONGEST_WORD, max(_measure(word) for cell in column for word in cell.split() or [""]))
        for column in cells
    ]
    parts: list[list[int]] = [list(keys)]
    for column in (i for i in range(len(headings)) if i not in keys):
        if sum(least[i] + _BORDER for i in [*parts[-1], column]) + 1 > width and len(parts[-1]) > len(keys):
            parts.append(list(keys))
        parts[-1].append(column)
    return [_share_width(sorted(part), natural, least, width) for part in parts]


def _share_width(
    part: Sequence[int], natural: Sequence[int], least: Sequence[int], width: int
) -> dict[int, int]:
    """Return widths that fit: the widest columns give way first, none below its longest word."""
    widths = {i: max(1, natural[i]) for i in part}
    while sum(size + _BORDER for size in widths.values()) + 1 > width:
        widest = max(part, key=lambda i: widths[i] if widths[i] > least[i] else 0)
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return widths


def set_widths(table: "Table", widths: Sequence[int]) -> None:
    """Fix the widths of a table's columns."""
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width


def _measure(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)
