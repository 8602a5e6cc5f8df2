"""Numbers what stands between white space in texts: many texts at once, without an object per word.

Up to sixteen ASCII letters are two 64-bit words, read from all texts together and looked up in a table
of arrays. What is longer, not ASCII or has lost its place in that table to another is found in a dictionary.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_PLACES = 18  # bits of the number of places in the table
_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_SHIFT = np.uint64(64 - _PLACES)
_63, _1 = np.uint64(63), np.uint64(1)
_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], dtype=np.uint64)  # of the first so many bytes
_LONGEST = 16  # letters of a piece in the table
_MARGIN = b" " * 32  # after the last letter, so that words can be read beyond it


class PieceNumbers:
    """Numbers pieces in the order in which they are met; equal pieces have one number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._new: list[str] = []
        self._places = np.zeros(1 << _PLACES, dtype=np.int32)  # which entry lies there; 0: none
        self._letters = np.zeros((2, 1), dtype=np.uint64)  # of every entry, and the number of its piece:
        self._entered = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self._numbers)

    def take_new(self) -> list[str]:
        """Return the pieces that were numbered since this was last asked, in the order of their numbers."""
        new, self._new = self._new, []
        return new

    def number(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return how many pieces each text has, and the numbers of all, one text after the other."""
        joined = " ".join(texts)
        if joined.isascii():
            letters = np.frombuffer(b" " + joined.lower().encode() + _MARGIN, dtype=np.uint8)
            if not _has_odd_controls(letters):
                sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
                return self._number_letters(letters, np.cumsum(sizes + 1))
        return self.number_singly(texts)

    def number_singly(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Return the same, by looking up one piece after the other."""
        cut = [text.lower().split() for text in texts]
        lengths = np.fromiter(map(len, cut), dtype=np.int64, count=len(cut))
        numbers = map(self._look_up, chain.from_iterable(cut))
        return lengths, np.fromiter(numbers, dtype=np.int64, count=int(lengths.sum()))

    def _look_up(self, piece: str) -> int:
        number = self._numbers.get(piece)
        if number is None:
            number = self._numbers[piece] = len(self._numbers)
            self._new.append(piece)
        return number

    def _number_letters(self, letters: npt.NDArray[np.uint8], ends: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of pieces of texts that lie one after the other; `ends` says where each ends."""
        is_space = letters <= 32
        edges = np.flatnonzero(is_space[1:] != is_space[:-1]) + 1
        starts, stops = edges[::2], edges[1::2]
        lengths = np.diff(np.searchsorted(starts, ends), prepend=0)
        sizes = stops - starts
        words = _read_words(letters, starts, sizes)
        places = ((words[0] ^ (words[1] * _MIX[0])) * _MIX[1]) >> _SHIFT  # wraps modulo 2**64, as a hash may
        entries = self._places.take(places.view(np.int64))
        known = (self._letters[0].take(entries) == words[0]) & (self._letters[1].take(entries) == words[1])
        known &= sizes <= _LONGEST
        numbers = self._entered.take(entries)
        others = np.flatnonzero(~known)
        if len(others):
            whole = letters.tobytes().decode()
            bounds = zip(starts[others].tolist(), stops[others].tolist(), strict=True)
            numbers[others] = [self._look_up(whole[start:stop]) for start, stop in bounds]
            short = others[sizes[others] <= _LONGEST]
            self._enter(places[short].view(np.int64), words[:, short], numbers[short])
        return lengths, numbers

    def _enter(self, places: Ints, words: Words, numbers: Ints) -> None:
        """Put pieces into the table if nothing lies in their place."""
        distinct, which = np.unique(places, return_index=True)
        free = which[self._places[distinct] == 0]
        self._places[places[free]] = len(self._entered) + np.arange(len(free))
        self._entered = np.append(self._entered, numbers[free])
        self._letters = np.concatenate([self._letters, words[:, free]], axis=1)


def _has_odd_controls(letters: npt.NDArray[np.uint8]) -> bool:
    """Return whether there is a control character that is not white space."""
    lowest = letters.min()
    return lowest < 9 or (lowest < 28 and bool(((letters > 13) & (letters < 28)).any()))


def _read_words(letters: npt.NDArray[np.uint8], starts: Ints, sizes: Ints) -> Words:
    """Return the first sixteen letters of pieces as two words each; beyond its end a piece has zeros."""
    whole = letters[: len(letters) // 8 * 8].view("<u8")
    at = starts >> 3
    right = ((starts & 7) << 3).astype(np.uint64)
    left = _63 - right
    one, two, three = (whole.take(at + step) for step in range(3))
    first = (one >> right) | ((two << left) << _1)
    second = (two >> right) | ((three << left) << _1)
    first &= _MASKS.take(np.minimum(sizes, 8))
    second &= _MASKS.take(np.clip(sizes - 8, 0, 8))
    return np.stack([first, second])
