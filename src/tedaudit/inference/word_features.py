"""How often each hashed feature occurs in a text: its words, their character n-grams, pairs of words.

Distinct words are hashed once and remembered, within bounds; the rest is one sparse matrix product.
Counts are whole numbers, so a text's counts do not depend on what else is in the batch.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.murmur import hash_strings

_WORD = re.compile(r"\w+|[^\w\s]")
_PAIR = np.uint64(0x9E3779B97F4A7C15)
_WORDS = 1 << 18  # distinct words that are remembered
_LETTERS = 1 << 20  # letters of words that are cut into n-grams at a time


class _Numbers(dict[str, int]):
    """Numbers the words that are looked up, in the order of their first occurrence."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self.new.append(word)
        return number


class WordFeatures:
    """Counts features of texts, in as many columns as asked for."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._forget()

    def count(self, texts: Sequence[str]) -> Any:
        """Return how often every feature occurs in every text: sparse rows in canonical order."""
        from scipy.sparse import csr_array

        if len(self._numbers) > _WORDS:
            self._forget()
        ids: list[int] = []
        ends = [0]
        for text in texts:
            ids.extend(map(self._numbers.__getitem__, _WORD.findall(text.lower())))
            ends.append(len(ids))
        if not ids:
            return csr_array((len(texts), self._size))
        self._hash_new()
        words, pointer = (np.asarray(numbers, dtype=np.int32) for numbers in (ids, ends))
        known = len(self._codes)
        features = csr_array((self._counts, self._columns, self._ends), shape=(known, self._size))
        occurrences = csr_array((np.ones(len(words)), words, pointer), shape=(len(texts), known))
        counts = occurrences @ features + self._count_pairs(self._codes[words], pointer)
        counts.sort_indices()
        return counts

    def _forget(self) -> None:
        self._numbers = _Numbers()
        self._columns = np.zeros(0, dtype=np.int32)  # of the features of every word, one after the other
        self._counts = np.zeros(0)
        self._ends = np.zeros(1, dtype=np.int32)
        self._codes = np.zeros(0, dtype=np.uint64)

    def _hash_new(self) -> None:
        """Hash the words that were seen for the first time."""
        new, self._numbers.new = self._numbers.new, []
        parts = [hash_words(some, self._size) for some in _gather(new)]
        if not parts:
            return
        lengths = np.concatenate([lengths for _, _, lengths in parts])
        self._columns = np.concatenate([self._columns, *(columns for columns, _, _ in parts)])
        self._counts = np.concatenate([self._counts, *(counts for _, counts, _ in parts)])
        self._ends = np.concatenate([self._ends, self._ends[-1] + np.cumsum(lengths, dtype=np.int32)])
        self._codes = np.concatenate([self._codes, hash_strings(new).astype(np.uint64)])

    def _count_pairs(self, codes: Any, pointer: Any) -> Any:
        """Return how often each pair of adjacent words occurs."""
        from scipy.sparse import csr_array

        texts = len(pointer) - 1
        row = np.repeat(np.arange(texts), np.diff(pointer))
        inside = row[1:] == row[:-1]
        mixed = codes[:-1] * _PAIR + codes[1:]  # wraps modulo 2**64, as a hash should
        feature = ((mixed ^ (mixed >> np.uint64(32))) % np.uint64(self._size)).astype(np.int64)
        row, feature = row[:-1][inside].astype(np.int32), feature[inside].astype(np.int32)
        return csr_array((np.ones(len(row)), (row, feature)), shape=(texts, self._size))


Columns = npt.NDArray[np.int32]


def hash_words(words: Sequence[str], size: int) -> tuple[Columns, npt.NDArray[np.float64], Columns]:
    """Return the columns of the words' features, how often each occurs, and how many columns a word has."""
    if len(words) == 1 and len(words[0]) > _LETTERS:
        columns, counts = _hash_long(words[0], size)
        return columns, counts, np.array([len(columns)], dtype=np.int32)
    grams = [cut_grams(word) for word in words]
    columns = _find_columns([gram for own in grams for gram in own], size)
    return columns, np.ones(len(columns)), np.array([len(own) for own in grams], dtype=np.int32)


def _hash_long(word: str, size: int) -> tuple[Columns, npt.NDArray[np.float64]]:
    """Return the columns of a word that is too long to have all its n-grams in memory."""
    counts = np.zeros(size)
    counts[_find_columns([f"word:{word}"], size)] += 1
    marked = f" {word} "
    for n in (3, 4):
        last = len(marked) - n + 1
        for start in range(0, last, _LETTERS):
            some = [marked[i : i + n] for i in range(start, min(start + _LETTERS, last))]
            counts += np.bincount(_find_columns(some, size), minlength=size)
    columns = np.flatnonzero(counts).astype(np.int32)
    return columns, counts[columns]


def _find_columns(grams: Sequence[str], size: int) -> Columns:
    """Return the column of each feature: the one that scikit-learn's HashingVectorizer gives it."""
    signed = hash_strings(grams).view(np.int32).astype(np.int64)
    return (np.abs(signed) % size).astype(np.int32)


def _gather(words: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield words in runs of bounded length; a longer one is alone."""
    some: list[str] = []
    letters = 0
    for word in words:
        if some and letters + len(word) > _LETTERS:
            yield some
            some, letters = [], 0
        some.append(word)
        letters += len(word)
    if some:
        yield some


def cut_grams(word: str) -> list[str]:
    """Return a word's features: itself, and its 3- and 4-grams with the word's edges marked."""
    marked = f" {word} "
    grams = [marked[i : i + n] for n in (3, 4) for i in range(len(marked) - n + 1)]
    return [f"word:{word}", *grams]
