"""The table of rewrites: one mechanism at one epsilon, found by text position and replicate."""

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.batches import Ragged, Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.plans.trials import number_rows
from tedaudit.store.files import make_parquet, read_frame, read_notes, write_atomically
from tedaudit.store.held_parts import OPTIONAL, HeldParts, frame_rewrites
from tedaudit.store.table_folder import TableFolder

# --- Which latents a table of rewrites keeps: they may be far larger than the texts.

KEPT_BYTES = 256 * 1024 * 1024  # latents of one table; if the rows of a plan would take more, none are kept
_VALUE = 4  # bytes of a number as a table holds it
_ROWS, _BYTES = "latents_not_kept", "latent_bytes"  # notes of a part that has left out its latents


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many latents are not in a table, and the bytes that they had."""

    rows: int = 0
    size: int = 0

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(self.rows + other.rows, self.size + other.size)

    @property
    def notes(self) -> dict[str, str]:
        """What a part says of it; nothing if its mechanism showed no latent."""
        return {_ROWS: str(self.rows), _BYTES: str(self.size)} if self.rows else {}


def is_too_large(latents: Ragged, rows: int, limit: int) -> bool:
    """Return whether latents like these would take more bytes than a limit, for so many rows."""
    return latents.values.size * _VALUE * rows > limit * len(latents)


def measure_latents(latents: Ragged) -> LeftOut:
    """Return how many rows have a latent, and what they would take."""
    missing = 0 if latents.missing is None else int(latents.missing.sum())
    return LeftOut(len(latents) - missing, latents.values.size * _VALUE)


def read_left_out(notes: Mapping[str, str]) -> LeftOut:
    """Return what a part says that it has left out."""
    return LeftOut(int(notes.get(_ROWS, 0)), int(notes.get(_BYTES, 0)))


Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """How many rewrites did not fail, and how many of those are a copy of their source, or empty."""

    rewrites: int = 0
    copied: int = 0
    empty: int = 0

    def __add__(self, other: "Released") -> "Released":
        return Released(self.rewrites + other.rewrites, self.copied + other.copied, self.empty + other.empty)


@dataclass(frozen=True, slots=True)
class RewritesPart:
    """A part in the making: its number, its bytes, and the latents that it has left out."""

    number: int
    content: bytes
    left_out: LeftOut


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:06d}.parquet"


class PartMaker:
    """Makes parts of a table of rewrites of texts of the pool, numbered one after the other."""

    def __init__(self, key: str, pool: Sequence[str], number: int) -> None:
        self._key, self._pool, self.number = key, pool, number

    def make(
        self, text: npt.ArrayLike, replicate: npt.ArrayLike, rewrites: Rewrites, *, keep_latents: bool = True
    ) -> RewritesPart:
        """Return rewrites as one part, which carries how many are copies or empty.

        Without its latents it says so, and how many bytes they had.
        """
        left_out = LeftOut() if keep_latents else measure_latents(rewrites.latents)
        if not keep_latents:
            rewrites = replace(rewrites, latents=Ragged.absent(len(rewrites), np.float32))
        frame = frame_rewrites(text, replicate, rewrites)
        counts = _count_released(frame, self._pool)
        content = make_parquet(name_part(self.number), frame, self._key, _notes(counts) | left_out.notes)
        self.number += 1
        return RewritesPart(self.number - 1, content, left_out)


class RewriteTable:
    """Rewrites in parts; an index in memory, read when it is first needed, says where each one lies."""

    def __init__(self, folder: TableFolder, key: str) -> None:
        self._folder, self.key = folder, key
        self._runs: list[tuple[Keys, Keys]] | None = None  # sorted keys, and where each row lies
        self._paths: dict[int, Path] = {}
        self._left_out: dict[int, LeftOut] | None = None  # of parts without their latents
        for path, (number,) in folder.parts(r"part-(\d{6})\.parquet"):
            self._paths[number] = path

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._load_index())

    def append(
        self,
        text: npt.ArrayLike,
        replicate: npt.ArrayLike,
        rewrites: Rewrites,
        pool: Sequence[str],
        *,
        keep_latents: bool = True,
    ) -> None:
        """Add rewrites of texts of the pool as one part."""
        number = self.next_number
        part = PartMaker(self.key, pool, number).make(text, replicate, rewrites, keep_latents=keep_latents)
        self.place(number, part.content)
        self._index(number, np.asarray(text, dtype=np.int32), np.asarray(replicate))
        self._paths[number] = self.path_of(number)
        if part.left_out.rows and self._left_out is not None:
            self._left_out[number] = part.left_out

    def place(self, number: int, content: bytes) -> None:
        """Write a part that was made elsewhere; whoever looks for its rows opens the table again."""
        write_atomically(self.path_of(number), content)

    def locate(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
        """Return the number of the part that each of these lies in; -1 if it has not been rewritten yet."""
        if not self._paths:
            return np.full(len(text), -1, dtype=np.int32)
        return (self._find(number_rows(text, replicate)) >> 32).astype(np.int32)

    def path_of(self, number: int) -> Path:
        """Return the file of a part."""
        return self._folder.path / name_part(number)

    @property
    def next_number(self) -> int:
        """The number of the next part."""
        return max(self._paths, default=-1) + 1

    def find_left_out(self) -> set[int]:
        """Return the numbers of the parts that have left out their latents."""
        return set(self._find_left_out())

    def missing(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which of these have not been rewritten yet."""
        return self._find(number_rows(text, replicate)) < 0

    def lacks_latent(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which of these were rewritten and lie in a part that has left out its latents."""
        where = self._find(number_rows(text, replicate))
        return (where >= 0) & np.isin(where >> 32, list(self._find_left_out()))

    def count_left_out(self) -> LeftOut:
        """Return how many latents the table has not kept, and their bytes."""
        return sum(self._find_left_out().values(), LeftOut())

    def fetch(
        self, text: npt.NDArray[Any], replicate: npt.NDArray[Any], parts: Sequence[str] = OPTIONAL
    ) -> Rewrites:
        """Return stored rewrites in the order asked for; of units, tokens and latents only those named."""
        held = HeldParts(self.key)
        for number in np.unique(self._where(text, replicate) >> 32).tolist():
            held.add_file(self._paths[number])
        return held.fetch(text, replicate, parts)

    def outputs(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> list[tuple[str, str]]:
        """Return released text and error code of a few rewrites."""
        return self._columns(text, replicate, ["output", "error"])

    def count_released(self) -> Released:
        """Return the counts that every part carries."""
        total = Released()
        for path in self._paths.values():
            notes = read_notes(path, self.key)
            total += Released(int(notes["released"]), int(notes["copied"]), int(notes["empty"]))
        return total

    def mean_units(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> float | None:
        """Return how many charged draws these rewrites took on average; None if they do not say."""
        known = [units for (units,) in self._columns(text, replicate, ["units"]) if units is not None]
        return sum(known) / len(known) if known else None

    def _columns(
        self, text: npt.NDArray[Any], replicate: npt.NDArray[Any], columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some columns of stored rewrites; latents stay on disk, nothing is cached."""
        where = self._where(text, replicate)
        values: list[tuple[Any, ...]] = [()] * len(where)
        for number in np.unique(where >> 32):
            rows = np.flatnonzero(where >> 32 == number)
            frame = self._read(int(number), columns)
            picked = frame[(where[rows] & 0xFFFFFFFF).tolist()]
            for row, value in zip(rows.tolist(), picked.iter_rows(), strict=True):
                values[row] = value
        return values

    def _where(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> Keys:
        """Return where stored rewrites lie; all of them must be there."""
        where = self._find(number_rows(text, replicate))
        if (where < 0).any():
            raise RunDirectoryError(f"'{self._folder.path}' lacks rewrites that it should hold; run again.")
        return where

    def _read(self, number: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        return read_frame(self._paths[number], self.key, columns)

    def _find_left_out(self) -> dict[int, LeftOut]:
        """Return the parts that have left out their latents, looked for once."""
        if self._left_out is None:
            notes = {n: read_notes(path, self.key) for n, path in self._paths.items()}
            found = {number: read_left_out(told) for number, told in notes.items()}
            self._left_out = {number: left_out for number, left_out in found.items() if left_out.rows}
        return self._left_out

    def _load_index(self) -> list[tuple[Keys, Keys]]:
        """Return the index of all parts, read once."""
        if self._runs is None:
            self._runs = []
            for number in self._paths:
                frame = self._read(number, ["text", "replicate"])
                self._index(number, frame["text"].to_numpy(), frame["replicate"].to_numpy())
        return self._runs

    def _index(self, number: int, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> None:
        """Add a part to the index."""
        runs, keys = self._load_index(), number_rows(text, replicate)
        where = (np.int64(number) << 32) | np.arange(len(keys), dtype=np.int64)
        runs.append(_sort(keys, where))
        while len(runs) > 1 and len(runs[-2][0]) < 2 * len(runs[-1][0]):  # few, and each row merged few times
            columns = [np.concatenate(column) for column in zip(*runs[-2:], strict=True)]
            runs[-2:] = [_sort(columns[0], columns[1])]

    def _find(self, keys: Keys) -> Keys:
        """Return part and row of each key, or -1."""
        where = np.full(len(keys), -1, dtype=np.int64)
        order = np.argsort(keys)  # neighbours are found near each other, which is several times faster
        ordered = keys[order]
        for stored, places in self._load_index():
            first, last = np.searchsorted(ordered, (stored[0], stored[-1] + 1)) if len(stored) else (0, 0)
            inside = ordered[first:last]
            at = np.searchsorted(stored, inside)
            hit = stored[at] == inside
            where[order[first:last][hit]] = places[at[hit]]
        return where


def _count_released(frame: pl.DataFrame, pool: Sequence[str]) -> Released:
    """Count copies and empty texts among the rewrites that did not fail."""
    right = frame.filter(pl.col("error") == "") if (frame["error"] != "").any() else frame
    outputs = right["output"].to_list()
    copied = sum(map(operator.eq, map(pool.__getitem__, right["text"].to_list()), outputs))
    return Released(len(outputs), copied, outputs.count("") + sum(map(str.isspace, outputs)))


def _notes(counts: Released) -> dict[str, str]:
    return {"released": str(counts.rewrites), "copied": str(counts.copied), "empty": str(counts.empty)}


def _sort(keys: Keys, where: Keys) -> tuple[Keys, Keys]:
    order = np.argsort(keys, kind="stable")
    return keys[order], where[order]
