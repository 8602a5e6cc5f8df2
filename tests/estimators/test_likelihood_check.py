"""Likelihoods held against outcomes: the test is exact, and finds a wrong sign and a wrong scale."""

import itertools

import numpy as np
import pytest

from helpers import within
from tedaudit.errors import SpecError
from tedaudit.estimators import likelihood_check
from tedaudit.estimators.likelihood_check import calibration_p, posteriors, success_tails
from tedaudit.seeding import derive, normals, uniforms

PAIRS = 2000


def _losses(sigma=1.5, number=0):
    """Return losses of Gaussian noise: mu^2 / 2 on average, with a standard deviation of mu."""
    return sigma * normals([derive(number, "losses")], PAIRS)[0] + sigma**2 / 2


def _outcomes(losses, number=0):
    return uniforms([derive(number, "outcomes")], len(losses))[0] < posteriors(losses)


def test_a_posterior_is_that_of_the_likelier_of_two():
    assert posteriors([0, 1, -1, 1e30]).tolist() == pytest.approx(
        [0.5, np.e / (1 + np.e), np.e / (1 + np.e), 1]
    )


def _p_of_right_losses(number):
    losses = _losses(number=number)[:200]
    return calibration_p(losses, _outcomes(losses, number), number)


def test_right_losses_pass_and_p_is_uniform():
    found = [_p_of_right_losses(number) for number in range(60)]
    assert min(found) > 0.001
    assert within(sum(p <= 0.5 for p in found), 60, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda losses, right: (losses, ~right),
        lambda losses, right: (2 * losses, right),
        lambda losses, right: (losses / 2, right),
        lambda losses, right: (losses + 1.0, right),
    ],
    ids=["sign", "twice", "half", "shift"],
)
def test_wrong_losses_do_not(wrong):
    losses = _losses()
    assert calibration_p(*wrong(np.abs(losses), _outcomes(losses)), 1) == pytest.approx(0.0002)


def test_the_p_value_is_that_of_all_outcomes(monkeypatch):
    monkeypatch.setattr(likelihood_check, "REDRAWS", 200_000)
    losses = np.array([0.4, 1.1, 2.0, 3.5])
    rates = posteriors(losses)
    chances, sums = [], []
    for outcome in itertools.product([False, True], repeat=4):
        chances.append(np.prod(np.where(outcome, rates, 1 - rates)))
        sums.append(losses @ (np.array(outcome) - rates))
    chances, sums = np.array(chances), np.array(sums)
    for outcome in ([True] * 4, [False, True, True, True], [True, True, True, False]):
        observed = losses @ (np.array(outcome) - rates)
        tails = chances[sums >= observed - 1e-12].sum(), chances[sums <= observed + 1e-12].sum()
        assert calibration_p(losses, outcome, 5) == pytest.approx(min(1, 2 * min(tails)), abs=0.01)


def test_ties_are_left_out_and_losses_above_30_weigh_no_more():
    losses = _losses()
    right = _outcomes(losses)
    ties = np.zeros(500)
    with_ties = np.concatenate([losses, ties]), np.concatenate([right, ties == 1])
    assert calibration_p(*with_ties, 1) == calibration_p(losses, right, 1)
    assert calibration_p(ties, ties == 0, 1) == 1
    assert calibration_p([*losses, 1e30], [*right, False], 1) > 0.001  # one wrong guess weighs 30 at most
    high = np.full(20, 40.0)
    assert calibration_p(np.concatenate([losses, high]), np.concatenate([right, high > 0]), 1) > 0.001
    assert calibration_p(np.concatenate([losses, 1e30 * high]), np.concatenate([right, high < 0]), 1) < 0.001


def test_the_answer_is_the_same_however_much_memory_there_is(monkeypatch):
    losses = _losses()[:100]
    p = calibration_p(losses, _outcomes(losses), 7)
    monkeypatch.setattr(likelihood_check, "_CELLS", 1000)
    assert calibration_p(losses, _outcomes(losses), 7) == p


@pytest.mark.parametrize(("losses", "right"), [([1.0, np.nan], [True, True]), ([1.0], [True, False])])
def test_what_cannot_be_compared_is_refused(losses, right):
    with pytest.raises(SpecError):
        calibration_p(losses, right, 0)


def _distribution(rates):
    """Return the probabilities of all numbers of successes, exactly."""
    chances = np.ones(1)
    for rate in rates:
        chances = np.convolve(chances, [1 - rate, rate])
    return chances


@pytest.mark.parametrize(
    "rates", [[0.5] * 12, [0.5, 1.0] * 6, [0.51, 0.6, 0.7, 0.8, 0.9, 0.99, 1.0], [1.0] * 5]
)
def test_tails_bound_those_of_trials_with_these_rates_at_every_count(rates):
    chances = _distribution(rates)
    for successes in range(len(rates) + 1):
        below, above = success_tails(float(np.mean(rates)), len(rates), successes)
        assert below >= chances[: successes + 1].sum() - 1e-12
        assert above >= chances[successes:].sum() - 1e-12


def test_tails_of_trials_that_are_alike_are_the_binomial_ones():
    chances = _distribution([0.8] * 20)
    assert success_tails(0.8, 20, 10) == pytest.approx((chances[:11].sum(), 1.0))
    assert success_tails(0.8, 20, 19) == pytest.approx((1.0, chances[19:].sum()))


@pytest.mark.parametrize("arguments", [(1.1, 10, 5), (0.5, 10, 11), (0.5, 10, -1)])
def test_trials_that_cannot_be_are_refused(arguments):
    with pytest.raises(SpecError, match="no such trials"):
        success_tails(*arguments)
