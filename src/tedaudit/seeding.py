"""Randomness as a function: every number drawn depends on a 128-bit key and a position, and on nothing else.

A draw gives the same noise alone, in any batch, on any machine and after a resume, because no
generator carries state. The words come from Philox4x32-10 (Salmon et al. 2011, "Parallel random
numbers: as easy as 1, 2, 3"): half of the key is Philox's own key, the other half fills the upper
words of its counter, and the position is the lower words. Keys come from BLAKE2b.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]  # 32-bit words kept in 64 bits, so that products do not overflow
KeyWords = npt.NDArray[np.uint32]  # 128-bit keys, four words each
Keys = Sequence[int] | KeyWords

ROUNDS = 10  # of Philox, and its constants
_SPREADING = 3  # rounds until each of the four words depends on all of counter and key
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_5, _6, _26, _32 = (np.uint64(bits) for bits in (5, 6, 26, 32))
_CACHED = 1 << 13  # blocks of four words that are computed at a time


def derive(key: int, *purpose: str | int | bytes) -> int:
    """Return the 128-bit key of a purpose; parts are length-prefixed: ("ab", "c") is not ("a", "bc")."""
    return int.from_bytes(_absorb((key, *purpose)).digest(), "little")


def derive_numbered(key: int, numbers: range | npt.NDArray[Any]) -> KeyWords:
    """Return the words of `derive(key, number)` for each number; what they share is hashed once."""
    return _as_words(_finish_each(_absorb((key,)), _frame_numbers(numbers)))


class LateKeys:
    """The words of `derive(key, number)` for each number, derived when they are read."""

    def __init__(self, key: int, numbers: npt.NDArray[np.int64]) -> None:
        self._key, self._numbers = key, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, rows: slice | npt.NDArray[Any]) -> "LateKeys":
        return LateKeys(self._key, self._numbers[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> KeyWords:
        return derive_numbered(self._key, self._numbers).astype(dtype or np.uint32, copy=False)


def derive_replicates(
    key: int, purpose: str, texts: Sequence[str], which: npt.NDArray[Any], numbers: npt.NDArray[Any]
) -> KeyWords:
    """Return the words of `derive(key, purpose, texts[which[i]], numbers[i])` for each i.

    A text is hashed once for all rows of it that follow each other.
    """
    shared, framed = _absorb((key, purpose)), _frame_numbers(numbers)
    ends = [*(np.flatnonzero(which[1:] != which[:-1]) + 1).tolist(), len(which)]
    digests: list[bytes] = []
    for start, stop in pairwise([0, *ends] if len(which) else []):
        state = shared.copy()
        state.update(_frame(texts[int(which[start])]))
        digests += _finish_each(state, framed[start:stop])
    return _as_words(digests)


def _absorb(parts: Iterable[str | int | bytes]) -> Any:
    digest = hashlib.blake2b(digest_size=16, person=b"tedaudit")
    for part in parts:
        digest.update(_frame(part))
    return digest


def _frame(part: str | int | bytes) -> bytes:
    """Return a part of a purpose with its kind and length before it."""
    if isinstance(part, int):
        raw, kind = part.to_bytes((part.bit_length() + 8) // 8, "little", signed=True), b"i"
    elif isinstance(part, str):
        raw, kind = part.encode("utf-8", "surrogatepass"), b"s"
    else:
        raw, kind = part, b"b"
    return kind + len(raw).to_bytes(8, "little") + raw


def _frame_numbers(numbers: range | npt.NDArray[Any]) -> list[bytes]:
    """Return what `_frame` returns for each of these whole numbers, none of them below 0."""
    if isinstance(numbers, range):
        numbers = np.arange(numbers.start, numbers.stop, numbers.step)
    values = np.ascontiguousarray(numbers, dtype="<i8")
    if not len(values):
        return []
    narrowest, widest = ((int(end).bit_length() + 8) // 8 for end in (values.min(), values.max()))
    if narrowest == widest:
        return _frame_alike(values, widest)
    widths = 1 + sum((values >= 1 << bits).astype(np.int64) for bits in range(7, 63, 8))
    framed = np.empty(len(values), dtype=object)
    for width in range(narrowest, widest + 1):
        rows = np.flatnonzero(widths == width)
        framed[rows] = _frame_alike(values[rows], width)
    return list(framed)


def _frame_alike(values: npt.NDArray[np.int64], width: int) -> list[bytes]:
    """Return the same for numbers of as many bytes each."""
    table = np.empty((len(values), 9 + width), dtype=np.uint8)
    table[:, :9] = np.frombuffer(b"i" + width.to_bytes(8, "little"), dtype=np.uint8)
    table[:, 9:] = values.view(np.uint8).reshape(-1, 8)[:, :width]
    framed: list[bytes] = table.view(f"V{9 + width}")[:, 0].tolist()
    return framed


def _finish_each(state: Any, last: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the digest of what was absorbed, followed by each of these."""
    copy = state.copy
    for framed in last:
        digest = copy()
        digest.update(framed)
        yield digest.digest()


