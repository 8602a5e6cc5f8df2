"""The two large tables of a run: rewrites by (text, replicate), and guesses by row of the plan."""

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.errors import RunDirectoryError
from tedaudit.plans.trials import Judged
from tedaudit.store.directory import TEMPORARY, read_frame, write_frame
from tedaudit.types import Rewrite

_CACHED_BYTES = 128 * 1024 * 1024
_RUNS = 16

Keys = npt.NDArray[np.int64]


def _parts(folder: Path, pattern: str) -> list[tuple[Path, tuple[int, ...]]]:
    """Return a table's parts in order, with the numbers in their names; anything else is refused."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name == "table.json" or path.name.startswith(TEMPORARY) or path.is_dir():
            continue
        match = re.fullmatch(pattern, path.name)
        if match is None:
            raise RunDirectoryError(
                f"'{path}' is not part of this table. Move it away and run the same command again."
            )
        found.append((path, tuple(int(number) for number in match.groups())))
    return sorted(found, key=lambda item: item[1])


class RewriteTable:
    """Rewrites of one mechanism at one epsilon, found by text position and replicate."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._runs: list[tuple[Keys, Keys]] = []  # sorted keys, and where each row lies
        self._cache: OrderedDict[int, pl.DataFrame] = OrderedDict()
        self._paths: dict[int, Path] = {}
        for path, (number,) in _parts(folder, r"part-(\d{6})\.parquet"):
            self._paths[number] = path
            frame = read_frame(path, key, ["text", "replicate"])
            self._index(number, frame["text"].to_numpy(), frame["replicate"].to_numpy())

    def missing(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which of these have not been rewritten yet."""
        return self._find(_key(text, replicate)) < 0

    def append(self, text: Sequence[int], replicate: Sequence[int], rewrites: Sequence[Rewrite]) -> None:
        """Add rewrites as one part."""
        number = max(self._paths, default=-1) + 1
        frame = pl.DataFrame(
            {
                "text": pl.Series(list(text), dtype=pl.Int32),
                "replicate": pl.Series(list(replicate), dtype=pl.Int32),
                "output": pl.Series([_storable(r.text) for r in rewrites], dtype=pl.String),
                "error": pl.Series([r.error for r in rewrites], dtype=pl.String),
                "units": pl.Series([r.units for r in rewrites], dtype=pl.Int32),
                "tokens": pl.Series([r.tokens for r in rewrites], dtype=pl.List(pl.Int32)),
                "latent": pl.Series([_flat(r) for r in rewrites], dtype=pl.List(pl.Float32)),
            }
        )
        path = self._folder / f"part-{number:06d}.parquet"
        write_frame(path, frame, self._key)
        self._paths[number] = path
        self._remember(number, frame)
        self._index(number, np.asarray(text), np.asarray(replicate))

    def fetch(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> list[Rewrite]:
        """Return stored rewrites, in the order asked for."""
        where = self._where(text, replicate)
        found: list[Rewrite | None] = [None] * len(where)
        for number in np.unique(where >> 32):
            rows = np.flatnonzero(where >> 32 == number)
            some = self._part(int(number))[(where[rows] & 0xFFFFFFFF).tolist()]
            for row, values in zip(rows.tolist(), some.iter_rows(named=True), strict=True):
                found[row] = _rewrite(values)
        return [rewrite for rewrite in found if rewrite is not None]

    def outputs(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> list[tuple[str, str]]:
        """Return released text and error code of a few rewrites."""
        return self._columns(text, replicate, ["output", "error"])

    def released(self) -> Iterator[tuple[npt.NDArray[np.int32], list[str]]]:
        """Yield position of the source and released text, part by part; failed rewrites are left out."""
        for path in self._paths.values():
            frame = read_frame(path, self._key, ["text", "output", "error"]).filter(pl.col("error") == "")
            yield frame["text"].to_numpy(), frame["output"].to_list()

    def mean_units(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> float | None:
        """Return how many charged draws these rewrites took on average; None where they do not say."""
        known = [units for (units,) in self._columns(text, replicate, ["units"]) if units is not None]
        return sum(known) / len(known) if known else None

    def _columns(
        self, text: npt.NDArray[Any], replicate: npt.NDArray[Any], columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return some columns of stored rewrites; latents stay on disk, nothing is cached."""
        where = self._where(text, replicate)
        found: list[tuple[Any, ...]] = [()] * len(where)
        for number in np.unique(where >> 32):
            rows = np.flatnonzero(where >> 32 == number)
            frame = read_frame(self._paths[int(number)], self._key, columns)
            some = frame[(where[rows] & 0xFFFFFFFF).tolist()]
            for row, values in zip(rows.tolist(), some.iter_rows(), strict=True):
                found[row] = values
        return found

    def _where(self, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> Keys:
        """Return where stored rewrites lie; all of them must be there."""
        where = self._find(_key(text, replicate))
        if (where < 0).any():
            raise RunDirectoryError(f"'{self._folder}' lacks rewrites that it should hold; run again.")
        return where

    def _part(self, number: int) -> pl.DataFrame:
        if number not in self._cache:
            self._remember(number, read_frame(self._paths[number], self._key))
        self._cache.move_to_end(number)
        return self._cache[number]

    def _remember(self, number: int, frame: pl.DataFrame) -> None:
        self._cache[number] = frame
        while len(self._cache) > 1 and sum(f.estimated_size() for f in self._cache.values()) > _CACHED_BYTES:
            self._cache.popitem(last=False)

    def _index(self, number: int, text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> None:
        keys = _key(text, replicate)
        where = (np.int64(number) << 32) | np.arange(len(keys), dtype=np.int64)
        self._runs.append(_sorted(keys, where))
        if len(self._runs) > _RUNS:
            every = [np.concatenate(column) for column in zip(*self._runs, strict=True)]
            self._runs = [_sorted(every[0], every[1])]

    def _find(self, keys: Keys) -> Keys:
        """Return part and row of each key, or -1."""
        where = np.full(len(keys), -1, dtype=np.int64)
        for stored, places in self._runs:
            at = np.minimum(np.searchsorted(stored, keys), len(stored) - 1)
            hit = stored[at] == keys if len(stored) else np.zeros(len(keys), dtype=bool)
            where[hit] = places[at[hit]]
        return where


class GuessTable:
    """Judged guesses of one attack on one plan, mechanism and epsilon, in parts of consecutive rows."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder, self._key = folder, key
        self._parts = _parts(folder, r"part-(\d{9})-(\d{9})\.parquet")

    def gaps(self, rows: int, size: int) -> Iterator[range]:
        """Yield the runs of rows still to be done, at most `size` at a time."""
        done = 0
        for start, stop in [*(numbers for _, numbers in self._parts), (rows, rows)]:
            for at in range(done, min(start, rows), size):
                yield range(at, min(at + size, start, rows))
            done = max(done, stop)

    def append(self, rows: range, judged: Judged) -> None:
        """Add the guesses of a run of rows as one part."""
        columns: dict[str, Any] = {
            "choice": judged.choice,
            "margin": judged.margin,
            "rank": judged.rank,
            "usable": judged.usable,
            "failed": judged.failed,
            "scores": judged.scores,
        }
        if judged.best is not None:
            columns["best"] = judged.best
        places = judged.place if judged.place is not None else np.full(len(judged), -1, dtype=np.int32)
        columns["place"] = places
        path = self._folder / f"part-{rows.start:09d}-{rows.stop:09d}.parquet"
        write_frame(path, pl.DataFrame(columns), self._key)
        self._parts = sorted([*self._parts, (path, (rows.start, rows.stop))], key=lambda item: item[1])

    def complete(self) -> int:
        """Return up to which row everything is there: estimates use no more than that."""
        done = 0
        for _, (start, stop) in self._parts:
            if start > done:
                break
            done = max(done, stop)
        return done

    def read(self, columns: Sequence[str], rows: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """Return columns of the complete rows, or of the first few of them."""
        limit = min(self.complete(), rows) if rows is not None else self.complete()
        frames = []
        for path, (start, stop) in self._parts:
            if start < limit:
                frame = read_frame(path, self._key, columns)
                if len(frame) != stop - start:
                    raise RunDirectoryError(f"'{path}' has {len(frame)} rows instead of {stop - start}. "
                                            "Delete it and run the same command again.")  # fmt: skip
                frames.append(frame.head(limit - start))
        if not frames:
            return {column: np.zeros(0, dtype=np.bool_) for column in columns}
        whole = pl.concat(frames)
        return {column: whole[column].to_numpy() for column in columns}

    def fetch(self, rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
        """Return everything of a few rows, in order of row, one part in memory at a time."""
        ordered, found = np.sort(rows), []
        for path, (start, stop) in self._parts:
            here = ordered[(ordered >= start) & (ordered < stop)]
            if len(here):
                found += read_frame(path, self._key)[(here - start).tolist()].to_dicts()
        return found


def _key(text: npt.NDArray[Any], replicate: npt.NDArray[Any]) -> Keys:
    return (np.asarray(text, dtype=np.int64) << 32) | np.asarray(replicate, dtype=np.int64)


def _sorted(keys: Keys, where: Keys) -> tuple[Keys, Keys]:
    order = np.argsort(keys, kind="stable")
    return keys[order], where[order]


def _storable(text: str) -> str:
    """Return the text with lone surrogates replaced: Parquet holds UTF-8 only."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _flat(rewrite: Rewrite) -> list[float] | None:
    return None if rewrite.latent is None else np.asarray(rewrite.latent, dtype=np.float32).ravel().tolist()


def _rewrite(row: dict[str, Any]) -> Rewrite:
    tokens = None if row["tokens"] is None else tuple(row["tokens"])
    latent = None if row["latent"] is None else np.asarray(row["latent"], dtype=np.float32)
    return Rewrite(row["output"], tokens, latent, row["units"], row["error"])
