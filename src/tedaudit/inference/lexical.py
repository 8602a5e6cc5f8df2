"""Hashed TF-IDF of word and character n-grams: an encoder that needs no model.

Character n-grams stay inside words, so a text's features are the sum of its words' features plus
its word pairs (`word_features`). A text's vector does not depend on what else is in the batch.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tedaudit.inference.word_features import Counted, WordFeatures


class LexicalEncoder:
    """Unit vectors (sparse rows) over hashed features, weighted by inverse document frequency once fitted."""

    name = "lexical"

    def __init__(self, bits: int = 18) -> None:
        self._size = 1 << bits
        self._idf = np.ones(self._size)
        self._features = WordFeatures(self._size)

    def fit(self, texts: Sequence[str]) -> None:
        """Weight features by how few of these texts have them."""
        counts = self._features.count(texts)
        frequencies = np.bincount(counts.indices, minlength=self._size)
        self._idf = np.log((1 + len(texts)) / (1 + frequencies)) + 1

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one sparse unit row per text; all zeros for a text without words."""
        return self._features.assemble([self._weigh(part) for part in self._features.count_parts(texts)])

    def _weigh(self, counted: Counted) -> Counted:
        """Return unit rows for rows of counts."""
        lengths, columns, counts = counted
        weighted = counts * self._idf.take(columns)
        starts = (np.cumsum(lengths) - lengths)[lengths > 0]
        norms = np.ones(len(lengths))
        norms[lengths > 0] = np.sqrt(np.add.reduceat(weighted * weighted, starts)) if len(starts) else 1.0
        weighted /= np.repeat(norms, lengths)
        return lengths, columns, weighted

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the vectors."""
        return {"encoder": "lexical-1"}
