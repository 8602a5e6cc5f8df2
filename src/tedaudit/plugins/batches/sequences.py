"""A batch as a sequence: what draws, rewrites, observations and guesses share, and pools of texts."""

import gc
import operator
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches import columns
from tedaudit.plugins.batches.columns import Where

Item = TypeVar("Item")


class Batch(Sequence[Item]):
    """What the four batches share. Their fields are columns, but for the pool that positions point into."""

    __slots__ = ()
    __array_ufunc__ = None  # an array that is compared with a batch leaves the answer to the batch
    _kind: ClassVar[type[Any]]

    @classmethod
    def of(cls, items: Sequence[Item]) -> Self:
        """Return the items as a batch; a batch as it is."""
        if isinstance(items, cls):
            return items
        rows = list(items)
        for row, item in enumerate(rows):
            if not isinstance(item, cls._kind):
                kind, other = cls._kind.__name__, type(item).__name__
                raise TypeError(f"Row {row} of {cls.__name__} is a {other}; every row must be a {kind}.")
        return cls._gather(rows)

    @classmethod
    def join(cls, batches: Iterable[Sequence[Item]]) -> Self:
        """Return the rows of all batches, one batch after the other."""
        parts = [cls.of(batch) for batch in batches]
        full = [part for part in parts if len(part)] or parts[:1] or [cls.of([])]
        return full[0] if len(full) == 1 else cls._concatenate(full)

    @overload
    def __getitem__(self, where: int | np.integer[Any]) -> Item: ...
    @overload
    def __getitem__(self, where: Where) -> Self: ...
    def __getitem__(self, where: int | np.integer[Any] | Where) -> Item | Self:
        if isinstance(where, int | np.integer):
            if not -len(self) <= where < len(self):
                raise IndexError(f"There is no row {where} among {len(self)} rows.")
            return self._row(int(where) % len(self))
        rows = columns.find_rows(where, len(self))
        held = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return type(self)(**{n: c if n == "pool" else columns.take(c, rows) for n, c in held.items()})

    def __iter__(self) -> Iterator[Item]:
        return map(self._row, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str | bytes):
            return NotImplemented
        try:
            return len(self) == len(other) and self._equals(self.of(other))
        except Exception:  # what no batch can hold equals none
            return False

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self)} rows>"

    def _hold(self, **given: Any) -> None:
        """Set the columns if they have one length; None for a column that is not there."""
        lengths = {name: len(column) for name, column in given.items() if column is not None}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise ValueError(f"All columns of {type(self).__name__} must have as many rows, but {found}.")
        for name, column in given.items():
            object.__setattr__(self, name, column)

    @classmethod
    @abstractmethod
    def _gather(cls, rows: list[Item]) -> Self: ...

    @classmethod
    @abstractmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self: ...

    @abstractmethod
    def _row(self, i: int) -> Item: ...

    @abstractmethod
    def _equals(self, other: Self) -> bool: ...


def number_texts(texts: Sequence[str]) -> tuple[tuple[str, ...], npt.NDArray[np.int32]]:
    """Return the distinct texts in order of appearance, and the position of each text among them."""
    numbers: dict[str, int] = {}
    positions = [numbers.setdefault(text, len(numbers)) for text in texts]
    return tuple(numbers), np.array(positions, dtype=np.int32)


def same_texts(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether these are the same texts in the same order."""
    return one is other or (len(one) == len(other) and all(map(operator.eq, one, other)))


def join_pools(pools: Sequence[Sequence[str]]) -> tuple[Sequence[str], list[int]]:
    """Return one pool with the texts of all, and where each begins in it; the same pool is kept once."""
    kept: list[Sequence[str]] = []
    which: list[int] = []
    for pool in pools:
        same = (i for i, other in enumerate(kept) if same_texts(other, pool))
        which.append(next(same, len(kept)))
        if which[-1] == len(kept):
            kept.append(pool)
    starts = columns.compute_offsets(np.array([len(pool) for pool in kept])).tolist()
    joined = kept[0] if len(kept) == 1 else tuple(text for pool in kept for text in pool)
    return joined, [starts[i] for i in which]


def check_positions(positions: npt.NDArray[np.int32], pool: Sequence[str]) -> None:
    """Refuse a position at which the pool has no text."""
    wrong = positions[(positions < 0) | (positions >= len(pool))]
    if len(wrong):
        raise ValueError(f"There is no text at position {wrong[0]} of a pool of {len(pool)} texts.")


# --- A pause for Python's search for cyclic garbage.


@contextmanager
def pause_collection() -> Iterator[None]:
    """Let nobody look for cycles meanwhile: many small objects are made, and none of them is in one.

    Each search looks at every object that there is, among them a corpus, and may take longer than the work.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
