"""Parts of a table of rewrites that are in memory, and rows that are picked from many of them.

Released texts are kept as strings, too: whoever has just written a part had them, and a column of a table
would have to make each of them anew.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tedaudit.batches import Ragged, Rewrites
from tedaudit.batches.columns import compute_offsets
from tedaudit.store.ragged_columns import from_lists

_BYTES = 128 * 1024 * 1024  # of the parts in memory; the last one is kept whatever its size
_STRING = 64  # bytes of a string besides its letters
_LISTS: Mapping[str, tuple[Any, Any]] = {"tokens": (pl.Int64, np.int64), "latent": (pl.Float32, np.float32)}

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """A part: its table, its texts, its error codes if there is any, and what rewrites cost, or -1."""

    frame: pl.DataFrame
    texts: npt.NDArray[np.object_]
    errors: npt.NDArray[np.object_] | None
    units: Ints
    size: int  # bytes in memory, about

    @classmethod
    def of(cls, frame: pl.DataFrame, rewrites: Rewrites | None = None) -> "Part":
        """Return the part of a frame; `rewrites` are those in it, if they are at hand."""
        if rewrites is None:
            units = frame["units"].fill_null(-1).cast(pl.Int64).to_numpy()
            rewrites = Rewrites.from_texts(
                frame["output"].to_list(), errors=frame["error"].to_list(), units=units
            )
        texts, errors = rewrites.texts, rewrites.errors
        size = int(frame.estimated_size()) + sum(map(len, texts)) + _STRING * len(texts)
        return cls(
            frame, _as_objects(texts), _as_objects(errors) if any(errors) else None, rewrites.units, size
        )


class RecentParts:
    """Parts by number; those that were not used for longest are forgotten if there are too many."""

    def __init__(self) -> None:
        self._parts: OrderedDict[int, Part] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._parts)

    def find(self, number: int) -> Part | None:
        """Return a part if it is in memory."""
        if number in self._parts:
            self._parts.move_to_end(number)
        return self._parts.get(number)

    def remember(self, number: int, part: Part) -> Part:
        """Keep a part, in place of those that were not used for longest."""
        self._parts[number] = part
        self._bytes += part.size
        while len(self._parts) > 1 and self._bytes > _BYTES:
            _, forgotten = self._parts.popitem(last=False)
            self._bytes -= forgotten.size
        return part


def pick(parts: Sequence[Part], which: Ints, rows: Ints, lists: Sequence[str]) -> Rewrites:
    """Return rewrites: row i is row `rows[i]` of part number `which[i]`; of its lists those named."""
    texts, units = np.empty(len(rows), dtype=object), np.empty(len(rows), dtype=np.int64)
    errors = np.full(len(rows), "", dtype=object)
    by_part = np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[by_part], np.arange(len(parts) + 1)).tolist()
    for part, (start, stop) in zip(parts, pairwise(bounds), strict=True):
        places = by_part[start:stop]
        own = rows[places]
        texts[places], units[places] = part.texts.take(own), part.units.take(own)
        if part.errors is not None:
            errors[places] = part.errors.take(own)
    starts = compute_offsets(np.array([len(part.texts) for part in parts]))
    columns = {name: _pick_lists(parts, name, starts[which] + rows) for name in _LISTS if name in lists}
    return Rewrites.from_texts(
        texts.tolist(),
        errors=errors.tolist(),
        units=units,
        tokens=columns.get("tokens"),
        latents=columns.get("latent", Ragged.absent(len(rows), np.float32)),
    )


def _pick_lists(parts: Sequence[Part], name: str, rows: Ints) -> Ragged:
    """Return some rows of a column of lists, as if all parts were one."""
    joined = _join([part.frame[name] for part in parts])
    return from_lists(joined.gather(pl.Series(rows)), *_LISTS[name])


def _join(columns: Sequence[pl.Series]) -> pl.Series:
    """Return the rows of all parts; a part in which every list is missing has a type of its own."""
    kinds = {column.dtype for column in columns}
    if len(kinds) > 1:
        return pl.concat([column.to_frame() for column in columns], how="vertical_relaxed").to_series()
    return pl.concat(columns) if len(columns) > 1 else columns[0]


def _as_objects(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    objects = np.empty(len(texts), dtype=object)
    objects[:] = texts
    return objects
