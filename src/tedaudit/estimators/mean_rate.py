"""An interval for the mean of success rates that differ, such as those of the records of one release.

If trials are independent but not alike, the number of successes is spread less than a binomial one of the
same mean (Hoeffding 1956, "On the distribution of the number of successes in independent trials", theorem 4:
at least one away from the mean its tails are lighter). So the interval of Clopper and Pearson holds for the
mean rate. Only at one success, and at one failure, does its end lie within one of the mean; there the number
of trials that succeed at all is bounded by its expectation instead.
"""

from tedaudit.estimators.bound import check_alpha, check_counts
from tedaudit.estimators.intervals import clopper_pearson


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
