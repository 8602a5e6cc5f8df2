"""Sparse rows in which many columns are looked up at once, for products with rows of other texts.

A column is cut into a bucket (its upper bits) and a rest. Every row has a byte for each bucket: the rest of
the one feature that lies there and whether it occurs twice, or the number of a crowded bucket, whose
features are listed apart. So a look-up reads one byte, nearly always, and is exact. What is multiplied, and
in which order products are summed, is as in a product of sparse rows: scores are the same to the last bit.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.feature_rows import FeatureRows, Floats, Ints

_RESTS = (6, 5, 4)  # bits of a column below its bucket; fewer need more memory
_TWICE, _CROWDED, _EMPTY = 64, 128, 255  # added to a rest; the first crowded bucket of a row; no feature
_CELLS = 1 << 26  # bytes of a table

Bytes = npt.NDArray[np.uint8]


def is_too_large(rows: int, columns: int) -> bool:
    """Return whether no table holds so many rows, whatever is in them."""
    return rows << max(0, (columns - 1).bit_length() - _RESTS[0]) > _CELLS


def build_table(counts: Any, weights: Floats, norms: Floats) -> "FeatureTable | None":
    """Return the table of sparse rows of counts in canonical order; None if it would be too large.

    `weights` are those of the columns, `norms` those of the rows once they are weighted.
    """
    rows, columns = counts.shape
    owner = np.repeat(np.arange(rows, dtype=np.int64), np.diff(counts.indptr))
    for rest in _RESTS:
        bits = max(0, (columns - 1).bit_length() - rest)
        if rows << bits > _CELLS:
            break
        place = (owner << bits) | (counts.indices >> rest)
        crowded = np.unique(place[_find_crowded(place, counts.data)])
        if np.bincount(crowded >> bits, minlength=1).max() <= _EMPTY - _CROWDED:
            return FeatureTable(counts, weights, norms, rest, place)
    return None


def _find_crowded(place: Ints, counts: npt.NDArray[Any]) -> Ints:
    """Return which of sorted places are shared, or are those of a feature that occurs more than twice."""
    same = place[1:] == place[:-1]
    is_apart = counts > 2
    is_apart[1:] |= same
    is_apart[:-1] |= same
    return np.flatnonzero(is_apart)


class FeatureTable:
    """The vectors of some texts; `place` is the row and the bucket of every feature."""

    def __init__(self, counts: Any, weights: Floats, norms: Floats, rest: int, place: Ints) -> None:
        rows, columns = counts.shape
        self._rest, self._norms = rest, norms
        self._bits = max(0, (columns - 1).bit_length() - rest)
        self._bytes = np.full(rows << self._bits, _EMPTY, dtype=np.uint8)
        self._bytes[place] = (counts.indices & ((1 << rest) - 1)) + _TWICE * (counts.data > 1)
        apart = _find_crowded(place, counts.data)
        buckets, first, which = np.unique(place[apart], return_index=True, return_inverse=True)
        owners = buckets >> self._bits
        # where the crowded buckets of a row begin
        self._lists = np.searchsorted(owners, np.arange(rows)) - _CROWDED
        self._bytes[buckets] = np.arange(len(buckets)) - self._lists[owners]
        rank = np.arange(len(apart)) - first[which]
        shape = int(rank.max(initial=-1)) + 1, len(buckets)
        self._columns, self._weighted = np.full(shape, -1, dtype=np.int32), np.zeros(shape)
        self._columns[rank, which] = counts.indices[apart]
        self._weighted[rank, which] = weights[counts.indices[apart]] * counts.data[apart]

    def multiply(self, rows: FeatureRows, partners: npt.NDArray[np.integer[Any]]) -> Floats:
        """Return the products of each row with its partners' rows of the table, all as unit vectors."""
        bucket = (rows.columns >> np.int32(self._rest)).astype(np.int64)
        rest = rows.columns.astype(np.uint8)
        rest &= np.uint8((1 << self._rest) - 1)
        products = np.zeros(partners.shape)
        for column, partner in zip(products.T, partners.T.astype(np.int64), strict=True):
            at = np.repeat(partner << self._bits, rows.lengths)
            at += bucket
            found = self._bytes.take(at)
            is_shared = (found & np.uint8(_EMPTY - _TWICE)) == rest
            apart, weighted = self._look_apart(rows, at, found)
            is_shared[apart] = True
            found[apart] = 0  # their weights have their counts in them
            shared = np.flatnonzero(is_shared)
            other = rows.single.take(shared)
            other[np.searchsorted(shared, apart)] = weighted
            other[np.flatnonzero(found.take(shared) & np.uint8(_TWICE))] *= 2.0
            starts = np.searchsorted(shared, rows.starts)
            each = np.diff(starts, append=len(shared))
            other /= np.repeat(self._norms.take(partner), each)
            value = rows.weighted.take(shared)
            value /= np.repeat(rows.norms, each)
            value *= other
            some = np.flatnonzero(each)
            if len(some):
                column[some] = np.add.reduceat(value, starts[some])
        return products

    def _look_apart(self, rows: FeatureRows, at: Ints, found: Bytes) -> tuple[Ints, Floats]:
        """Return which features are in crowded buckets of the partners, and their weights there."""
        asked = np.flatnonzero(found.view(np.int8) < -1)  # a byte from 128 on, other than 255
        listed = self._lists.take(at.take(asked) >> self._bits) + found.take(asked)
        column = rows.columns.take(asked)
        places, weights = [asked[:0]], [rows.single[:0]]
        for columns, weighted in zip(self._columns, self._weighted, strict=True):
            right = np.flatnonzero(columns.take(listed) == column)
            places.append(asked.take(right))
            weights.append(weighted.take(listed.take(right)))
        return np.concatenate(places), np.concatenate(weights)
