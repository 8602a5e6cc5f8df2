r"""Hashed TF-IDF of word and character n-grams: an encoder that needs no model.

A text's features are those of its words (each word itself, its character n-grams) and its pairs of
neighbouring words. A word never reaches over white space, so what stands between white space is cut into
words once, the features of a word are hashed once, and both are remembered, within bounds. The features of
many texts are then one list, in which equal ones are counted. Counts are whole numbers, so a text's vector
does not depend on what else is in the batch.

What a word is depends on the pool alone. `\w+` finds the words of English. A sentence of a script without
spaces is then one word, so that only a rewrite which keeps three characters in a row shares anything with its
source; and since `\w` has no combining marks, a word of Hindi falls apart into letters. If the pool is
plainly not Latin, a combining mark belongs to its word, a letter of a script without spaces is a word
(neighbours are pairs of words, as everywhere), and texts are compared in one normal form. All other pools
are read as they always were.
"""

import hashlib
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain, islice
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.encoders.murmur import hash_strings
from tedaudit.plugins.batches import Ragged
from tedaudit.text.characters import measure_scripts
from tedaudit.text.words import unspaced_pattern, word_pattern

PLAIN, CHARACTERS = "", "characters of unspaced scripts are words"
LEAST = 0.01  # of letters and marks that are not Latin letters: from there on a pool is read by characters
_PLAIN_WORD = re.compile(r"\w+|[^\w\s]")
_PAIR = np.uint64(0x9E3779B97F4A7C15)
_PIECES = 1 << 18  # distinct pieces between white space that are remembered
_TEXTS = 4096  # that are counted at a time,
_LETTERS = 1 << 20  # if they have no more letters than that; a longer text is alone
_WORDS = 1 << 18  # whose features are listed at a time
_GRAMS = 1 << 20  # n-grams that are hashed at a time
_COUNTED = 1 << 15  # texts whose counts are in memory while an encoder is fitted
_REMEMBERED = 4  # pools whose frequencies are remembered: planning and attacks fit to the same one
_fitted: OrderedDict[str, tuple[str, npt.NDArray[np.int64]]] = OrderedDict()  # how each is read, frequencies

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def choose_reading(texts: Sequence[str]) -> str:
    """Return how a pool of texts is read: `CHARACTERS` if one letter or mark in a hundred is not Latin."""
    if all(map(str.isascii, texts)):
        return PLAIN
    return CHARACTERS if measure_scripts(texts).beyond_words >= LEAST else PLAIN


