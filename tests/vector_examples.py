"""Vectors of texts for tests of candidates."""

import numpy as np

KEY = 11


def signs(size, dimensions=16, seed=5):
    """Return unit vectors whose products are exact in binary: coordinates of +-1/4."""
    rng = np.random.default_rng(seed)
    distinct = {tuple(rng.choice([-0.25, 0.25], dimensions)) for _ in range(4 * size)}
    return np.array(sorted(distinct)[:size])


def unit(size, dimensions, seed=1):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, dimensions))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
