"""Shared by the similarity attacks: the candidate whose vector is closest to the output's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.encoders.exact import cosines, round_to_grid
from tedaudit.models.encoders.sentence import Encoder
from tedaudit.plugins.batches import Guesses, Observations, Ragged
from tedaudit.plugins.batches.columns import Column
from tedaudit.plugins.values import Floats, Observation

Rows = npt.NDArray[np.int64]

_BLOCK = 8192  # texts of the pool in float64 at a time
_PAIRS = 4096  # outputs and candidates compared at a time
_LARGE = 1 << 17  # sparse vectors of more texts than this are never all in memory for sets of candidates


class Similarity:
    """Cosine scores of outputs against candidates.

    Candidates are encoded when they are first seen. Once as many have been as half of the pool, the
    rest is encoded too, and the table is kept.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._pool: Sequence[str] = ()
        self._is_prepared = False
        self._table: Any = None
        self._columns: Any = None  # the table, if sparse, by features
        self._encoded = 0  # texts of the pool that were encoded without being kept
        self._position: dict[str, int] | None = None

    def prepare(self, pool: Sequence[str]) -> None:
        """Learn from the candidate pool."""
        self._encoder.fit(pool)
        self._pool, self._is_prepared = pool, True
        self._table = self._columns = self._position = None
        self._encoded = 0

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Return the cosine of each output with each of its candidates."""
        batch = Observations.of(seen)
        outputs, row_of = _deduplicate(batch.outputs.texts)
        vectors = self._encode(outputs)
        if self._is_prepared and batch.candidates is None and batch.pool is self._pool:
            scores: Column = self._score_pool(vectors)[row_of]
        else:
            scores = self._score_own(vectors, np.asarray(row_of, dtype=np.int64), batch)
        return Guesses(scores, np.ones(len(batch), dtype=np.bool_))

    def _score_pool(self, vectors: Any) -> Floats:
        """Score the whole pool for every output."""
        table = self._load_table()
        if not hasattr(vectors, "toarray"):
            blocks = range(0, len(table), _BLOCK)
            return np.hstack([cosines(vectors, table[start : start + _BLOCK]) for start in blocks])
        if self._columns is None:
            self._columns = table.T.tocsr()
        return np.asarray((vectors @ self._columns).toarray(), dtype=np.float64)

    def _score_own(self, vectors: Any, row_of: Rows, seen: Observations) -> Ragged:
        """Score each observation's own candidates: the products of matching rows."""
        candidates = seen.positions()
        table, rows = self._find_vectors(seen.pool, candidates.values)
        output_rows = np.repeat(row_of, candidates.lengths)
        parts = [
            _multiply_rows(vectors[output_rows[start : start + _PAIRS]], table[rows[start : start + _PAIRS]])
            for start in range(0, len(output_rows), _PAIRS)
        ]
        return Ragged(np.concatenate([np.zeros(0), *parts]), candidates.offsets)

    def _find_vectors(self, pool: Sequence[str], positions: Rows) -> tuple[Any, Rows]:
        """Return a table of vectors, and the row in it of each text of the pool that is asked for."""
        if self._is_prepared and pool is self._pool and self._table is not None:
            return self._table, positions
        used, place = np.unique(positions, return_inverse=True)
        if self._is_prepared and pool is self._pool:
            return self._find_own(used, place, positions)
        texts = [pool[i] for i in used.tolist()]
        known = self._positions()
        if self._is_prepared and all(text in known for text in texts):
            own = np.array([known[text] for text in texts], dtype=np.int64)
            return self._find_own(*np.unique(own[place], return_inverse=True), own[place])
        distinct, rows = _deduplicate(texts)
        return self._encode(distinct), np.array(rows, dtype=np.int64)[place]

    def _find_own(self, used: Rows, place: Rows, positions: Rows) -> tuple[Any, Rows]:
        """Return vectors of the pool: of the texts that are used, or all of them if that pays."""
        if self._table is None and 2 * (self._encoded + len(used)) < len(self._pool):
            self._encoded += len(used)
        elif self._table is not None or len(self._pool) <= _LARGE or not self._is_sparse():
            return self._load_table(), positions
        return self._encode([self._pool[i] for i in used.tolist()]), place

    def _load_table(self) -> Any:
        """Return the vectors of the whole pool, encoded once."""
        if self._table is None:
            self._table = self._encode(self._pool)
        return self._table

    def _is_sparse(self) -> bool:
        return hasattr(self._encode([""]), "toarray")

    def _encode(self, texts: Sequence[str]) -> Any:
        """Return the vectors of texts, dense ones rounded so that products are exact."""
        vectors = self._encoder.encode(texts)
        return vectors if hasattr(vectors, "toarray") else round_to_grid(vectors)

    def _positions(self) -> dict[str, int]:
        if self._position is None:
            self._position = {text: i for i, text in enumerate(self._pool)}
        return self._position


def _deduplicate(texts: Any) -> tuple[list[str], list[int]]:
    """Return the distinct texts and the position of each text among them."""
    position = dict.fromkeys(texts, 0)
    if len(position) == len(texts):  # as with most mechanisms
        return list(texts), list(range(len(texts)))
    position.clear()
    rows = [position.setdefault(text, len(position)) for text in texts]
    return list(position), rows


def _multiply_rows(left: Any, right: Any) -> Floats:
    """Return the inner product of each pair of rows."""
    if hasattr(left, "multiply"):
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray((left.astype(np.float64) * right.astype(np.float64)).sum(axis=1))
