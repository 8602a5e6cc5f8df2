"""A split of a corpus as a table, and back: the texts, and a column for every label.

Labels come from anybody's file: a column may have any name and hold anything. What no column of a table
can hold as it is, is stored as JSON.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tedaudit.characters import replace_surrogates
from tedaudit.errors import RunDirectoryError
from tedaudit.types import Split

_TEXTS = "texts"  # the note that says which column holds the texts
_USUAL = "text"
_PLAIN: dict[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def frame_of_split(split: Split) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the table of a split, and the note that says which of its columns holds the texts."""
    columns = {replace_surrogates(name): _to_series(values) for name, values in split.columns.items()}
    name = _USUAL
    while name in columns:
        name += "_"
    return pl.DataFrame({name: pl.Series(split.texts, dtype=pl.String), **columns}), {_TEXTS: name}


def split_of_frame(frame: pl.DataFrame, notes: Mapping[str, str], path: Path) -> Split:
    """Return the split in a table."""
    name = notes.get(_TEXTS, _USUAL)
    if name not in frame.columns or frame[name].dtype != pl.String or frame[name].has_nulls():
        raise RunDirectoryError(
            f"'{path}' is damaged (it lacks the column of texts). Delete it and run the same command again."
        )
    columns = {key: tuple(frame[key].to_list()) for key in frame.columns if key != name}
    return Split(tuple(frame[name].to_list()), columns)


def _to_series(values: Sequence[Any]) -> pl.Series:
    """Return a column of one plain type, missing values left out; or else every value as JSON."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else str
        small = kind is not int or all(value is None or -(2**63) <= value < 2**63 for value in values)
        if kind in _PLAIN and small:
            plain = [replace_surrogates(value) if kind is str and value else value for value in values]
            return pl.Series(plain, dtype=_PLAIN[kind])
    return pl.Series([None if value is None else _to_json(value) for value in values], dtype=pl.String)


def _to_json(value: Any) -> str:
    """Return any value as JSON, which is escaped and so holds no lone surrogate."""
    return json.dumps(value, default=lambda other: replace_surrogates(str(other)))
