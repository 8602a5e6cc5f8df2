"""What a test could have found: the trials that it needs, and the success that it tells from a claim."""

import math
from collections.abc import Callable

from tedaudit.estimators.bound import MOST_TRIALS
from tedaudit.estimators.intervals import binomial_tail


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
