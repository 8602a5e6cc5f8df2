"""The table of judged guesses: one attack on one plan, mechanism and epsilon."""

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.errors import RunDirectoryError
from tedaudit.estimators.protocol import Choices
from tedaudit.plugins.batches import PairLosses, Ragged
from tedaudit.plugins.values import Floats
from tedaudit.runs.files import make_parquet, read_frame, write_atomically
from tedaudit.runs.table_folder import TableFolder, from_lists, to_lists
from tedaudit.trials.judge import Judged

_LOSSES = ("largest", "mu", "terms")  # of pairs of candidates that have likelihoods
_ENDS = ("lower_first", "lower_second", "upper_first", "upper_second")  # of the likelihood of a text


class GuessTable:
    """Judged guesses in parts of consecutive rows of the plan."""

    def __init__(self, folder: TableFolder, key: str) -> None:
        self._folder, self.key = folder, key
        self._parts = folder.parts(r"part-(\d{9})-(\d{9})\.parquet")
        self._ahead: pl.DataFrame | None = None  # columns of the complete rows that were read ahead
        self._refuse_overlaps()

    def _refuse_overlaps(self) -> None:
        """Refuse parts that hold the same rows: nobody can tell which of them is right."""
        end, before = 0, ""
        for path, (start, stop) in self._parts:
            if start < end or start >= stop:
                reason = f"its rows are also in '{before}'" if start < end else "it has no rows"
                raise RunDirectoryError(
                    f"'{path}' is not part of this table: {reason}. Move both away and run the same command "
                    "again, which computes the rows again."
                )
            end, before = stop, path.name

    def gaps(self, rows: range, size: int) -> Iterator[range]:
        """Yield the runs of these rows that are still to be done, at most `size` at a time."""
        end, first = rows.start, bisect_right(self._parts, rows.start, key=_get_start)
        for at in range(max(0, first - 1), len(self._parts) + 1):
            start, stop = self._parts[at][1] if at < len(self._parts) else (rows.stop, rows.stop)
            for begin in range(end, min(start, rows.stop), size):
                yield range(begin, min(begin + size, start, rows.stop))
            end = max(end, stop)
            if end >= rows.stop:
                return

    def append(self, rows: range, judged: Judged) -> None:
        """Add the guesses of a run of rows as one part."""
        self.place(rows, make_guesses_part(rows, judged, self.key))

    def place(self, rows: range, content: bytes) -> None:
        """Write the part of a run of rows, which was made elsewhere."""
        path = self._folder.path / name_rows(rows)
        write_atomically(path, content)
        insort(self._parts, (path, (rows.start, rows.stop)), key=_get_start)
        self._ahead = None

    def complete(self) -> int:
        """Return the number of rows before the first gap: estimates use no more than these."""
        end = 0
        for _, (start, stop) in self._parts:
            if start > end:
                break
            end = max(end, stop)
        return end

    def choices(self) -> Choices:
        """Return what was guessed in the complete rows."""
        columns = self.read(["choice", "usable", "failed"])
        return Choices(columns["choice"], columns["usable"], columns["failed"])

    def read(
        self, columns: Sequence[str], rows: int | None = None, ahead: Sequence[str] = ()
    ) -> dict[str, npt.NDArray[Any]]:
        """Return columns of the complete rows, or of the first few of them.

        Columns that are read `ahead` are kept with these in memory: they will be asked for next.
        """
        whole = self._ahead
        if whole is None or rows is not None or not set(columns) <= set(whole.columns):
            whole = self._read_frame([*columns, *ahead], rows)
            self._ahead = whole if ahead else None
        if whole is None:
            return {column: np.zeros(0, dtype=np.bool_) for column in columns}
        return {column: whole[column].to_numpy() for column in columns}

    def _read_frame(self, columns: Sequence[str], rows: int | None = None) -> pl.DataFrame | None:
        limit = min(self.complete(), rows) if rows is not None else self.complete()
        frames = []
        for path, (start, stop) in self._parts:
            if start < limit:
                frame = read_frame(path, self.key, columns)
                if len(frame) != stop - start:
                    raise RunDirectoryError(f"'{path}' has {len(frame)} rows instead of {stop - start}. "
                                            "Delete it and run the same command again.")  # fmt: skip
                frames.append(frame.head(limit - start))
        return pl.concat(frames) if frames else None

    def read_largest(self) -> tuple[Floats, Floats] | None:
        """Return the largest losses of pairs and their mus; None if the table does not tell."""
        if not self._parts or not self.tells_losses:
            return None
        frame = self._read_losses(["largest", "mu"])
        return frame["largest"].to_numpy(), frame["mu"].to_numpy()

    def read_ends(self) -> Floats | None:
        """Return the ends of both likelihoods of every row, lower ones first; None if there are none.

        A likelihood of texts has them; a score in its place has not.
        """
        if not any(self._has_columns(path, _ENDS) for path, _ in self._parts):
            return None
        return self._read_losses(_ENDS).to_numpy()

    def read_terms(self) -> Ragged | None:
        """Return the parts of every loss; None if the table does not tell."""
        if not self._parts or not self.tells_losses:
            return None
        return from_lists(self._read_losses(["terms"])["terms"], pl.Float64, np.float64)

    def _read_losses(self, columns: Sequence[str]) -> pl.DataFrame:
        """Return what the complete rows tell of losses: nothing, in a part without a usable guess."""
        limit, frames = self.complete(), []
        for path, (start, stop) in self._parts:
            if start < limit:
                if self._has_columns(path, columns):
                    frame = read_frame(path, self.key, columns)
                else:
                    frame = pl.DataFrame({name: _nothing(name, stop - start) for name in columns})
                frames.append(frame.head(limit - start))
        return pl.concat(frames, how="vertical_relaxed")

    @cached_property
    def tells_losses(self) -> bool:
        """Whether parts have columns for losses; one in which no guess is usable never has."""
        for path, _ in self._parts:
            if self._has_columns(path, _LOSSES):
                return True
            if read_frame(path, self.key, ["usable"])["usable"].any():
                return False
        return True

    def _has_columns(self, path: Path, columns: Sequence[str]) -> bool:
        with path.open("rb") as part:  # a path is a pattern; labels may have [brackets]
            return not set(columns) - set(pl.read_parquet_schema(part))

    def fetch(self, rows: npt.NDArray[Any]) -> list[dict[str, Any]]:
        """Return everything of a few rows, in order of row, one part in memory at a time."""
        ordered, fetched = np.sort(rows), []
        for path, (start, stop) in self._parts:
            inside = ordered[(ordered >= start) & (ordered < stop)]
            if len(inside):
                frame = read_frame(path, self.key)
                fetched += frame[(inside - start).tolist()].to_dicts()
        return fetched


