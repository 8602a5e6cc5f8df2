"""Inner products of unit vectors that no batch, processor or machine can change.

Coordinates are rounded to multiples of 2^-bits, so products are multiples of 2^-2bits. Their sums are at most
1 for unit vectors: with 26 bits float64 holds every partial sum exactly, in whatever order a matrix product
adds, which differs between processors and places in a batch.
"""

from typing import Any

import numpy as np

from tedaudit.plugins.values import Array, Floats

FINEST = 26


def round_to_grid(vectors: Array, bits: int = FINEST) -> Any:
    """Return the nearest multiples of 2^-bits, in the format that the vectors have."""
    return np.rint(vectors * 2.0**bits) * 2.0**-bits


def cosines(left: Array, right: Array) -> Floats:
    """Return all cosines between two sets of rounded unit vectors, as a matrix (left, right)."""
    return np.asarray(left, dtype=np.float64) @ np.asarray(right, dtype=np.float64).T
