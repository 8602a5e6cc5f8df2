"""Columns of a batch whose rows are arrays: a matrix if they have one length, otherwise ragged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Array

Positions = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Where = slice | Sequence[int] | Array


def find_rows(where: Where, rows: int) -> slice | Positions:
    """Return which rows are meant: a slice as it is, or positions that exist."""
    if isinstance(where, slice):
        return where
    index = np.asarray(where)
    if index.dtype == np.bool_:
        if index.shape != (rows,):
            raise IndexError(f"A mask of shape {index.shape} does not fit {rows} rows.")
        return np.flatnonzero(index)
    if index.ndim != 1 or (index.size and index.dtype.kind not in "iu"):
        raise IndexError("Rows are chosen by a whole number, a slice, a list of positions or a mask.")
    index = index.astype(np.int64)
    if index.size and not -rows <= index.min() <= index.max() < rows:
        raise IndexError(f"There is no row {index[(index < -rows) | (index >= rows)][0]} among {rows} rows.")
    return index


def cast(name: str, values: Any, dtype: npt.DTypeLike, dimensions: int = 1) -> Array:
    """Return an array of this type and number of dimensions; nothing is copied if it is one already."""
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise ValueError(f"The column {name} has {array.ndim} dimensions; it must have {dimensions}.")
    return array.astype(dtype, casting="same_kind" if array.size else "unsafe", copy=False)


def compute_offsets(lengths: Array) -> Positions:
    """Return where rows of these lengths begin, one after the other, and where the last one ends."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ragged:
    """Rows of any length in one array: row i is `values[offsets[i]:offsets[i + 1]]`, or None if missing."""

    values: Array
    offsets: Positions
    missing: Mask | None = None

    def __post_init__(self) -> None:
        offsets = cast("offsets", self.offsets, np.int64)
        if self.values.ndim != 1 or not len(offsets) or offsets[0] != 0 or offsets[-1] != len(self.values):
            raise ValueError("Offsets must lead from 0 to the number of values, which have one dimension.")
        lengths = np.diff(offsets)
        if (lengths < 0).any():
            raise ValueError("Offsets must not decrease.")
        missing = None if self.missing is None else cast("missing", self.missing, np.bool_)
        if missing is not None and (len(missing) != len(lengths) or lengths[missing].any()):
            raise ValueError("`missing` must have one entry per row, and a missing row has no values.")
        object.__setattr__(self, "offsets", offsets)
        object.__setattr__(self, "missing", missing if missing is not None and missing.any() else None)

    @classmethod
    def of(cls, rows: Iterable[Any], dtype: npt.DTypeLike | None = None) -> "Ragged":
        """Return these rows, None for a missing one; without a type, the one that they have in common."""
        given = list(rows)
        arrays = [np.zeros(0) if row is None else np.asarray(row) for row in given]
        if any(array.ndim != 1 for array in arrays):
            raise ValueError("Every row of a ragged column must have one dimension.")
        full = [array for array in arrays if array.size] or [np.zeros(0, dtype=dtype)]
        offsets = compute_offsets(np.array([len(array) for array in arrays], dtype=np.int64))
        missing = np.array([row is None for row in given], dtype=np.bool_)
        return cls(np.concatenate(full, dtype=dtype), offsets, missing)

    @classmethod
    def from_matrix(cls, matrix: Array) -> "Ragged":
        """Return the rows of a matrix."""
        if matrix.ndim != 2:
            raise ValueError(f"A matrix has 2 dimensions; this array has {matrix.ndim}.")
        return cls._trust(matrix.reshape(-1), np.arange(len(matrix) + 1, dtype=np.int64) * matrix.shape[1])

    @classmethod
    def absent(cls, rows: int, dtype: npt.DTypeLike | None = None) -> "Ragged":
        """Return a column in which every row is missing."""
        missing = np.ones(rows, dtype=np.bool_) if rows else None
        return cls._trust(np.zeros(0, dtype=dtype), np.zeros(rows + 1, dtype=np.int64), missing)

    @classmethod
    def _trust(cls, values: Array, offsets: Positions, missing: Mask | None = None) -> "Ragged":
        """Return a column whose parts need not be checked."""
        column = object.__new__(cls)
        for name, part in (("values", values), ("offsets", offsets), ("missing", missing)):
            object.__setattr__(column, name, part)
        return column

    @classmethod
    def join(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """Return the rows of all parts, one part after the other; a part without values lends no type."""
        full = [part.values for part in parts if part.values.size] or [parts[0].values]
        missing = [
            np.zeros(len(part), dtype=np.bool_) if part.missing is None else part.missing for part in parts
        ]
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(np.concatenate(full), compute_offsets(lengths), np.concatenate(missing))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"<Ragged of {len(self)} rows with {len(self.values)} values>"

    @property
    def lengths(self) -> Positions:
        """The number of values in each row; 0 for a missing one."""
        return np.diff(self.offsets)

    def row(self, i: int) -> Array | None:
        """Return a view of a row; None if it is missing."""
        i = range(len(self))[i]
        if self.missing is not None and self.missing[i]:
            return None
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    def matrix(self) -> Array | None:
        """Return the rows as a matrix; None if one is missing or their lengths differ."""
        lengths = self.lengths
        if self.missing is not None or (lengths != lengths[:1]).any():
            return None
        return self.values.reshape(len(self), int(lengths[0]) if len(self) else 0)

    def take(self, where: Where) -> "Ragged":
        """Return the rows at these positions, in this order."""
        rows = find_rows(where, len(self))
        matrix = self.matrix()
        if matrix is not None:
            return Ragged.from_matrix(matrix[rows])
        missing = None if self.missing is None else self.missing[rows]
        if isinstance(rows, slice) and rows.indices(len(self))[2] == 1:
            start, stop, _ = rows.indices(len(self))
            offsets = self.offsets[start : max(start, stop) + 1]
            return Ragged(self.values[offsets[0] : offsets[-1]], offsets - offsets[0], missing)
        lengths = self.lengths[rows]
        offsets = compute_offsets(lengths)
        moved = np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return Ragged(self.values[np.arange(offsets[-1]) + moved], offsets, missing)

    def equals(self, other: "Ragged") -> bool:
        """Return whether both have the same rows, whatever their types; NaN equals NaN."""
        none = np.zeros(len(self), dtype=np.bool_)
        mine, theirs = (none if column.missing is None else column.missing for column in (self, other))
        return (
            np.array_equal(self.offsets, other.offsets)
            and np.array_equal(mine, theirs)
            and np.array_equal(self.values, other.values, equal_nan=True)
        )


Column = Array | Ragged  # a matrix, or rows that no matrix can hold


def as_ragged(
    column: Column | Sequence[Any] | None, rows: int = 0, dtype: npt.DTypeLike | None = None
) -> Ragged:
    """Return a matrix, a list of rows or a ragged column as a ragged one; for None, so many missing rows."""
    if column is None:
        return Ragged.absent(rows, dtype)
    if isinstance(column, np.ndarray):
        return Ragged.from_matrix(column)
    return column if isinstance(column, Ragged) else Ragged.of(column, dtype)


def compact(name: str, column: Column, dtype: npt.DTypeLike, *, whole: bool = True) -> Column:
    """Return a column of this type, as a matrix if it can be one; if `whole`, a missing row is refused."""
    if not isinstance(column, Ragged):
        return cast(name, column, dtype, 2)
    if whole and column.missing is not None:
        raise ValueError(
            f"The column {name} lacks row {int(column.missing.argmax())}; it must have every row."
        )
    matrix = column.matrix()
    if matrix is not None:
        return cast(name, matrix, dtype, 2)
    return Ragged(cast(name, column.values, dtype), column.offsets, column.missing)


def take(column: Any, rows: slice | Positions) -> Any:
    """Return some rows of a column of any kind; None of one that is not there."""
    if column is None:
        return None
    if isinstance(column, list) and not isinstance(rows, slice):
        return [column[i] for i in rows.tolist()]
    return column.take(rows) if isinstance(column, Ragged) else column[rows]


def get_row(column: Column, i: int) -> Any:
    """Return one row of a column; None if it is missing."""
    return column.row(i) if isinstance(column, Ragged) else column[i]


def join(columns: Sequence[Column]) -> Column:
    """Return the rows of all columns: a matrix if all of them are as wide, otherwise ragged."""
    matrices = [column for column in columns if not isinstance(column, Ragged)]
    if len(matrices) == len(columns) and len({matrix.shape[1] for matrix in matrices}) == 1:
        return np.concatenate(matrices)
    return Ragged.join([as_ragged(column) for column in columns])


def add(column: Column, number: int) -> Column:
    """Return the column with a number added to every value."""
    if isinstance(column, Ragged):
        return Ragged(column.values + number, column.offsets, column.missing)
    return np.asarray(column + number)
