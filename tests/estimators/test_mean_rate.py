"""The interval for a mean of unequal rates, by summing over all outcomes of unlike trials."""

import numpy as np
import pytest

from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.intervals import mean_rate_interval

ALPHA = 0.01
LAWS = [
    [0.5] * 12, [1.0] * 6 + [0.0] * 6, [0.9, 0.9, 0.01, 0.01, 0.01], [0.005011] + [0.0] * 9, [0.004, 0.0],
    [1 - 0.005011] + [1.0] * 9, [0.999] * 3 + [0.2] * 9, list(np.linspace(0.01, 0.99, 15)), [0.3, 0.0, 0.0],
]  # fmt: skip


def count_successes(rates):
    """Return the probability of each number of successes of independent trials."""
    law = np.ones(1)
    for rate in rates:
        law = np.convolve(law, [1 - rate, rate])
    return law


def miss(rates, interval):
    """Return the probabilities that the lower end is above the mean, and the upper end below it."""
    law, mean = count_successes(rates), float(np.mean(rates))
    ends = [interval(successes, len(rates), ALPHA) for successes in range(len(rates) + 1)]
    low = sum(law[i] for i, (end, _) in enumerate(ends) if end > mean + 1e-12)
    high = sum(law[i] for i, (_, end) in enumerate(ends) if end < mean - 1e-12)
    return low, high


@pytest.mark.parametrize("rates", LAWS)
def test_either_end_is_wrong_with_half_of_alpha_at_most_whatever_the_rates(rates):
    low, high = miss(rates, mean_rate_interval)
    assert low <= ALPHA / 2 + 1e-12
    assert high <= ALPHA / 2 + 1e-12


def test_many_laws_of_few_trials_keep_the_error():
    random = np.random.default_rng(3)
    for _ in range(300):
        size = int(random.integers(1, 12))
        rates = np.clip(random.beta(*random.uniform(0.05, 3, 2), size), 0, 1)
        low, high = miss(rates, mean_rate_interval)
        assert max(low, high) <= ALPHA / 2 + 1e-12


def test_the_interval_for_equal_rates_would_miss_at_a_single_success():
    assert miss([0.005011] + [0.0] * 9, clopper_pearson)[0] > ALPHA / 2


def test_elsewhere_it_is_the_interval_for_equal_rates():
    for successes in (0, 2, 17, 38, 40):
        assert mean_rate_interval(successes, 40) == clopper_pearson(successes, 40)
