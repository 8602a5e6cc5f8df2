"""The features of many texts, each text's in the order of their columns, with their weights.

A feature is one 32-bit number: its column above, the number of its weight below. Texts with as many
features are sorted side by side, as the rows of a matrix: several times faster than in one long list, and
the weights come along with their columns.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.word_features import WordFeatures

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Packed = npt.NDArray[np.uint32]

_TEXTS = 4096  # that are sorted together,
_LETTERS = 1 << 19  # if they have no more letters than that


@dataclass(frozen=True, slots=True)
class FeatureRows:
    """The distinct features of some texts, one text after the other; none of these texts has no feature."""

    texts: Ints  # which texts these are
    lengths: Ints  # distinct features of each, and where they begin
    starts: Ints
    columns: npt.NDArray[np.int32]
    single: Floats  # the weight of each feature,
    weighted: Floats  # and that times how often it occurs
    norms: Floats  # of the texts


class FeatureSorter:
    """Lists the distinct features of texts in order."""

    def __init__(self, features: WordFeatures, values: Floats, codes: npt.NDArray[Any]) -> None:
        """Take all weights there are, and the number of the weight of each column."""
        self._features, self._values = features, values
        self._codes = codes.astype(np.uint32)
        self._shift = np.uint32(32 - (len(codes) - 1).bit_length())
        self._below = np.uint32((1 << int(self._shift)) - 1)
        self._columns, self._packed = np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32)

    @property
    def fits(self) -> bool:
        """Whether 32 bits hold a column and the number of its weight."""
        return len(self._values) <= int(self._below) + 1

    def sort(self, texts: Sequence[str]) -> Iterator[FeatureRows]:
        """Yield the features of all texts that have some, some texts at a time."""
        longest = max(map(len, texts), default=0)
        step = max(1, min(_TEXTS, _LETTERS // max(1, longest)))
        for start in range(0, len(texts), step):
            lengths, pieces = self._features.number(texts[start : start + step])
            if len(pieces):
                self._pack()
                yield self._sort_some(start, lengths, pieces)

    def _pack(self) -> None:
        """Pack the features of pieces that are new."""
        columns, known = self._features.columns, len(self._columns)
        if columns is self._columns:
            return
        if not np.array_equal(columns[:known], self._columns):  # pieces were forgotten
            known = 0
        new = columns[known:]
        packed = (new << self._shift) | self._codes.take(new.astype(np.int64))
        self._columns, self._packed = columns, np.concatenate([self._packed[:known], packed])

    def _sort_some(self, first: int, lengths: Ints, pieces: Ints) -> FeatureRows:
        """Return the rows of texts that have so many of these pieces each: fewest features first."""
        texts = np.flatnonzero(lengths)
        lengths = lengths[texts]
        begins = np.cumsum(lengths) - lengths
        totals = np.add.reduceat(self._features.counts.take(pieces), begins) + lengths - 1
        order = np.argsort(totals, kind="stable")
        lengths, totals = lengths[order], totals[order]
        ends = np.cumsum(lengths)
        flat = self._list_features(pieces.take(_list_ranges(begins[order], lengths)), ends - 1)
        edges = [0, *(np.flatnonzero(np.diff(totals)) + 1).tolist(), len(totals)]
        start = 0
        for rows, width in zip(np.diff(edges).tolist(), totals[edges[:-1]].tolist(), strict=True):
            flat[start : start + rows * width].reshape(rows, width).sort(axis=1)
            start += rows * width
        return self._count(first + texts[order], totals, flat)

    def _list_features(self, pieces: Ints, last: Ints) -> Packed:
        """Return the features of every piece, each followed by its pair with the next one, if it has one."""
        places = self._features.counts.take(pieces)
        places += 1
        places[last] -= 1
        begins = self._features.starts.take(pieces)
        flat: Packed = self._packed.take(_list_ranges(begins, places), mode="clip")  # pairs are not there yet
        has_pair = np.ones(len(pieces), dtype=np.bool_)
        has_pair[last] = False
        followed = np.flatnonzero(has_pair)
        columns = self._features.hash_pairs(pieces).take(followed)
        at = np.cumsum(places).take(followed) - 1
        flat[at] = (columns.astype(np.uint32) << self._shift) | self._codes.take(columns)
        return flat

    def _count(self, texts: Ints, totals: Ints, flat: Packed) -> FeatureRows:
        """Return the distinct features of sorted rows, weighted by how often each occurs."""
        is_again = np.zeros(len(flat), dtype=np.bool_)
        np.equal(flat[1:], flat[:-1], out=is_again[1:])
        begins = np.cumsum(totals) - totals
        is_again[begins] = False
        again = np.flatnonzero(is_again)  # few: most features occur once in a text
        packed = flat[~is_again]
        lengths = totals - np.add.reduceat(is_again, begins, dtype=np.int64)
        single = self._values.take((packed & self._below).astype(np.int64))
        weighted = single.copy()
        same = again - np.arange(1, len(again) + 1)  # the place of the feature that occurs again
        first = np.flatnonzero(np.diff(same, prepend=-1))
        weighted[same[first]] *= np.diff(first, append=len(same)) + 1.0
        starts = np.cumsum(lengths) - lengths
        norms = np.sqrt(np.add.reduceat(weighted * weighted, starts))
        columns = (packed >> self._shift).view(np.int32)
        return FeatureRows(texts, lengths, starts, columns, single, weighted, norms)


def _list_ranges(begins: Ints, lengths: Ints) -> Ints:
    """Return the numbers from each beginning on, so many of each."""
    listed = np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    listed += np.arange(len(listed))
    return listed
