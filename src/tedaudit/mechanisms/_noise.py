"""Additive noise and its true guarantee: Gaussian (classical, analytic) and Laplace.

The analytic calibration is that of Balle and Wang 2018, "Improving the Gaussian mechanism for
differential privacy". With mu = sensitivity / sigma, Gaussian noise is (epsilon, delta)-DP exactly
when

    delta >= Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu).

Both terms are computed as logarithms of normal tails, so that double precision is enough even for
epsilon = 10^4.
"""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from scipy.special import log_ndtr

from tedaudit.errors import SpecError
from tedaudit.plugins.values import Floats
from tedaudit.seeding import uniforms

Noise = Literal["gaussian", "analytic_gaussian", "laplace"]
_STEPS = 200


def sigma_for(noise: Noise, sensitivity: float, epsilon: float, delta: float) -> float:
    """Return the scale of noise that a mechanism of this kind uses: standard deviation, or Laplace's b.

    `sensitivity` is in the L2 norm for Gaussian noise and in the L1 norm for Laplace noise.
    """
    if not 0 < epsilon < math.inf:
        raise SpecError(f"epsilon is {epsilon}; it must be above 0 and finite to add noise.")
    if noise == "laplace":
        return sensitivity / epsilon
    if not 0 < delta < 1:
        raise SpecError(f"delta is {delta}; Gaussian noise needs a delta above 0 and below 1.")
    if noise == "gaussian":  # Dwork and Roth 2014, theorem A.1: proven for epsilon < 1 only
        return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    return sensitivity / _find_largest_mu(epsilon, delta)


def log_delta(mu: float, epsilon: float) -> float:
    """Return ln delta of Gaussian noise with mu = sensitivity / sigma at this epsilon.

    With a = epsilon / mu - mu / 2 the two terms are Phi(-a) and e^epsilon Phi(-a - mu); their ratio
    goes into log1p, so that no precision is lost when they nearly cancel.
    """
    a = epsilon / mu - mu / 2
    first = float(log_ndtr(-a))
    gap = epsilon + float(log_ndtr(-a - mu)) - first
    return -math.inf if gap >= 0 else first + math.log(-math.expm1(gap))


def true_epsilon(sensitivity: float, sigma: float, delta: float) -> float:
    """Return the smallest epsilon that Gaussian noise of this sigma really gives at this delta."""
    mu, target = sensitivity / sigma, math.log(delta)
    if log_delta(mu, 0.0) <= target:
        return 0.0
    high = 1.0
    while log_delta(mu, high) > target:
        high *= 2
    return _bisect(lambda epsilon: log_delta(mu, epsilon) > target, 0.0, high)


def clip_norm(vectors: Floats, bound: float) -> Floats:
    """Return vectors scaled down to an L2 norm of at most the bound; shorter ones are unchanged."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors * np.minimum(1.0, bound / np.maximum(norms, 1e-300)), dtype=np.float64)


def laplaces(keys: Sequence[int], n: int) -> Floats:
    """Return n standard Laplace variates per key, by inversion at the centre of each uniform's cell."""
    uniform = uniforms(keys, n)
    upper = uniform >= 0.5
    tail = np.where(upper, (1 - uniform) - 2.0**-54, uniform + 2.0**-54)
    quantile = np.log(2 * tail)
    return np.asarray(np.where(upper, -quantile, quantile), dtype=np.float64)


def _find_largest_mu(epsilon: float, delta: float) -> float:
    """Return the largest sensitivity / sigma within delta; delta grows with mu."""
    target = math.log(delta)
    high = 1.0
    while log_delta(high, epsilon) <= target:
        high *= 2
    low = high
    while log_delta(low, epsilon) > target:
        low /= 2
    return _bisect(lambda mu: log_delta(mu, epsilon) <= target, low, high)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Return the point between low, where the condition holds, and high, where it does not."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2