def _as_words(digests: Iterable[bytes]) -> KeyWords:
    return np.frombuffer(b"".join(digests), dtype="<u4").reshape(-1, 4).astype(np.uint32)


def key_words(keys: Keys | LateKeys) -> KeyWords:
    """Return the four 32-bit words of each 128-bit key, the lowest first; an array of them as it is."""
    if isinstance(keys, LateKeys):
        return np.asarray(keys)
    if isinstance(keys, np.ndarray) and keys.ndim > 1:
        if keys.dtype != np.uint32 or keys.shape[1:] != (4,):
            raise ValueError(
                f"An array of keys has shape {keys.shape} and type {keys.dtype}; "
                "it must have four words of type uint32 per key."
            )
        return keys
    raw = b"".join(int(key).to_bytes(16, "little") for key in keys)
    return np.frombuffer(raw, dtype="<u4").reshape(-1, 4).astype(np.uint32)


def key_numbers(words: KeyWords) -> list[int]:
    """Return each key as a whole number: the inverse of `key_words`."""
    raw = words.astype("<u4").tobytes()
    return [int.from_bytes(raw[start : start + 16], "little") for start in range(0, len(raw), 16)]


def philox(counter: tuple[Words, Words, Words, Words], key: tuple[Words, Words]) -> list[Words]:
    """Return the four output words of Philox4x32-10 for arrays of counters and keys."""
    shape = np.broadcast_shapes(*(part.shape for part in (*counter, *key)))
    (c0, c1, c2, c3), (k0, k1) = counter, key
    first, second = map(np.uint64, MULTIPLIERS)
    weyl0, weyl1 = map(np.uint64, WEYL)
    for _ in range(_SPREADING):  # what depends on the key alone, or on the position alone, is computed once
        low, high = c0 * first, c2 * second
        c0, c1, c2, c3 = (high >> _32) ^ (c1 ^ k0), high & _LOW, (low >> _32) ^ (c3 ^ k1), low & _LOW
        k0, k1 = (k0 + weyl0) & _LOW, (k1 + weyl1) & _LOW
    c0, c1, c2, c3 = (np.array(np.broadcast_to(part, shape), dtype=np.uint64) for part in (c0, c1, c2, c3))
    spare = np.empty(shape, dtype=np.uint64)
    for _ in range(ROUNDS - _SPREADING):  # all in place: making arrays would cost more than filling them
        np.multiply(c0, first, out=c0)
        np.multiply(c2, second, out=c2)
        np.right_shift(c2, _32, out=spare)
        spare ^= c1
        spare ^= k0
        np.right_shift(c0, _32, out=c1)
        c1 ^= c3
        c1 ^= k1
        c0 &= _LOW
        c2 &= _LOW
        c0, c1, c2, c3, spare = spare, c2, c1, c0, c3
        k0, k1 = (k0 + weyl0) & _LOW, (k1 + weyl1) & _LOW
    return [c0, c1, c2, c3]


