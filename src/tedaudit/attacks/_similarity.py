"""Shared by the similarity attacks: the candidate whose vector is closest to the output's."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tedaudit.inference.encoders import Encoder
from tedaudit.types import Floats, Guess, Observation

_ROWS = 64  # outputs per product with the pool
_PAIRS = 4096  # outputs and candidates compared at a time


class Similarity:
    """Cosine scores of outputs against candidates; the pool's vectors are computed once."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._pool: Sequence[str] = ()
        self._table: Any = None
        self._position: dict[str, int] = {}

    def prepare(self, pool: Sequence[str]) -> None:
        """Encode the candidate pool."""
        self._encoder.fit(pool)
        self._pool, self._table = pool, self._encoder.encode(pool)
        self._position = {text: i for i, text in enumerate(pool)}

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        """Return the cosine of each output with each of its candidates."""
        outputs, row_of = _deduplicate(observation.output.text for observation in seen)
        vectors = self._encoder.encode(outputs)
        whole = self._table is not None and all(o.candidates is self._pool for o in seen)
        scores = self._score_pool(vectors, row_of) if whole else self._score_own(vectors, row_of, seen)
        return [Guess(row) for row in scores]

    def _score_pool(self, vectors: Any, row_of: list[int]) -> Sequence[Floats]:
        """Score the whole pool for every output: one matrix product per block of outputs."""
        if hasattr(vectors, "toarray"):
            table = np.asarray((vectors @ self._table.T).toarray(), dtype=np.float64)
        else:
            table = _multiply(vectors, self._table.T)
        return [table[row] for row in row_of]

    def _score_own(self, vectors: Any, row_of: list[int], seen: Sequence[Observation]) -> Sequence[Floats]:
        """Score each observation's own candidates: the products of matching rows."""
        counts = [len(observation.candidates) for observation in seen]
        output_rows = np.repeat(row_of, counts)
        table, rows = self._find_vectors([text for observation in seen for text in observation.candidates])
        parts = [
            _multiply_rows(vectors[output_rows[start : start + _PAIRS]], table[rows[start : start + _PAIRS]])
            for start in range(0, len(output_rows), _PAIRS)
        ]
        return np.split(np.concatenate(parts), np.cumsum(counts)[:-1])

    def _find_vectors(self, texts: Sequence[str]) -> tuple[Any, list[int]]:
        """Return a table of vectors, and the row of each text in it."""
        known = self._position
        if self._table is not None and all(text in known for text in texts):
            return self._table, [known[text] for text in texts]
        distinct, rows = _deduplicate(texts)
        return self._encoder.encode(distinct), rows


def _deduplicate(texts: Any) -> tuple[list[str], list[int]]:
    """Return the distinct texts and the position of each text among them."""
    position: dict[str, int] = {}
    rows = [position.setdefault(text, len(position)) for text in texts]
    return list(position), rows


def _multiply(rows: Any, columns: Any) -> Floats:
    """Return the matrix product; rounding in a kernel depends on the shape, so all blocks have the same."""
    padded = np.concatenate([rows, np.zeros((-len(rows) % _ROWS, rows.shape[1]), dtype=rows.dtype)])
    parts = [padded[start : start + _ROWS] @ columns for start in range(0, len(padded), _ROWS)]
    return np.concatenate(parts)[: len(rows)].astype(np.float64)


def _multiply_rows(left: Any, right: Any) -> Floats:
    """Return the inner product of each pair of rows."""
    if hasattr(left, "multiply"):
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray((left.astype(np.float64) * right.astype(np.float64)).sum(axis=1))
