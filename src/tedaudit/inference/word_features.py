"""How often each hashed feature occurs in a text: its words, their character n-grams, pairs of words.

Words never reach over white space, so whatever stands between white space is hashed once, with its words,
their n-grams and the pairs among them, and remembered, within bounds. A text's features are those of its
pieces and the pairs between them: one sorted list for many texts, in which equal ones are counted.
Counts are whole numbers, so a text's counts do not depend on what else is in the batch.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.lexical_reading import PLAIN, find_words, prepare_texts
from tedaudit.inference.murmur import hash_strings
from tedaudit.inference.piece_numbers import PieceNumbers

_PAIR = np.uint64(0x9E3779B97F4A7C15)
_PIECES = 1 << 18  # distinct pieces that are remembered
_TEXTS = 2048  # that are counted at a time
_LETTERS = 1 << 20  # the features of a longer text are counted without being listed

Columns = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Counted = tuple[Columns, npt.NDArray[np.int32], Floats]  # features of each text, their columns, how often


class WordFeatures:
    """Counts features of texts, in as many columns as asked for, which must be a power of two.

    `reading` says what a word is (`lexical_reading`).
    """

    def __init__(self, size: int, reading: str = PLAIN) -> None:
        self._size, self._reading = size, reading
        self._words = find_words(reading)
        self._bits = np.uint64((size - 1).bit_length())
        self._forget()

    def count(self, texts: Sequence[str]) -> Any:
        """Return how often every feature occurs in every text: sparse rows in canonical order."""
        return self.assemble(list(self.count_parts(texts)))

    def count_parts(self, texts: Sequence[str]) -> Iterator[Counted]:
        """Yield the same for some texts at a time, so that memory does not grow with their number."""
        return map(self._count_some, _gather(prepare_texts(texts, self._reading)))

    def assemble(self, parts: Sequence[Counted]) -> Any:
        """Return sparse rows, one part after the other."""
        from scipy.sparse import csr_array

        if not parts:
            return csr_array((0, self._size))
        lengths, columns, numbers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        ends = np.concatenate([[0], np.cumsum(lengths)])
        index = np.int32 if ends[-1] < 1 << 31 else np.int64
        shape = len(lengths), self._size
        return csr_array((numbers, columns.astype(index, copy=False), ends.astype(index)), shape=shape)

    def number(self, texts: Sequence[str]) -> tuple[Columns, Columns]:
        """Return how many pieces each text has, and their numbers: the features of each piece are known."""
        return self._number(prepare_texts(texts, self._reading), singly=False)

    def hash_pairs(self, pieces: Columns) -> Columns:
        """Return the column of each pair of neighbours among these pieces."""
        columns = self._hash_pairs(self._last.take(pieces[:-1]), self._first.take(pieces[1:]))
        return np.asarray(columns.view(np.int64))

    def _number(self, texts: Sequence[str], *, singly: bool) -> tuple[Columns, Columns]:
        if len(self._numbers) > _PIECES:
            self._forget()
        numbered = self._numbers.number_singly(texts) if singly else self._numbers.number(texts)
        self._hash_new()
        return numbered

    def _count_some(self, texts: Sequence[str]) -> Counted:
        """Return the number of distinct features of each text, their columns, and how often each occurs."""
        is_long = len(texts) == 1 and len(texts[0]) > _LETTERS
        lengths, pieces = self._number(texts, singly=is_long)
        if is_long:
            counts = self._count_long(pieces)
            columns = np.flatnonzero(counts)
            return np.array([len(columns)]), columns.astype(np.int32), counts[columns].astype(np.float64)
        return self._count_listed(lengths, pieces)

    def _count_listed(self, lengths: Columns, pieces: Columns) -> Counted:
        """Count by sorting: the text above, the column below, in as few bits as hold both."""
        kind: Any = np.uint32 if len(lengths) << int(self._bits) <= 1 << 32 else np.uint64
        shift = kind(self._bits)
        text = np.repeat(np.arange(len(lengths), dtype=kind) << shift, lengths)
        own, owners = self._list_features(pieces)
        listed = own.astype(kind, copy=False) | np.repeat(text, owners)
        inside = text[1:] == text[:-1]
        pairs = self._hash_pairs(self._last.take(pieces[:-1]), self._first.take(pieces[1:])).astype(kind)
        listed = np.concatenate([listed, (pairs | text[:-1])[inside]])
        listed.sort()
        again = np.flatnonzero(listed[1:] == listed[:-1])  # few: most features occur once in a text
        distinct = np.delete(listed, again)
        counts = np.ones(len(distinct))
        np.add.at(counts, again - np.arange(len(again)), 1.0)
        bounds = np.searchsorted(distinct, np.arange(1, len(lengths), dtype=kind) << shift)
        per_text = np.diff(np.concatenate([[0], bounds, [len(distinct)]]))
        return per_text, (distinct & kind((1 << int(self._bits)) - 1)).astype(np.int32), counts

    def _count_long(self, pieces: Columns) -> Columns:
        """Count the features of one text, some pieces at a time, without listing them all."""
        counts = np.zeros(self._size, dtype=np.int64)
        step = _LETTERS >> 4
        for start in range(0, len(pieces), step):
            some = pieces[start : start + step]
            counts += np.bincount(self._list_features(some)[0], minlength=self._size)
            before, after = pieces[start : start + step], pieces[start + 1 : start + step + 1]
            pairs = self._hash_pairs(self._last[before[: len(after)]], self._first[after])
            counts += np.bincount(pairs.astype(np.int64), minlength=self._size)
        return counts

    def _list_features(self, pieces: Columns) -> tuple[npt.NDArray[np.uint32], Columns]:
        """Return the features of each piece, one piece after the other, and how many each has."""
        owners = self.counts.take(pieces)
        moved = self.starts.take(pieces) - (np.cumsum(owners) - owners)
        places = np.repeat(moved, owners)
        places += np.arange(len(places))
        return self.columns.take(places), owners

    def _forget(self) -> None:
        self._numbers = PieceNumbers()
        self.columns = np.zeros(0, dtype=np.uint32)  # of the features of every piece, one after the other
        self.starts = np.zeros(0, dtype=np.int64)
        self.counts = np.zeros(0, dtype=np.int64)
        self._first, self._last = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64)  # codes of words

    def _hash_new(self) -> None:
        """Hash the pieces that were seen for the first time."""
        new = self._numbers.take_new()
        if not new:
            return
        cut = [self._words.findall(piece) for piece in new]
        words = list(dict.fromkeys(chain.from_iterable(cut)))
        place = {word: number for number, word in enumerate(words)}
        codes = hash_strings(words).astype(np.uint64)
        of_word = self._hash_words(words)
        parts, first, last = [], [], []
        for own in cut:
            numbers = [place[word] for word in own]
            pairs = self._hash_pairs(codes[numbers[:-1]], codes[numbers[1:]]).astype(np.uint32)
            parts.append(np.concatenate([*(of_word[number] for number in numbers), pairs]))
            first.append(numbers[0])
            last.append(numbers[-1])
        counts = np.array([len(part) for part in parts], dtype=np.int64)
        starts = len(self.columns) + np.cumsum(counts) - counts
        self.columns = np.concatenate([self.columns, *parts])
        self.starts, self.counts = np.append(self.starts, starts), np.append(self.counts, counts)
        self._first, self._last = np.append(self._first, codes[first]), np.append(self._last, codes[last])

    def _hash_words(self, words: Sequence[str]) -> list[npt.NDArray[np.uint32]]:
        """Return the columns of each word's own feature and character n-grams."""
        found: list[npt.NDArray[np.uint32]] = []
        for some in _gather(words):
            if len(some) == 1 and len(some[0]) > _LETTERS:
                found.append(np.concatenate([self._find_columns(part) for part in _cut_long(some[0])]))
                continue
            grams = [cut_grams(word) for word in some]
            columns = self._find_columns([gram for own in grams for gram in own])
            found += np.split(columns, np.cumsum([len(own) for own in grams])[:-1])
        return found

    def _find_columns(self, grams: Sequence[str]) -> npt.NDArray[np.uint32]:
        """Return the column of each feature: the one that scikit-learn's HashingVectorizer gives it."""
        signed = hash_strings(grams).view(np.int32).astype(np.int64)
        return (np.abs(signed) % self._size).astype(np.uint32)

    def _hash_pairs(self, codes: Any, following: Any) -> Any:
        """Return the column of each pair of adjacent words."""
        mixed = codes * _PAIR + following  # wraps modulo 2**64, as a hash should
        return (mixed ^ (mixed >> np.uint64(32))) & np.uint64(self._size - 1)  # the size is a power of two


def _gather(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield runs of texts or words, of bounded number and length; a longer one is alone."""
    if max(map(len, texts), default=0) * _TEXTS <= _LETTERS:
        yield from (texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS))
        return
    some: list[str] = []
    letters = 0
    for text in texts:
        if some and (len(some) == _TEXTS or letters + len(text) > _LETTERS):
            yield some
            some, letters = [], 0
        some.append(text)
        letters += len(text)
    if some:
        yield some


def cut_grams(word: str) -> list[str]:
    """Return a word's features: itself, and its 3- and 4-grams with the word's edges marked."""
    marked = f" {word} "
    grams = [marked[i : i + n] for n in (3, 4) for i in range(len(marked) - n + 1)]
    return [f"word:{word}", *grams]


def _cut_long(word: str) -> Iterator[list[str]]:
    """Yield the features of a word that is too long to have all its n-grams in memory, some at a time."""
    yield [f"word:{word}"]
    marked = f" {word} "
    for n in (3, 4):
        last = len(marked) - n + 1
        for start in range(0, last, _LETTERS):
            yield [marked[i : i + n] for i in range(start, min(start + _LETTERS, last))]
