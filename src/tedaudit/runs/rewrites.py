"""The table of rewrites: one mechanism at one epsilon, found by text position and replicate."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.errors import RunDirectoryError
from tedaudit.plugins.batches import Rewrites
from tedaudit.runs.files import make_parquet, read_frame, read_notes, read_part, write_atomically
from tedaudit.runs.held_parts import OPTIONAL, frame_rewrites, gather_rewrites
from tedaudit.runs.table_folder import TableFolder
from tedaudit.trials.judge import number_rows

Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """How many rewrites did not fail, and how many of those are a copy of their source, or empty."""

    rewrites: int = 0
    copied: int = 0
    empty: int = 0

    def __add__(self, other: "Released") -> "Released":
        return Released(self.rewrites + other.rewrites, self.copied + other.copied, self.empty + other.empty)


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:06d}.parquet"


def make_rewrites_part(
    name: str,
    key: str,
    pool: Sequence[str],
    places: tuple[npt.ArrayLike, npt.ArrayLike],
    rewrites: Rewrites,
) -> bytes:
    """Return rewrites of these texts and replicates as one part, with how many are copies or empty."""
    frame = frame_rewrites(*places, rewrites)
    return make_parquet(name, frame, key, _notes(_count_released(frame, pool)))


class RewriteTable:
    """Rewrites in parts; an index in memory, read when it is first needed, says where each one lies."""

    def __init__(self, folder: TableFolder, key: str) -> None:
        self._folder, self.key = folder, key
        self._runs: list[tuple[Keys, Keys]] | None = None  # sorted keys, and where each row lies
        self._paths: dict[int, Path] = {}
        for path, (number,) in folder.parts(r"part-(\d{6})\.parquet"):
            self._paths[number] = path

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._load_index())

    def append(
        self, text: npt.ArrayLike, replicate: npt.ArrayLike, rewrites: Rewrites, pool: Sequence[str]
    ) -> None:
        """Add rewrites of texts of the pool as one part."""
        number = max(self._paths, default=-1) + 1
        path = self._folder.path / name_part(number)
        write_atomically(path, make_rewrites_part(path.name, self.key, pool, (text, replicate), rewrites))
        self._index(number, np.asarray(text, dtype=np.int32), np.asarray(replicate))
        self._paths[number] = path

    def missing(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which of these have not been rewritten yet."""
        return self._find(number_rows(text, replicate)) < 0

    def fetch(
        self, text: npt.NDArray[Any], replicate: npt.NDArray[Any], parts: Sequence[str] = OPTIONAL
    ) -> Rewrites:
        """Return stored rewrites in the order asked for; of units, tokens and latents only those named."""
        numbers = np.unique(self._where(text, replicate) >> 32).tolist()
        held = ((self._paths[number], read_part(self._paths[number])) for number in numbers)
        return gather_rewrites(held, self.key, (text, replicate), parts)

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
