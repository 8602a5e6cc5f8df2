"""Noise where the model runs: the words, uniforms and normals of `tedaudit.seeding` as tensors.

Words and uniforms are the same bit for bit. Normals go through torch's quantile function in place of
scipy's, which may differ in the last few units.
"""

from typing import Any

import numpy as np

from tedaudit.seeding import MULTIPLIERS, ROUNDS, WEYL, Keys, key_words

Tensor = Any  # torch is imported where it is used
_LOW = 0xFFFFFFFF


def make_words(keys: Keys, n: int, start: int = 0, device: Any = "cpu") -> Tensor:
    """Return 32-bit words number start to start + n - 1 of every key, as int64 (keys, n)."""
    import torch

    parts = torch.from_numpy(key_words(keys).astype(np.int64)).to(device)
    first, last = start // 4, (start + n + 3) // 4
    block = torch.arange(first, max(last, first), device=device)[None, :]
    shape = (len(parts), block.shape[1])
    counter = [block & _LOW, block >> 32, parts[:, 2:3], parts[:, 3:4]]
    rounds = _run_philox([part.expand(shape) for part in counter], parts[:, 0:1], parts[:, 1:2])
    flat = torch.stack(rounds, dim=-1).flatten(1)
    return flat[:, start - 4 * first : start - 4 * first + n]


def make_uniforms(keys: Keys, n: int, start: int = 0, device: Any = "cpu") -> Tensor:
    """Return n uniforms in [0, 1) with 53 random bits per key, as float64."""
    import torch

    pair = make_words(keys, 2 * n, 2 * start, device)
    mantissa = ((pair[:, 0::2] >> 5) << 26) | (pair[:, 1::2] >> 6)
    return mantissa.to(torch.float64) * 2.0**-53


def make_normals(keys: Keys, n: int, start: int = 0, device: Any = "cpu") -> Tensor:
    """Return n standard normals per key, by inversion at the centre of each uniform's cell, as float64."""
    import torch

    uniform = make_uniforms(keys, n, start, device)
    upper = uniform >= 0.5
    tail = torch.where(upper, (1 - uniform) - 2.0**-54, uniform + 2.0**-54)
    quantile = torch.special.ndtri(tail)
    return torch.where(upper, -quantile, quantile)


def _run_philox(counter: list[Tensor], key: Tensor, other: Tensor) -> list[Tensor]:
    """Return the four output words of Philox4x32-10; all numbers stay below 2**49."""
    c0, c1, c2, c3 = counter
    for _ in range(ROUNDS):
        high0, low0 = _multiply(c0, MULTIPLIERS[0])
        high1, low1 = _multiply(c2, MULTIPLIERS[1])
        c0, c1, c2, c3 = high1 ^ c1 ^ key, low1, high0 ^ c3 ^ other, low0
        key, other = (key + WEYL[0]) & _LOW, (other + WEYL[1]) & _LOW
    return [c0, c1, c2, c3]


def _multiply(word: Tensor, factor: int) -> tuple[Tensor, Tensor]:
    """Return the high and the low 32 bits of a product of two words, without a number of 64 bits."""
    lower = (word & 0xFFFF) * factor
    upper = (word >> 16) * factor + (lower >> 16)
    return upper >> 16, ((upper & 0xFFFF) << 16) | (lower & 0xFFFF)
