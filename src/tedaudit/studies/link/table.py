"""The table of a release: an id, an original and a rewrite for every record, and private columns."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import CorpusError, did_you_mean, quote
from tedaudit.plugins.values import fold_text
from tedaudit.text.characters import has_surrogate
from tedaudit.text.readers import join_columns, read_table
from tedaudit.trials.authors import read_author

Columns = Mapping[str, Sequence[Any]]
_USUAL_ID = "id"


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Which columns of a table hold what; without `id_column`, 'id' if there is one, else row numbers."""

    id_column: str = ""
    original_column: str = "original"
    rewrite_column: str = "rewrite"
    private: tuple[str, ...] = ()
    guesses: tuple[str, ...] = ()  # of the private columns, in their order
    author: str = ""


@dataclass(frozen=True, slots=True)
class Release:
    """The records of a release, in the order of the table.

    `pool` has every distinct original once (texts that differ in white space alone are the same), and
    `position` says which of them a record's is. `first` marks the first record of each. An id that comes
    again is a further rewrite of the same original. `private` has the columns of guesses too. `authors` is
    empty if no column has them.
    """

    ids: tuple[str, ...]
    originals: tuple[str, ...]
    rewrites: tuple[str, ...]
    private: Mapping[str, tuple[str | None, ...]]
    pool: tuple[str, ...]
    position: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()
    authors: tuple[str | None, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def checksum(self) -> str:
        """A hash of ids, originals and rewrites: another table has another one."""
        told = json.dumps([self.ids, self.originals, self.rewrites]).encode("ascii")
        return hashlib.sha256(told).hexdigest()[:16]

    @property
    def first(self) -> npt.NDArray[np.bool_]:
        """Which records are the first with their original: one for each text of the pool, in its order."""
        found = np.zeros(len(self), dtype=np.bool_)
        found[np.unique(self.position, return_index=True)[1]] = True
        return found

    @property
    def sharing(self) -> npt.NDArray[np.int64]:
        """How many records have the same original as each, itself included."""
        return np.bincount(self.position, minlength=len(self.pool))[self.position]


def read_release(source: str | Path | Columns, names: ColumnNames) -> Release:
    """Return the records of a file (csv, tsv, jsonl, parquet; compressed too) or of columns by name."""
    if isinstance(source, Mapping):
        columns, title = source, "the table"
        if len({len(values) for values in columns.values()}) > 1:
            raise CorpusError("The columns of the table have different lengths; give one value per record.")
    else:
        columns, title = read_table(source), f"'{source}'"
    for name, option in _list_wanted(names):
        if name not in columns:
            raise CorpusError(
                f"{title} has no column '{name}'.{did_you_mean(name, columns)} It has: "
                f"{join_columns(columns)}. Name the right one with {option}."
            )
    return _collect(columns, names, title)


def _list_wanted(names: ColumnNames) -> list[tuple[str, str]]:
    wanted = [(names.id_column, "--id (id_column)")] if names.id_column else []
    wanted += [(names.original_column, "--original (original_column)")]
    wanted += [(names.rewrite_column, "--rewrite (rewrite_column)")]
    wanted += [(names.author, "--author (author)")] if names.author else []
    wanted += [(name, "--private (private)") for name in names.private]
    return wanted + [(name, "--guesses (guesses)") for name in names.guesses]


def _collect(columns: Columns, names: ColumnNames, title: str) -> Release:
    """Return the records that have an original, and notes on what was found."""
    for name in (names.original_column, names.rewrite_column):
        _refuse_surrogates(columns[name], name, title)
    every = [_read_text(value) for value in columns[names.original_column]]
    folded = [fold_text(text) for text in every]
    rows = [row for row, text in enumerate(folded) if text]
    ids, notes = _read_ids(columns, names, title, {row: folded[row] for row in rows})
    if len(rows) < len(every):
        notes.append(f"{len(every) - len(rows):,} of {len(every):,} rows have no original and were left out")
    numbers: dict[str, int] = {}
    position = np.array([numbers.setdefault(folded[row], len(numbers)) for row in rows], dtype=np.int64)
    if len(numbers) < 2:
        raise CorpusError(
            f"{title} has {'one' if numbers else 'no'} distinct original. Linking needs at least 2, and a "
            "few hundred to show anything."
        )
    rewrites = tuple(_read_text(columns[names.rewrite_column][row]) for row in rows)
    labels = (*names.private, *names.guesses)
    private = {name: tuple(_read_label(columns[name][row]) for row in rows) for name in labels}
    authors = tuple(read_author(columns[names.author][row]) or None for row in rows) if names.author else ()
    originals = tuple(every[row] for row in rows)
    _, first = np.unique(position, return_index=True)
    pool = tuple(originals[row] for row in first.tolist())
    told = (*notes, *_notice(position, rewrites))
    return Release(
        ids=ids,
        originals=originals,
        rewrites=rewrites,
        private=private,
        pool=pool,
        position=position,
        notes=told,
        authors=authors,
    )


def _refuse_surrogates(values: Sequence[Any], name: str, title: str) -> None:
    for row, value in enumerate(values, 1):
        if isinstance(value, str) and has_surrogate(value):
            raise CorpusError(
                f"{title}, data row {row:,}: '{name}' holds half a surrogate pair, which is no text. "
                "Repair it where it was written (it was probably decoded with the wrong encoding)."
            )


def _read_ids(
    columns: Columns, names: ColumnNames, title: str, originals: Mapping[int, str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the ids of rows with an original; one that comes again must have the same original."""
    column = names.id_column or (_USUAL_ID if _USUAL_ID in columns else "")
    if not column:
        note = f"there is no column '{_USUAL_ID}': records are named by row, and the first row of data is 1"
        return tuple(str(row + 1) for row in originals), [note]
    found: dict[str, int] = {}
    ids = []
    for row, original in originals.items():
        name = _read_text(columns[column][row]).strip()
        if not name:
            raise CorpusError(
                f"{title}, data row {row + 1:,}: '{column}' is empty; every record needs an id."
            )
        before = found.setdefault(name, row)
        if originals[before] != original:
            raise CorpusError(
                f"{title} has the id {quote(name)} in data rows {before + 1:,} and {row + 1:,}, with "
                "different originals. Every record needs an id of its own; only further rewrites of the same "
                "original may repeat it. If the column names people, give it with --author (author)."
            )
        ids.append(name)
    return tuple(ids), []


def _notice(position: npt.NDArray[np.int64], rewrites: Sequence[str]) -> list[str]:
    """Return what a reader should know of the texts."""
    notes = []
    again = len(position) - len(np.unique(position))
    if again:
        repeat, they_are = ("repeats", "it is") if again == 1 else ("repeat", "they are")
        notes.append(
            f"{again:,} of {len(position):,} records {repeat} the original of an earlier record: {they_are} "
            "ranked, but not counted in shares and bounds"
        )
    empty = sum(not fold_text(rewrite) for rewrite in rewrites)
    if empty:
        are = "is" if empty == 1 else "are"
        notes.append(f"{empty:,} of {len(rewrites):,} rewrites {are} empty, and {are} counted like any other")
    return notes


def _read_text(value: Any) -> str:
    return "" if value is None else str(value)


def _read_label(value: Any) -> str | None:
    """Return a label as a string; None if there is none."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(value)
