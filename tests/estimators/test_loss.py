"""Losses against closed forms: randomised response by enumeration, a Gaussian by simulation."""

import math

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from tedaudit.errors import SpecError
from tedaudit.estimators import reduced_form
from tedaudit.estimators.gdp import find_delta, find_epsilon
from tedaudit.estimators.loss import DELTAS, LossSample

ERROR = 0.01


def answers(right, trials, epsilon):
    """Return the losses of randomised response, of which so many answers were true."""
    return np.where(np.arange(trials) < right, epsilon, -epsilon)


def delta_of_answers(epsilon, at):
    """Return delta of randomised response: e^eps / (1 + e^eps) of the losses are eps, the others -eps."""
    truth = 1 / (1 + math.exp(-epsilon))
    return sum(p * max(0.0, -math.expm1(at - x)) for p, x in ((truth, epsilon), (1 - truth, -epsilon)))


def test_the_point_is_the_epsilon_of_randomised_response():
    exact = 1 + math.log(1 - 0.05 / 0.73)
    assert LossSample(answers(73, 100, 1.0), ERROR).epsilon_at(0.05).point == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("trials", [1, 2, 3, 20, 300])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_each_end_holds_with_its_error_for_two_outputs(trials, epsilon):
    grid = np.linspace(-1, 3, 17)
    truths = [delta_of_answers(epsilon, at) for at in grid]
    chance = binom.pmf(np.arange(trials + 1), trials, 1 / (1 + math.exp(-epsilon)))
    too_low = too_high = 0.0
    for right, mass in enumerate(chance):
        sample = LossSample(answers(right, trials, epsilon), ERROR)
        upper = [sample.delta_upper(at) for at in grid]
        lower = [sample.delta_lower(at) for at in grid]
        too_low += mass * any(end < truth - 1e-12 for end, truth in zip(upper, truths, strict=True))
        too_high += mass * any(end > truth + 1e-12 for end, truth in zip(lower, truths, strict=True))
        assert all(low <= sample.delta(at) <= up for low, at, up in zip(lower, grid, upper, strict=True))
    assert too_low <= ERROR
    assert too_high <= ERROR


def test_ends_hold_for_a_gaussian():
    """Of 2,000 runs more than 44 miss an end of error .01 with a probability of 2e-6 at most.

    An end of epsilon at d misses the truth if and only if that of delta at the truth misses d.
    """
    truth = [find_epsilon(2.0, delta) for delta in DELTAS]
    rng = np.random.default_rng(7)
    misses = np.zeros(2)
    for _ in range(2000):
        sample = LossSample(rng.normal(2.0, 2.0, 400), ERROR)
        misses += [
            any(sample.delta_lower(exact) > delta for delta, exact in zip(DELTAS, truth, strict=True)),
            any(sample.delta_upper(exact) < delta for delta, exact in zip(DELTAS, truth, strict=True)),
        ]
    assert binom.sf(44, 2000, ERROR) < 2e-6
    assert (misses <= 44).all()


def test_many_trials_of_a_gaussian_give_ends_near_the_truth():
    sample = LossSample(np.random.default_rng(0).normal(2.0, 2.0, 10_000), 0.005)
    for delta, most in zip(DELTAS, (0.6, 0.6, 2.0), strict=True):
        at = sample.epsilon_at(delta)
        exact = find_epsilon(2.0, delta)
        assert at.lower <= exact <= at.upper <= exact + most
        assert at.lower >= exact - 1
        assert sample.delta(at.point) == pytest.approx(delta, rel=1e-6)
    assert sample.delta(1.0) == pytest.approx(find_delta(2.0, 1.0), abs=0.02)


def test_too_few_trials_have_no_upper_end_and_say_how_many_would():
    few = LossSample(np.zeros(100) + 1.0, ERROR)
    assert few.epsilon_at(0.001).upper == math.inf
    needed = few.trials_for_upper(0.001)
    assert LossSample(np.ones(needed), ERROR).epsilon_at(0.001).upper < math.inf
    assert LossSample(np.ones(needed - 1), ERROR).epsilon_at(0.001).upper == math.inf


def test_an_impossible_output_has_no_epsilon_at_a_smaller_delta():
    losses = np.append(np.zeros(97), [math.inf] * 3)
    assert LossSample(losses, ERROR).epsilon_at(0.02).point == math.inf
    assert LossSample(losses, ERROR).epsilon_at(0.05).point == 0.0
    assert LossSample(losses, ERROR).mean == math.inf