class LexicalEncoder:
    """Unit vectors (sparse rows) over hashed features, weighted by inverse document frequency once fitted."""

    name = "lexical"

    def __init__(self, bits: int = 18) -> None:
        self.size = 1 << bits
        self.weights = np.ones(self.size)  # by inverse document frequency
        self.reading = PLAIN
        self._features = WordFeatures(self.size)

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
        for start in range(0, len(texts), _COUNTED):
            counts = self._features.count(texts[start : start + _COUNTED])
            frequencies += np.bincount(counts.indices, minlength=self.size)
            take(counts)
        _fitted[pool] = self.reading, frequencies
        while len(_fitted) > _REMEMBERED:
            _fitted.popitem(last=False)

    def _read_as(self, reading: str) -> None:
        """Forget what is known of words if they are cut in another way from now on."""
        if reading != self.reading:
            self.reading, self._features = reading, WordFeatures(self.size, reading)

    def _weigh(self, frequencies: Ints, texts: int) -> None:
        self.weights = np.log((1 + texts) / (1 + frequencies)) + 1

    def encode(self, texts: Sequence[str]) -> Any:
        """Return one sparse unit row per text; all zeros for a text without words."""
        return _stack([self._scale(counts) for counts in self._features.count_parts(texts)])

    def _scale(self, counts: Any) -> Any:
        """Turn rows of counts into unit rows."""
        counts.data *= self.weights.take(counts.indices)
        lengths = np.diff(counts.indptr)
        counts.data /= np.repeat(_measure(lengths, counts.data), lengths)
        return counts

    def measure(self, counts: Any) -> Floats:
        """Return the length of each row of counts, once weighted; 1 for an empty one."""
        return _measure(np.diff(counts.indptr), counts.data * self.weights[counts.indices])

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the vectors."""
        return {"encoder": "lexical-1", **({"reading": self.reading} if self.reading else {})}

    def _name(self, texts: Sequence[str]) -> str:
        """Return a name for a pool of texts, other than that of any other pool."""
        digest = hashlib.blake2b(f"{self.size} {len(texts)}".encode(), digest_size=32)
        for text in texts:
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little") + raw)
        return digest.hexdigest()


def _measure(lengths: npt.NDArray[Any], weighted: Floats) -> Floats:
    """Return the norm of each row of so many numbers; 1 for an empty one."""
    norms = np.ones(len(lengths))
    starts = (np.cumsum(lengths) - lengths)[lengths > 0]
    if len(starts):
        norms[lengths > 0] = np.sqrt(np.add.reduceat(weighted * weighted, starts))
    return norms


class WordFeatures:
    """Counts features of texts, in as many columns as asked for, which must be a power of two."""

    def __init__(self, size: int, reading: str = PLAIN) -> None:
        self._size, self._bits = size, (size - 1).bit_length()
        self._find_words = (_compile_words() if reading else _PLAIN_WORD).findall
        self._prepare = _space_out if reading else str
        self._forget()

    def _forget(self) -> None:
        from scipy.sparse import csr_array

        self._pieces, self._words = _Numbers(), _Numbers()
        self._cut = Ragged.of([], np.int64)  # the numbers of the words in every piece
        self._codes = np.zeros(0, dtype=np.uint64)  # of every word,
        self._grams = csr_array((0, self._size), dtype=np.int8)  # and its own features, some of them twice

    def count(self, texts: Sequence[str]) -> Any:
        """Return how often every feature occurs in every text: sparse rows in canonical order."""
        return _stack(list(self.count_parts(texts)))

    def count_parts(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield the same for some texts at a time, so that memory does not grow with their number."""
        for some in _gather(texts):
            words, ends = self._number(some)
            kind = np.min_scalar_type((len(some) + 1) << self._bits)
            rows = np.repeat(np.arange(len(some), dtype=kind) << self._bits, np.diff(ends))
            starts = range(0, max(1, len(words)), _WORDS)
            yield reduce(add, (self._count(len(some), rows[start:], words[start:]) for start in starts))

    def _number(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the numbers of all words, one text after the other, and where texts begin and end."""
        if len(self._pieces) > _PIECES:
            self._forget()
        lengths = [0]

        def cut() -> Iterator[list[str]]:  # one after the other: what is looked up at once is found fastest
            for text in texts:
                pieces = self._prepare(text).lower().split()
                lengths.append(len(pieces))
                yield pieces

        found = np.fromiter(map(self._pieces.__getitem__, chain.from_iterable(cut())), dtype=np.int64)
        if len(self._cut) < len(self._pieces):
            self._learn()
        words = self._cut.take(found)
        return words.values, words.offsets[np.cumsum(lengths)]

    def _learn(self) -> None:
        """Cut the pieces that are new into words, and hash the words that are new."""
        from scipy.sparse import csr_array, vstack

        cut = [
            [self._words[word] for word in self._find_words(piece)]
            for piece in islice(self._pieces, len(self._cut), None)
        ]
        words = list(islice(self._words, len(self._codes), None))
        grams = chain.from_iterable(map(cut_grams, words))
        columns = [self._hash(some) for some in iter(lambda: list(islice(grams, _GRAMS)), [])]
        ends = np.cumsum([0, *(2 * len(word) for word in words)], dtype=np.int32)
        features = np.concatenate([np.zeros(0, dtype=np.int32), *columns])
        new = csr_array((np.ones(len(features), dtype=np.int8), features, ends), (len(words), self._size))
        self._grams = vstack([self._grams, new], format="csr")
        self._codes = np.append(self._codes, hash_strings(words))
        self._cut = Ragged.join([self._cut, Ragged.of(cut, np.int64)])

    def _hash(self, grams: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the column of each feature: the one that scikit-learn's HashingVectorizer gives it."""
        signed = hash_strings(grams).view(np.int32).astype(np.int64)
        return (np.abs(signed) % self._size).astype(np.int32)

    def _hash_pairs(self, words: Ints) -> npt.NDArray[np.uint64]:
        """Return the column of each pair of neighbours."""
        codes = self._codes[words]
        mixed = codes[:-1] * _PAIR + codes[1:]  # wraps modulo 2**64, as a hash should
        return (mixed ^ (mixed >> np.uint64(32))) & np.uint64(self._size - 1)  # the size is a power of two

    def _count(self, texts: int, rows: npt.NDArray[Any], words: Ints) -> Any:
        """Count the features of as many words as are listed at a time, by sorting, so that equal ones meet.

        A feature is one number: its row above, its column below. A pair belongs to its first word.
        """
        from scipy.sparse import csr_array

        own = self._grams[words[:_WORDS]]
        listed = own.indices.astype(rows.dtype) | np.repeat(rows[:_WORDS], np.diff(own.indptr))
        rows, words = rows[: _WORDS + 1], words[: _WORDS + 1]
        pairs = self._hash_pairs(words).astype(rows.dtype) | rows[:-1]
        listed = np.concatenate([listed, pairs[rows[1:] == rows[:-1]]])
        distinct, counts = np.unique(listed, return_counts=True)
        ends = np.searchsorted(distinct, np.arange(texts + 1, dtype=rows.dtype) << self._bits)
        columns = (distinct & (self._size - 1)).astype(np.int32)
        shape = texts, self._size
        return csr_array((counts.astype(np.float64), columns, ends.astype(np.int32)), shape)


class _Numbers(dict[str, int]):
    """Numbers strings in the order in which they are first asked for."""

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


def cut_grams(word: str) -> Iterator[str]:
    """Yield a word's features, two for each letter: itself, and its 3- and 4-grams with its edges marked."""
    marked = f" {word} "
    yield f"word:{word}"
    for n in (3, 4):
        yield from (marked[i : i + n] for i in range(len(marked) - n + 1))


def _gather(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield runs of texts, of bounded number and length, or one of no texts; a longer text is alone."""
    ends = np.cumsum([0, *map(len, texts)])
    start = 0
    while start < max(1, len(texts)):
        stop = int(np.searchsorted(ends, ends[start] + _LETTERS, side="right")) - 1
        stop = min(max(stop, start + 1), start + _TEXTS)
        yield texts[start:stop]
        start = stop


def _stack(parts: Sequence[Any]) -> Any:
    """Return sparse rows, one part after the other."""
    from scipy.sparse import vstack

    return parts[0] if len(parts) == 1 else vstack(parts, format="csr")


def _space_out(text: str) -> str:
    """Return a text as it is cut at white space: in NFC, with spaces around letters that are words."""
    return text if text.isascii() else _compile_unspaced().sub(r" \g<0> ", unicodedata.normalize("NFC", text))


@lru_cache(maxsize=1)
def _compile_words() -> re.Pattern[str]:
    return re.compile(rf"{word_pattern()}|[^\w\s]")


@lru_cache(maxsize=1)
def _compile_unspaced() -> re.Pattern[str]:
    return re.compile(unspaced_pattern())
