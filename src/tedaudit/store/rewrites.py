"""The table of rewrites: one mechanism at one epsilon, found by text position and replicate."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.batches import Ragged, Rewrites
from tedaudit.characters import replace_surrogates
from tedaudit.errors import RunDirectoryError
from tedaudit.plans.trials import number_rows
from tedaudit.store.files import read_frame, read_notes, write_frame
from tedaudit.store.kept_latents import LeftOut, measure_latents, read_left_out
from tedaudit.store.ragged_columns import to_lists
from tedaudit.store.recent_parts import Part, RecentParts, pick
from tedaudit.store.table_folder import TableFolder

_LARGE = ("tokens", "latent")  # parts of a rewrite that are read if they are asked for

Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Released:
    """How many rewrites did not fail, and how many of those are a copy of their source, or empty."""

    rewrites: int = 0
    copied: int = 0
    empty: int = 0

    def __add__(self, other: "Released") -> "Released":
        return Released(self.rewrites + other.rewrites, self.copied + other.copied, self.empty + other.empty)


class RewriteTable:
    """Rewrites in parts; an index in memory, read when it is first needed, says where each one lies."""

    def __init__(self, folder: TableFolder, key: str) -> None:
        self._folder, self._key, self._sealed = folder, key, folder.is_sealed()
        self._runs: list[tuple[Keys, Keys]] | None = None  # sorted keys, and where each row lies
        self._recent = RecentParts()
        self._paths: dict[int, Path] = {}
        self._left_out: dict[int, LeftOut] | None = None  # of parts without their latents
        for path, (number,) in folder.parts(r"part-(\d{6})\.parquet"):
            self._paths[number] = path

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self._load_index())

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

    def append(
        self,
        text: npt.ArrayLike,
        replicate: npt.ArrayLike,
        rewrites: Rewrites,
        pool: Sequence[str],
        *,
        keep_latents: bool = True,
    ) -> None:
        """Add rewrites of texts of the pool as one part, which carries how many are copies or empty.

        Without its latents it says so, and how many bytes they had.
        """
        left_out = LeftOut() if keep_latents else measure_latents(rewrites.latents)
        latents = rewrites.latents if keep_latents else Ragged.absent(len(rewrites), np.float32)
        number = max(self._paths, default=-1) + 1
        positions = np.asarray(text, dtype=np.int32)
        stored = rewrites
        if not all(map(str.isascii, rewrites.texts)):
            stored = replace(rewrites, texts=list(map(replace_surrogates, rewrites.texts)))
        frame = pl.DataFrame(
            {
                "text": positions,
                "replicate": np.asarray(replicate, dtype=np.int32),
                "output": pl.Series(stored.texts, dtype=pl.String),
                "error": _to_errors(rewrites.errors),
                "units": _to_units(rewrites.units),
                "tokens": to_lists(rewrites.tokens, pl.Int32),
                "latent": to_lists(latents, pl.Float32),
            }
        )
        path = self._folder.path / f"part-{number:06d}.parquet"
        counts = _count_released(positions, stored.texts, rewrites.errors, pool)
        write_frame(path, frame, self._key, _notes(counts) | left_out.notes)
        self._index(number, positions, np.asarray(replicate))
        self._paths[number] = path
        if left_out.rows and self._left_out is not None:
            self._left_out[number] = left_out
        self._recent.remember(number, Part.of(frame, stored))

    def fetch(
        self, text: npt.NDArray[Any], replicate: npt.NDArray[Any], parts: Sequence[str] = _LARGE
    ) -> Rewrites:
        """Return stored rewrites, in the order asked for; of tokens and latents only the parts named."""
        where = self._where(text, replicate)
        if not len(where):
            return Rewrites.of([])
        numbers, which = np.unique(where >> 32, return_inverse=True)
        held = [self._part(number) for number in numbers.tolist()]
        return pick(held, which, where & 0xFFFFFFFF, parts)

    def outputs(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> list[tuple[str, str]]:
        """Return released text and error code of a few rewrites."""
        return self._columns(text, replicate, ["output", "error"])

    def count_released(self, pool: Callable[[], Sequence[str]]) -> Released:
        """Return the counts that every part carries; a part that carries none is read and counted."""
        total = Released()
        for path in self._paths.values():
            notes = read_notes(path, self._key, sealed=self._sealed)
            if "released" in notes:
                total += Released(int(notes["released"]), int(notes["copied"]), int(notes["empty"]))
            else:
                frame = read_frame(path, self._key, ["text", "output", "error"], sealed=self._sealed)
                texts, errors = frame["output"].to_list(), frame["error"].to_list()
                total += _count_released(frame["text"].to_numpy(), texts, errors, pool())
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

    def _part(self, number: int) -> Part:
        return self._recent.find(number) or self._recent.remember(number, Part.of(self._read(number)))

    def _read(self, number: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
        return read_frame(self._paths[number], self._key, columns, sealed=self._sealed)

    def _find_left_out(self) -> dict[int, LeftOut]:
        """Return the parts that have left out their latents, looked for once."""
        if self._left_out is None:
            notes = {n: read_notes(path, self._key, sealed=self._sealed) for n, path in self._paths.items()}
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


def _count_released(
    positions: npt.NDArray[Any], outputs: Sequence[str], errors: Sequence[str], pool: Sequence[str]
) -> Released:
    """Count copies and empty texts among the rewrites that did not fail."""
    if any(errors):
        right = [not error for error in errors]
        positions, outputs = positions[right], list(compress(outputs, right))
    copied = sum(map(operator.eq, map(pool.__getitem__, positions.tolist()), outputs))
    return Released(len(outputs), copied, outputs.count("") + sum(map(str.isspace, outputs)))


def _to_errors(errors: Sequence[str]) -> pl.Series:
    """Return a column of error codes; most rewrites have none."""
    if errors and not any(errors):
        return pl.Series([""], dtype=pl.String).new_from_index(0, len(errors))
    return pl.Series(errors, dtype=pl.String)


def _to_units(units: npt.NDArray[np.int64]) -> pl.Series:
    """Return a column of what rewrites cost, null if it is not known."""
    cost = pl.Series(units).cast(pl.Int32)
    return cost if (units >= 0).all() else pl.select(pl.when(cost >= 0).then(cost)).to_series()


def _notes(counts: Released) -> dict[str, str]:
    return {"released": str(counts.rewrites), "copied": str(counts.copied), "empty": str(counts.empty)}


def _sort(keys: Keys, where: Keys) -> tuple[Keys, Keys]:
    order = np.argsort(keys, kind="stable")
    return keys[order], where[order]
