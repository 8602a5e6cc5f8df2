"""The lexical vectors of a whole pool in little memory: for every feature, the texts that have it.

A million texts have some hundred features each. As a matrix of numbers and its transpose that is
2.4 GB; here every occurrence takes five bytes, because a number is its count times the feature's
weight over the text's length, and a row is made from its text if it is needed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.encoders.lexical import LexicalEncoder

_TOGETHER = 16  # for as many texts a product with the matrix of all features is cheaper than for each alone
_DENSE = 8  # of a plain matrix are the features that more than one text in so many has,
_CELLS = 1 << 22  # as far as they fill no more numbers

Floats = npt.NDArray[np.float64]


class LexicalIndex:
    """The rows of an encoder for a pool that it is fitted to: products with all of them, and single ones."""

    def __init__(self, encoder: LexicalEncoder, texts: Sequence[str]) -> None:
        """Fit the encoder to the texts and index them."""
        self._encoder, self._texts = encoder, texts
        self.shape = (len(texts), encoder.size)
        counted: list[Any] = []
        encoder.count(texts, lambda counts: counted.append(_shrink(counts)))
        self.longest = max((int(np.diff(part.indptr).max(initial=0)) for part in counted), default=0)
        self._norms = [encoder.measure(part) for part in counted]
        self._parts: list[Any] = []  # features as rows, texts as columns
        self._divided: tuple[Any, npt.NDArray[np.int64], Floats] | None = None
        while counted:
            self._parts.append(counted.pop(0).T.tocsr())

    def rows(self, positions: npt.NDArray[Any]) -> Any:
        """Return the vectors of some texts, as sparse rows."""
        return self._encoder.encode([self._texts[position] for position in positions.tolist()])

    def columns(self, features: npt.NDArray[Any]) -> Any:
        """Return the numbers of all texts at some features: one sparse row per feature."""
        from scipy.sparse import hstack

        weights = self._encoder.weights[features]
        found = []
        for part, norms in zip(self._parts, self._norms, strict=True):
            some = part[features]
            values = some.data * np.repeat(weights, np.diff(some.indptr)) / norms[some.indices]
            found.append(type(some)((values, some.indices, some.indptr), shape=some.shape))
        return hstack(found, format="csr")

    def similarity(self, positions: npt.NDArray[Any]) -> Floats:
        """Return the cosine of some texts with every text, a row for each of them."""
        rows = self.rows(positions)
        rows.data *= self._encoder.weights.take(rows.indices)
        if len(self._parts) != 1 or len(positions) < _TOGETHER:
            return np.stack([self._multiply(rows[[place]]) for place in range(len(positions))])
        (norms,) = self._norms
        rare, common, dense = self._divide()
        found: Floats = (rows @ rare).toarray()
        found += rows[:, common].toarray() @ dense
        found /= norms
        return found

    def _divide(self) -> tuple[Any, npt.NDArray[np.int64], Floats]:
        """Return the features that few texts have, which the others are, and those as a plain matrix.

        A feature costs a sparse product the square of how many texts have it, a plain one always the same.
        """
        if self._divided is None:
            (part,) = self._parts
            texts = np.diff(part.indptr)
            most = max(1, _CELLS // self.shape[0])
            common = np.sort(np.argsort(-texts, kind="stable")[:most])
            common = common[texts[common] * _DENSE > self.shape[0]]
            dense = part[common].toarray().astype(np.float64)
            rare = part.astype(np.float64)
            is_rare = np.ones(len(texts), dtype=np.bool_)
            is_rare[common] = False
            rare.data *= np.repeat(is_rare, texts)
            rare.eliminate_zeros()
            self._divided = rare, common, dense
        return self._divided

    def _multiply(self, row: Any) -> Floats:
        """Return the product of one weighted row with every text."""
        found = [
            (part[row.indices].T @ row.data) / norms
            for part, norms in zip(self._parts, self._norms, strict=True)
        ]
        return np.concatenate(found)


def _shrink(counts: Any) -> Any:
    """Return counts in as few bytes as hold the largest."""
    return counts.astype(np.min_scalar_type(int(counts.data.max(initial=0))))
