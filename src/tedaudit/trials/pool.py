"""The vectors of the candidate pool, and how similar every text is to some of its texts."""

from collections import OrderedDict
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Floats

Ints = npt.NDArray[np.int32]

CELLS = 4_000_000  # similarities held at a time: 32 MB
_KEPT_BYTES = 256 * 1024 * 1024  # similarities of single texts that are kept for the next step
_HALF_ULP = 2.0**-53


class Index(Protocol):
    """Sparse vectors that are kept in another way than as a matrix."""

    shape: tuple[int, int]
    longest: int  # numbers other than 0 in the fullest row

    def rows(self, positions: npt.NDArray[Any]) -> Any:
        """Return some rows, as a sparse matrix."""
        ...

    def columns(self, features: npt.NDArray[Any]) -> Any:
        """Return the columns of some features, as the rows of a sparse matrix."""
        ...

    def similarity(self, positions: npt.NDArray[Any]) -> Floats:
        """Return the products of some rows with every row, within the error of any order of summation."""
        ...


class Pool:
    """The vectors of the candidate pool, ready for products with sums of its own rows."""

    def __init__(self, vectors: Any) -> None:
        self.size = int(vectors.shape[0])
        self._index: Index | None = vectors if hasattr(vectors, "similarity") else None
        self._sparse = hasattr(vectors, "tocsr")
        self._kept: OrderedDict[int, Floats] = OrderedDict()
        self.is_precise = True
        self._terms: int  # products in the similarity of two texts, at most
        self._largest: float  # similarity of a text with itself
        if self._index is not None:
            self._terms, self._largest = self._index.longest, 1.0
        elif self._sparse:
            self._rows, self._columns = vectors, vectors.T.tocsr()
            self._terms = int(np.diff(vectors.indptr).max(initial=0))
            self._largest = float(vectors.multiply(vectors).sum(axis=1).max(initial=0.0))
        else:
            # float64 if it fits: lambda = 1e4 turns an error of 1e-7 into one of 1e-3 in the exponent
            self.is_precise = vectors.size <= 100_000_000
            self._rows = np.asarray(vectors, dtype=np.float64 if self.is_precise else np.float32)
            self._columns = self._rows.T
            self._terms = int(vectors.shape[1])
            self._largest = float(np.einsum("ij,ij->i", self._rows, self._rows).max(initial=0.0))

    def similarity(self, sets: Ints) -> Floats:
        """Return, for each set of positions, the summed cosine of every text with its members."""
        if self._index is not None:
            return np.concatenate([np.zeros((0, self.size)), *(self._multiply(one) for one in sets)])
        total = self._rows[sets[:, 0]]
        for column in range(1, sets.shape[1]):
            total = total + self._rows[sets[:, column]]
        product = total @ self._columns
        return np.asarray(product.toarray() if self._sparse else product, dtype=np.float64)

    def compare(self, texts: Ints, *, keep: bool = True) -> Floats:
        """Return the cosine of every text with each of these, within `error(1)` of what `similarity` says.

        If `keep`, what was compared last is kept, within bounds: few texts are the companions of many.
        """
        if not keep:
            return self._compare(texts)
        wanted = texts.tolist()
        missing = [text for text in dict.fromkeys(wanted) if text not in self._kept]
        if missing:
            rows = self._compare(np.array(missing, dtype=np.int32))
            self._kept.update((text, row.copy()) for text, row in zip(missing, rows, strict=True))
        found = np.stack([self._kept[text] for text in wanted])
        for text in wanted:
            self._kept.move_to_end(text)
        while len(self._kept) > max(1, _KEPT_BYTES // (8 * self.size)):
            self._kept.popitem(last=False)
        return found

    def error(self, members: int) -> float:
        """Return how far two ways to sum the similarity to so many members may be apart by rounding.

        Either way rounds each of the products' `terms` and each of the members' additions once; this
        is twice the bound of both together.
        """
        return 4 * members * (self._terms + members + 4) * _HALF_ULP * self._largest

    def _compare(self, texts: Ints) -> Floats:
        return self.similarity(texts[:, None]) if self._index is None else self._index.similarity(texts)

    def _multiply(self, members: Ints) -> Floats:
        """Return the similarity of one set by the very sums of a product with the whole matrix."""
        assert self._index is not None  # noqa: S101 - asked for by `similarity` alone
        rows = self._index.rows(members)
        total = rows[[0]]
        for place in range(1, len(members)):
            total = total + rows[[place]]
        product = type(total)(
            (total.data, np.arange(len(total.indices)), [0, len(total.indices)]),
            shape=(1, len(total.indices)),
        ) @ self._index.columns(total.indices)
        return np.asarray(product.toarray(), dtype=np.float64)


def sort_positions(positions: Ints) -> npt.NDArray[np.int64]:
    """Return the order of positions in a pool, equal ones as they come; two bytes are sorted far faster."""
    if positions.max(initial=0) < 1 << 16:
        return np.argsort(positions.astype(np.uint16), kind="stable")
    return np.argsort(positions, kind="stable")
