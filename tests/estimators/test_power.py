"""What a test could have found, against sums over all outcomes."""

import pytest
from scipy.stats import binom

from tedaudit.estimators import Counts, estimator_names, find_estimator
from tedaudit.estimators.bound import MOST_TRIALS
from tedaudit.estimators.multiplicity import detectable_success, least_trials


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.999])
def test_the_least_number_of_trials_is_the_first_that_is_enough(rate):
    number = least_trials(lambda trials: rate**trials, 0.001)
    assert rate**number < 0.001 <= rate ** (number - 1)


def test_no_number_of_trials_is_enough_if_even_the_largest_is_not():
    assert least_trials(lambda _trials: 1.0, 0.001) is None
    assert least_trials(lambda trials: 0.0 if trials == MOST_TRIALS else 1.0, 0.001) == MOST_TRIALS


def test_the_success_that_is_told_apart_is_found_with_the_probability_asked_for():
    trials, error = 200, 0.005
    success = detectable_success(lambda right: binom.sf(right - 1, trials, 0.5), trials, error)
    least = next(r for r in range(trials + 1) if binom.sf(r - 1, trials, 0.5) <= error)
    assert binom.sf(least - 1, trials, success) == pytest.approx(0.8)


def test_nothing_is_told_apart_if_even_certainty_is_not_and_everything_if_nothing_is_needed():
    assert detectable_success(lambda _right: 0.5, 100, 0.005) is None
    assert detectable_success(lambda _right: 0.0, 100, 0.005) == 0.0


@pytest.mark.parametrize("name", estimator_names())
@pytest.mark.parametrize("any_time", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_a_p_value_is_the_error_at_which_the_bound_reaches_epsilon(name, any_time, delta):
    estimator = find_estimator(name)
    for right in (130, 170, 200):
        counts = Counts(200, (right,) * estimator.rows_per_trial, 2)
        for epsilon in (0.0, 0.3, 1.5):
            p = estimator.p_value(counts, epsilon, delta, any_time=any_time)
            assert 0 < p <= 1
            if p < 0.4:
                above, below = (
                    estimator.bound(counts, estimator.alpha_for(p * factor), delta, any_time=any_time)
                    for factor in (1.001, 0.999)
                )
                assert below.lower <= epsilon + 1e-9 <= above.lower + 2e-9


@pytest.mark.parametrize("name", estimator_names())
def test_p_values_are_valid_however_many_guesses_are_right(name):
    """At the largest success that epsilon allows, p is at most x with a probability of at most x."""
    estimator, trials, epsilon = find_estimator(name), 20, 0.5
    success = 1 / (1 + 2.718281828459045**-epsilon)
    rows = estimator.rows_per_trial
    for x in (0.001, 0.01, 0.1):
        mass = sum(
            binom.pmf(first, trials, success) * (binom.pmf(second, trials, success) if rows == 2 else 1.0)
            for first in range(trials + 1)
            for second in (range(trials + 1) if rows == 2 else (0,))
            if estimator.p_value(Counts(trials, (first, second)[:rows], 2), epsilon, 0.0) <= x
        )
        assert mass <= x * (1 + 1e-9)