def _nothing(column: str, rows: int) -> pl.Series:
    if column == "terms":
        return pl.Series([None] * rows, dtype=pl.List(pl.Float32))
    return pl.Series(np.full(rows, np.nan))


def name_rows(rows: range) -> str:
    """Return the name of the file that holds a run of rows."""
    return f"part-{rows.start:09d}-{rows.stop:09d}.parquet"


def parse_rows(name: str) -> range:
    """Return the rows that a file holds, by its name."""
    start, stop = name.removeprefix("part-").removesuffix(".parquet").split("-")
    return range(int(start), int(stop))


def make_guesses_part(rows: range, judged: Judged, key: str) -> bytes:
    """Return the guesses of a run of rows as one part."""
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
    if judged.losses is not None:
        columns |= _pack_losses(judged.losses)
    return make_parquet(name_rows(rows), pl.DataFrame(columns), key)


def _get_start(part: tuple[Path, tuple[int, ...]]) -> int:
    return part[1][0]


def _pack_losses(losses: PairLosses) -> dict[str, Any]:
    """Return what is known of pairs as columns; terms are kept to seven digits."""
    told = {"largest": losses.largest, "mu": losses.mu, "terms": to_lists(losses.terms, pl.Float32)}
    return told if losses.ends is None else told | dict(zip(_ENDS, losses.ends.T, strict=True))
