"""Hashed TF-IDF of word and character n-grams: an encoder that needs no model.

Character n-grams stay inside words, so a text's features are the sum of its words' features plus
its word pairs (`word_features`). A text's vector does not depend on what else is in the batch.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.feature_rows import FeatureSorter
from tedaudit.inference.feature_table import FeatureTable, build_table, is_too_large
from tedaudit.inference.lexical_reading import PLAIN, choose_reading
from tedaudit.inference.word_features import Counted, WordFeatures

_TEXTS = 1 << 15  # counted at a time, so that the memory of fitting does not grow with the pool
_REMEMBERED = 4  # pools whose frequencies are remembered: planning and attacks fit to the same one
_fitted: OrderedDict[str, tuple[str, npt.NDArray[np.int64]]] = OrderedDict()  # how each is read, frequencies


class LexicalEncoder:
    """Unit vectors (sparse rows) over hashed features, weighted by inverse document frequency once fitted."""

    name = "lexical"

    def __init__(self, bits: int = 18) -> None:
        self.size = 1 << bits
        self.weights = np.ones(self.size)  # by inverse document frequency
        self._values, self._codes = np.ones(1), np.zeros(self.size, dtype=np.uint16)
        self.reading = PLAIN
        self._features = WordFeatures(self.size)
        self._sorter = FeatureSorter(self._features, self._values, self._codes)

    def fit(self, texts: Sequence[str]) -> None:
        """Weight features by how few of these texts have them, and read words as these texts need it."""
        pool = self._name(texts)
        if pool not in _fitted:
            self._count(texts, lambda _: None, pool)
        reading, frequencies = _fitted[pool]
        self._read_as(reading)
        self._weigh(frequencies, len(texts))

    def count(self, texts: Sequence[str], take: Callable[[Any], None]) -> None:
        """Count the features of many texts, give the counts away part by part, and fit to all of them."""
        pool = self._name(texts)
        self._count(texts, take, pool)
        self._weigh(_fitted[pool][1], len(texts))

    def _count(self, texts: Sequence[str], take: Callable[[Any], None], pool: str) -> None:
        """Count features, and remember in how many texts each occurs."""
        self._read_as(choose_reading(texts))
        frequencies = np.zeros(self.size, dtype=np.int64)
        for start in range(0, len(texts), _TEXTS):
            counts = self._features.count(texts[start : start + _TEXTS])
            frequencies += np.bincount(counts.indices, minlength=self.size)
            take(counts)
        _fitted[pool] = self.reading, frequencies
        while len(_fitted) > _REMEMBERED:
            _fitted.popitem(last=False)

    def _read_as(self, reading: str) -> None:
        """Forget counted pieces if words are cut in another way from now on."""
        if reading != self.reading:
            self.reading, self._features = reading, WordFeatures(self.size, reading)
            self._sorter = FeatureSorter(self._features, self._values, self._codes)

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one sparse unit row per text; all zeros for a text without words."""
        return self._features.assemble([self._scale(part) for part in self._features.count_parts(texts)])

    def tabulate(self, texts: Sequence[str]) -> FeatureTable | None:
        """Return the vectors of texts as a table to `compare` with; None if that cannot hold them."""
        if not self._sorter.fits or is_too_large(len(texts), self.size):
            return None
        counts = self._features.count(texts)
        return build_table(counts, self.weights, self.measure(counts))

    def compare(
        self, texts: Sequence[str], table: FeatureTable, partners: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Return the cosine of every text with its partners, rows of a table made since the last `fit`.

        It is the product of the rows that `encode` returns, to the last bit, in less time.
        """
        scores = np.zeros(partners.shape)
        for rows in self._sorter.sort(texts):
            scores[rows.texts] = table.multiply(rows, partners[rows.texts])
        return scores

    def _scale(self, counted: Counted) -> Counted:
        """Return unit rows for rows of counts."""
        lengths, columns, counts = counted
        weighted = self._values.take(self._codes.take(columns).astype(np.int64))
        weighted *= counts
        weighted /= np.repeat(_measure(lengths, weighted), lengths)
        return lengths, columns, weighted

    def measure(self, counts: Any) -> npt.NDArray[np.float64]:
        """Return the length of each row of counts, once weighted; 1 for an empty one."""
        return _measure(np.diff(counts.indptr), counts.data * self.weights[counts.indices])

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the vectors."""
        return {"encoder": "lexical-1", **({"reading": self.reading} if self.reading else {})}

    def _weigh(self, frequencies: npt.NDArray[np.int64], texts: int) -> None:
        self.weights = np.log((1 + texts) / (1 + frequencies)) + 1
        # there are few frequencies: codes of two bytes stay in a processor's cache, where the weights do not
        self._values, codes = np.unique(self.weights, return_inverse=True)
        self._codes = codes.astype(np.min_scalar_type(len(self._values)))
        self._sorter = FeatureSorter(self._features, self._values, self._codes)

    def _name(self, texts: Sequence[str]) -> str:
        """Return a name for a pool of texts, other than that of any other pool."""
        digest = hashlib.blake2b(f"{self.size} {len(texts)}".encode(), digest_size=32)
        for text in texts:
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)
        return digest.hexdigest()


def _measure(lengths: npt.NDArray[Any], weighted: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the norm of each row of so many numbers; 1 for an empty one."""
    norms = np.ones(len(lengths))
    starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    if len(starts):
        norms[lengths > 0] = np.sqrt(np.add.reduceat(weighted * weighted, starts))
    return norms
