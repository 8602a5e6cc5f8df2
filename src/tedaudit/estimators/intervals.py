"""Intervals for a success rate from a fixed number of trials, and for the mean of rates that differ."""

import math
from collections.abc import Callable
from functools import lru_cache

from tedaudit.estimators.bound import check_alpha, check_counts


def clopper_pearson(successes: int, trials: int, alpha: float = 0.01) -> tuple[float, float]:
    """Return the two-sided exact interval for a success rate, alpha / 2 in each tail.

    Clopper and Pearson 1934. Each end alone is wrong with probability at most alpha / 2, whatever
    the rate. The number of trials must have been fixed beforehand: for a look at an unfinished
    run, or one that is extended after a look, see `sequential`.
    """
    successes, trials = check_counts("successes", successes, trials)
    tail = check_alpha(alpha) / 2
    # The upper end for successes is the lower end for failures, seen from the other side.
    return _lower_end(successes, trials, tail), 1 - _lower_end(trials - successes, trials, tail)


@lru_cache(maxsize=4096)  # many tables and all simulations ask for the same counts again
def _lower_end(successes: int, trials: int, tail: float) -> float:
    """Return the rate at which `successes` or more have probability `tail`: a beta quantile.

    Not by `betaincinv`: scipy 1.17 misses the tail if a parameter is 1,000, by a relative
    2e-4 at 10^7 trials and without limit above 10^8. `betainc` itself is exact to 1e-11.
    """
    from scipy.special import betainc

    if successes == 0:
        return 0.0
    if successes == trials:
        return math.pow(tail, 1 / trials)
    wrong = trials - successes
    return lowest_kept(
        lambda rate: bool(betainc(successes, wrong + 1, rate) <= tail),
        math.log(tail or 5e-324) + math.log(successes / trials),  # Markov: P(S >= s) <= T p / s
        math.log(successes / wrong),  # where the mean is s, so is the median: P(S >= s) >= 1/2
    )


def binomial_tail(successes: int, trials: int, rate: float) -> float:
    """Return the probability of so many successes or more at a success rate."""
    from scipy.special import betainc

    successes, trials = check_counts("successes", successes, trials)
    if successes == 0 or rate >= 1:
        return 1.0
    if successes == trials:
        return math.pow(rate, trials)
    return float(betainc(successes, trials - successes + 1, rate))


def lowest_kept(rejects: Callable[[float], bool], low: float, high: float) -> float:
    """Return the smallest rate that a test keeps, from below; it rejects every smaller one.

    `low` and `high` are log-odds of a rate that is rejected and of one that is kept. Bisection is
    in log-odds because rates near 0 and near 1 are resolved alike there.
    """
    low = max(low, -700.0)  # e^709 overflows; as bounds on epsilon, rates this small are all 0
    for _ in range(64):
        middle = (low + high) / 2
        if rejects(_rate(middle)):
            low = middle
        else:
            high = middle
    return _rate(low)


def _rate(log_odds: float) -> float:
    """Return the rate with these log-odds."""
    return 1 / (1 + math.exp(-log_odds))


# --- An interval for the mean of success rates that differ, such as those of the records of one release.
#
# If trials are independent but not alike, the number of successes is spread less than a binomial one of the
# same mean (Hoeffding 1956, "On the distribution of the number of successes in independent trials", theorem
# 4: at least one away from the mean its tails are lighter). So the interval of Clopper and Pearson holds
# for the mean rate. Only at one success, and at one failure, does its end lie within one of the mean; there
# the number of trials that succeed at all is bounded by its expectation instead.


def mean_rate_interval(successes: int, trials: int, alpha: float = 0.01) -> tuple[float, float]:
    """Return the two-sided interval for the mean success rate of independent trials, alpha / 2 in each tail.

    The trials may have any rates, but their number must have been fixed beforehand.
    """
    successes, trials = check_counts("successes", successes, trials)
    least = check_alpha(alpha) / 2 / trials  # P(one success or more) is at most the sum of the rates
    low, high = clopper_pearson(successes, trials, alpha)
    if successes == 1:
        low = min(low, least)
    if successes == trials - 1:
        high = max(high, 1 - least)
    return low, high
