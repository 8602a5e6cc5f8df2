"""Hashed TF-IDF of word and character n-grams: an encoder that needs no model.

Character n-grams stay inside words, so a text's features are the sum of its words' features plus
its word pairs. Distinct words are hashed once per call; the rest is one sparse matrix product.
Counts are whole numbers, so a text's vector does not depend on what else is in the batch.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tedaudit.inference.murmur import hash_strings

_WORD = re.compile(r"\w+|[^\w\s]")
_PAIR = np.uint64(0x9E3779B97F4A7C15)


class LexicalEncoder:
    """Unit vectors (sparse rows) over hashed features, weighted by inverse document frequency once fitted."""

    name = "lexical"

    def __init__(self, bits: int = 18) -> None:
        self._size = 1 << bits
        self._idf = np.ones(self._size)

    def fit(self, texts: Sequence[str]) -> None:
        """Weight features by how few of these texts have them."""
        counts = self._count_features(texts)
        frequencies = np.bincount(counts.indices, minlength=self._size)
        self._idf = np.log((1 + len(texts)) / (1 + frequencies)) + 1

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one sparse unit row per text; all zeros for a text without words."""
        rows = self._count_features(texts)
        rows.data = rows.data * self._idf[rows.indices]
        lengths = np.diff(rows.indptr)
        starts = rows.indptr[:-1][lengths > 0]
        norms = np.ones(len(texts))
        norms[lengths > 0] = np.sqrt(np.add.reduceat(rows.data**2, starts)) if len(starts) else 1.0
        rows.data = rows.data / np.repeat(norms, lengths)
        return rows

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the vectors."""
        return {"encoder": "lexical-1"}

    def _count_features(self, texts: Sequence[str]) -> Any:
        """Return how often every feature occurs in every text, rows in canonical order."""
        from scipy.sparse import csr_array

        index: dict[str, int] = {}
        ids: list[int] = []
        ends = [0]
        for text in texts:
            ids.extend(index.setdefault(word, len(index)) for word in _WORD.findall(text.lower()))
            ends.append(len(ids))
        if not index:
            return csr_array((len(texts), self._size))
        words, pointer = np.asarray(ids), np.asarray(ends)
        word_features, codes = self._hash_words(list(index))
        occurrences = csr_array((np.ones(len(words)), words, pointer), shape=(len(texts), len(index)))
        counts = occurrences @ word_features + self._count_pairs(codes[words], pointer)
        counts.sort_indices()
        return counts

    def _hash_words(self, words: list[str]) -> tuple[Any, Any]:
        """Return each word's own feature and character n-grams as a sparse row, and a code per word."""
        from scipy.sparse import csr_array

        grams = [_cut_grams(word) for word in words]
        ends = np.cumsum([0, *map(len, grams)])
        # The column of a hash is the one that scikit-learn's HashingVectorizer gives it.
        signed = hash_strings([gram for own in grams for gram in own]).view(np.int32).astype(np.int64)
        columns = np.abs(signed) % self._size
        features = csr_array((np.ones(len(columns)), columns, ends), shape=(len(words), self._size))
        return features, hash_strings(words).astype(np.uint64)

    def _count_pairs(self, codes: Any, pointer: Any) -> Any:
        """Return how often each pair of adjacent words occurs."""
        from scipy.sparse import csr_array

        texts = len(pointer) - 1
        row = np.repeat(np.arange(texts), np.diff(pointer))
        inside = row[1:] == row[:-1]
        mixed = codes[:-1] * _PAIR + codes[1:]  # wraps modulo 2**64, as a hash should
        feature = ((mixed ^ (mixed >> np.uint64(32))) % np.uint64(self._size)).astype(np.int64)
        row, feature = row[:-1][inside], feature[inside]
        return csr_array((np.ones(len(row)), (row, feature)), shape=(texts, self._size))


def _cut_grams(word: str) -> list[str]:
    """Return a word's features: itself, and its 3- and 4-grams with the word's edges marked."""
    marked = f" {word} "
    grams = [marked[i : i + n] for n in (3, 4) for i in range(len(marked) - n + 1)]
    return [f"word:{word}", *grams]
