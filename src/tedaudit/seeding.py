"""Randomness as a function: every number drawn depends on a 128-bit key and a position, and on nothing else.

A draw gives the same noise alone, in any batch, on any machine and after a resume, because no
generator carries state. The words come from Philox4x32-10 (Salmon et al. 2011, "Parallel random
numbers: as easy as 1, 2, 3"): half of the key is Philox's own key, the other half fills the upper
words of its counter, and the position is the lower words. Keys come from BLAKE2b.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]  # 32-bit words kept in 64 bits, so that products do not overflow
KeyWords = npt.NDArray[np.uint32]  # 128-bit keys, four words each
Keys = Sequence[int] | KeyWords

_ROUNDS = 10
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def derive(key: int, *purpose: str | int | bytes) -> int:
    """Return the 128-bit key of a purpose; parts are length-prefixed: ("ab", "c") is not ("a", "bc")."""
    digest = hashlib.blake2b(digest_size=16, person=b"tedaudit")
    for part in (key, *purpose):
        if isinstance(part, int):
            raw, kind = part.to_bytes((part.bit_length() + 8) // 8, "little", signed=True), b"i"
        elif isinstance(part, str):
            raw, kind = part.encode("utf-8", "surrogatepass"), b"s"
        else:
            raw, kind = part, b"b"
        digest.update(kind + len(raw).to_bytes(8, "little") + raw)
    return int.from_bytes(digest.digest(), "little")


def key_words(keys: Keys) -> KeyWords:
    """Return the four 32-bit words of each 128-bit key, the lowest first; an array of them as it is."""
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
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _WEYL[0]) & _LOW, (k1 + _WEYL[1]) & _LOW
    return [c0, c1, c2, c3]


def words(keys: Keys, n: int, start: int = 0) -> Words:
    """Return 32-bit words number start to start + n - 1 of every key, as an array (keys, n)."""
    parts = key_words(keys).astype(np.uint64)
    first, last = start // 4, (start + n + 3) // 4
    block = np.arange(first, max(last, first), dtype=np.uint64)[None, :]
    shape = (len(parts), block.shape[1])
    counter = (
        np.broadcast_to(block & _LOW, shape),
        np.broadcast_to(block >> _32, shape),
        np.broadcast_to(parts[:, 2:3], shape),
        np.broadcast_to(parts[:, 3:4], shape),
    )
    out = np.stack(philox(counter, (parts[:, 0:1], parts[:, 1:2])), axis=-1)
    flat = out.reshape(len(parts), 4 * block.shape[1])
    return flat[:, start - 4 * first : start - 4 * first + n]


def uniforms(keys: Keys, n: int, start: int = 0) -> Floats:
    """Return n uniforms in [0, 1) with 53 random bits per key: positions start to start + n - 1."""
    pair = words(keys, 2 * n, 2 * start)
    high, low = pair[:, 0::2] >> np.uint64(5), pair[:, 1::2] >> np.uint64(6)
    mantissa = (high << np.uint64(26)) | low
    return np.asarray(mantissa.astype(np.float64) * 2.0**-53, dtype=np.float64)


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
    pair = uniforms(keys, 2 * n)
    coarse, fine = pair[:, :n], pair[:, n:]
    scaled = probability * 2.0**53
    cell = np.floor(scaled)
    at = coarse * 2.0**53
    return np.asarray((at < cell) | ((at == cell) & (fine < scaled - cell)), dtype=np.bool_)