def words(keys: Keys, n: int, start: int = 0) -> Words:
    """Return 32-bit words number start to start + n - 1 of every key, as an array (keys, n)."""
    first, last = start // 4, (start + n + 3) // 4
    parts = key_words(keys)
    table = np.empty((len(parts), max(0, last - first), 4), dtype=np.uint64)
    for rows, blocks, found in _run_philox(parts, first, last):
        for place, word in enumerate(found):
            table[rows, blocks, place] = word.T
    flat, skipped = table.reshape(len(parts), 4 * table.shape[1]), start - 4 * first
    return flat[:, skipped : skipped + n]


def uniforms(keys: Keys, n: int, start: int = 0) -> Floats:
    """Return n uniforms in [0, 1) with 53 random bits per key: positions start to start + n - 1."""
    first, last = start // 2, (start + n + 1) // 2
    parts = key_words(keys)
    table = np.empty((len(parts), max(0, last - first), 2))
    for rows, blocks, (c0, c1, c2, c3) in _run_philox(parts, first, last):
        for place, (high, low) in enumerate(((c0, c1), (c2, c3))):
            mantissa = np.right_shift(high, _5, out=high)
            mantissa <<= _26
            mantissa |= np.right_shift(low, _6, out=low)
            np.multiply(mantissa.T, 2.0**-53, out=table[rows, blocks, place])
    flat, skipped = table.reshape(len(parts), 2 * table.shape[1]), start - 2 * first
    return flat[:, skipped : skipped + n]


def _run_philox(parts: KeyWords, first: int, last: int) -> Iterator[tuple[slice, slice, list[Words]]]:
    """Yield the output words of blocks number first to last - 1, a row per block, some keys at a time.

    Both are cut so that what is worked on stays in a processor's cache.
    """
    width = max(1, min(last - first, _CACHED))
    height = max(1, _CACHED // width)
    for top in range(0, len(parts), height):
        own = parts[top : top + height].T.astype(np.uint64)
        for left in range(first, last, width):
            block = np.arange(left, min(left + width, last), dtype=np.uint64)[:, None]
            counter = (block & _LOW, block >> _32, own[2], own[3])
            rows, blocks = slice(top, top + height), slice(left - first, left - first + len(block))
            yield rows, blocks, philox(counter, (own[0], own[1]))


def normals(keys: Keys, n: int, start: int = 0) -> Floats:
    """Return n standard normals per key, by inversion at the centre of each uniform's cell."""
    from scipy.special import ndtri

    uniform = uniforms(keys, n, start)
    upper = uniform >= 0.5  # mirrored, because 1 - 2**-54 is no double
    tail = np.where(upper, (1 - uniform) - 2.0**-54, uniform + 2.0**-54)
    quantile = ndtri(tail)
    return np.asarray(np.where(upper, -quantile, quantile), dtype=np.float64)


def rare(keys: Keys, n: int, probability: float) -> npt.NDArray[np.bool_]:
    """Return n coins per key that are true with the given probability, right for ones far below 2**-53.

    A uniform of 53 bits cannot fall below 2**-53 other than at 0, so the cell in which the
    threshold lies is refined by a second uniform. Below 2**-106 the coin is true with probability
    2**-106: for randomised response, where true means noise, that errs on the private side.
    """
    parts = key_words(keys)
    scaled = probability * 2.0**53
    cell = np.floor(scaled)
    at = uniforms(parts, n) * 2.0**53
    found = np.asarray(at < cell, dtype=np.bool_)
    is_there = at == cell  # hardly ever, unless the probability is that small
    if is_there.any():
        rows = np.flatnonzero(is_there.any(axis=1))
        fine = uniforms(parts[rows], n, n)
        found[rows] |= is_there[rows] & (fine < scaled - cell)
    return found