def test_an_unknown_loss_is_the_largest_for_the_upper_end_and_none_for_all_else():
    known, unknown = np.linspace(0.0, 3.0, 990), 10
    sample = LossSample(known, ERROR, unknown)
    at_most = LossSample(np.append(known, [math.inf] * unknown), ERROR)
    at_least = LossSample(np.append(known, [-50.0] * unknown), ERROR)
    assert sample.trials == 1000
    assert sample.delta(1.0) == pytest.approx(at_least.delta(1.0))
    assert sample.delta_upper(1.0) == at_most.delta_upper(1.0)
    assert sample.delta_lower(1.0) == pytest.approx(at_least.delta_lower(1.0), abs=1e-12)
    assert sample.epsilon_at(0.05).upper_known == pytest.approx(at_least.epsilon_at(0.05).upper)
    assert sample.quantile(1.0) == 3.0


def test_failures_are_never_an_infinite_point_and_may_leave_no_upper_end():
    """A coin that fails in 8 % of calls, whatever the text, tells nothing; one that reads the text might."""
    at = LossSample(answers(690, 920, 1.0), ERROR, 80).epsilon_at(0.05)
    assert at.lower <= at.point < 1
    assert at.upper == math.inf  # who knows what a failure tells?
    assert at.upper_known < math.inf


@pytest.mark.parametrize("tells_all", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_each_end_holds_with_its_error_whatever_failures_tell(epsilon, tells_all):
    """Of texts that fail alike, and of texts whose failures tell all: every outcome of 20 trials."""
    trials, fails, grid = 20, 0.1, np.linspace(0, 3, 13)
    truths = [(1 - fails) * delta_of_answers(epsilon, at) + fails * tells_all for at in grid]
    right = 1 / (1 + math.exp(-epsilon))
    rates = [(1 - fails) * right, (1 - fails) * (1 - right), fails]
    wrong = np.zeros(3)
    for true in range(trials + 1):
        for false in range(trials + 1 - true):
            if not true + false:
                continue
            failed = trials - true - false
            sample = LossSample(answers(true, true + false, epsilon), ERROR, failed)
            mass = multinomial.pmf([true, false, failed], trials, rates)
            wrong[0] += mass * any(
                sample.delta_lower(at) > t + 1e-12 for at, t in zip(grid, truths, strict=True)
            )
            wrong[1] += mass * any(
                sample.delta_upper(at) < t - 1e-12 for at, t in zip(grid, truths, strict=True)
            )
            ends = sample.epsilon_at(0.2)
            known = (1 - fails) * delta_of_answers(epsilon, ends.upper_known)
            wrong[2] += mass * (known > 0.2 + 1e-9)
            assert ends.lower <= ends.point <= ends.upper_known <= ends.upper
    assert (wrong <= ERROR).all()


@pytest.mark.parametrize("spread", [0.1, 1.0, 100.0])
def test_at_least_a_share_delta_of_losses_is_above_the_point_unless_it_is_0(spread):
    """So it is no mean: if losses differ by hundreds it is near their 95th percentile."""
    losses = spread * np.abs(np.random.default_rng(1).normal(1.0, 1.0, 1000))
    point = LossSample(losses, ERROR).epsilon_at(0.05).point
    assert point == 0 or (losses > point).mean() >= 0.05
    if spread == 100.0:
        assert (losses > point).mean() < 0.06
        assert point > 2 * losses.mean()


def test_no_loss_at_all_is_an_epsilon_of_nothing():
    at = LossSample(np.zeros(1000), ERROR).epsilon_at(0.05)
    assert (at.lower, at.point, at.upper) == (0.0, 0.0, 0.0)


def test_an_attack_s_bound_at_a_delta_is_not_above_the_upper_end():
    """The attack that follows the likelihood, at the same delta: at delta 0 the comparison would be false."""
    losses = answers(731, 1000, 1.0)
    upper = LossSample(losses, 0.005).epsilon_at(0.05).upper
    assert reduced_form(731, 1000, 2, 0.01, 0.05).lower < upper


def test_quantiles_are_losses_that_were_seen():
    sample = LossSample(np.array([3.0, 1.0, 2.0, 4.0]), ERROR)
    assert [sample.quantile(share) for share in (0.0, 0.25, 0.5, 1.0)] == [1.0, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("losses", [[], [1.0, math.nan]])
def test_what_is_no_loss_is_refused(losses):
    with pytest.raises(SpecError):
        LossSample(np.array(losses), ERROR)


def test_nonsense_is_refused():
    with pytest.raises(SpecError, match="error is"):
        LossSample(np.zeros(3), 0.0)
    with pytest.raises(SpecError, match="delta is"):
        LossSample(np.zeros(3), ERROR).epsilon_at(0.0)
