"""Many tests with one error: which of them can reject at all, and Holm's procedure over those.

A test is in reach if its smallest possible p-value, known before any data, is small enough (Tarone
1990, "A modified Bonferroni method for discrete data"). One that is not costs the others nothing.
Holm 1979, "A simple sequentially rejective multiple test procedure", holds however tests depend
on each other.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.bound import MOST_TRIALS
from tedaudit.estimators.intervals import binomial_tail


def look_error(error: float, look: int) -> float:
    """Return the share of an error that the look of this number has, from 1: all looks have it together."""
    return error / (look * (look + 1))


def find_reach(least: Sequence[float], error: float) -> npt.NDArray[np.bool_]:
    """Return which tests are in reach, by their smallest possible p-values (Tarone 1990).

    With m the smallest number such that at most m tests have a smallest p-value below error / m, it
    is those tests. There are at most m, so each can reject at its share of the error. The choice
    depends on no data, so that a procedure over those tests alone keeps the error.
    """
    smallest = np.asarray(least, dtype=np.float64)
    for size in range(1, len(smallest) + 1):
        within = smallest < error / size
        if within.sum() <= size:
            return np.asarray(within, dtype=np.bool_)
    return np.zeros(len(smallest), dtype=np.bool_)


def holm(p_values: Sequence[float]) -> npt.NDArray[np.float64]:
    """Return adjusted p-values: a test is rejected if its own is at most the error of all together."""
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")
    scaled = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty(len(given))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


# --- What a test could have found: the trials that it needs, and the success that it tells from a claim.


def least_trials(least_p: Callable[[int], float], error: float) -> int | None:
    """Return the smallest number of trials whose smallest possible p-value is below the error.

    `least_p` gives that p-value for a number of trials, all guesses right; it falls with the number.
    None if not even the largest number of trials that can be counted gets there.
    """
    low, high = 0, 1
    while least_p(high) >= error:
        if high == MOST_TRIALS:
            return None
        low, high = high, min(2 * high, MOST_TRIALS)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if least_p(middle) >= error else (low, middle)
    return high


def detectable_success(
    p_value: Callable[[int], float], trials: int, error: float, power: float = 0.8
) -> float | None:
    """Return the success rate of an attack that a test would reject for with this probability.

    `p_value` is that of a number of right guesses among the trials and falls with it. Trials are taken
    to be alike. None if even an attack that is always right would not be enough.
    """
    if p_value(trials) > error:
        return None
    low, high = -1, trials
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if p_value(middle) > error else (low, middle)
    if high == 0:
        return 0.0
    return _rate_with_tail(high, trials, power)


def _rate_with_tail(count: int, trials: int, probability: float) -> float:
    """Return the rate at which so many successes or more have this probability; bisection in log-odds."""
    low, high = -700.0, 700.0
    for _ in range(80):
        middle = (low + high) / 2
        rate = 1 / (1 + math.exp(-middle))
        low, high = (middle, high) if binomial_tail(count, trials, rate) < probability else (low, middle)
    return 1 / (1 + math.exp(-high))
