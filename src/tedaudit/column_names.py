"""Names of columns in messages: a file without a header has its first row there, which may be texts."""

import re
from collections.abc import Iterable

from tedaudit.errors import join_names
from tedaudit.scripts import UNSPACED_BLOCKS

_SENTENCE = re.compile(rf"[{UNSPACED_BLOCKS}]{{9}}")  # so many characters without a space may be one


def show_name(name: str, place: int | None = None) -> str:
    """Return a column's name if it is one; of what may be a text, the length, and the place if known."""
    if len(name) <= 40 and len(name.split()) <= 3 and not _SENTENCE.search(name):
        return name
    where = "" if place is None else f"column {place}, "
    return f"({where}a name of {len(name):,} characters)"


def join_columns(names: Iterable[str]) -> str:
    """Return names of columns as one sorted list, without those that may be texts."""
    return join_names(map(show_name, names))
