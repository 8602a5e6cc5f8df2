"""The reduced form: check values and exact coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tedaudit.errors import SpecError
from tedaudit.estimators import epsilon_from_success, reduced_form, success_from_epsilon


@pytest.mark.parametrize(
    ("trials", "candidates", "expected"),
    [(10**4, 2, 7.54), (10**6, 2, 12.15), (10**4, 4, 8.64), (10**4, 8, 9.49), (10**4, 16, 10.25)],
)
def test_all_correct_gives_the_ceiling_of_the_paper(trials, candidates, expected):
    bound = reduced_form(trials, trials, candidates)
    assert bound.lower == pytest.approx(expected, abs=0.005)
    assert bound.lower == bound.ceiling
    assert bound.point == bound.upper == math.inf


def test_a_bound_says_what_it_rests_on():
    bound = reduced_form(7000, 10_000, 4, alpha=0.02, delta=1e-5)
    assert (bound.trials, bound.guesses, bound.correct, bound.candidates) == (10_000, 10_000, 7000, 4)
    assert (bound.error, bound.delta, bound.method) == (0.01, 1e-5, "reduced form")
    assert bound.success_low < bound.success == 0.7 < bound.success_high
    assert bound.lower < bound.point < bound.upper < bound.ceiling
    assert bound.point == pytest.approx(math.log(3 * (0.7 - 1e-5) / 0.3))
    assert bound.lower == epsilon_from_success(bound.success_low, 4, 1e-5)


@pytest.mark.parametrize("candidates", [2, 16])
def test_no_correct_guess_gives_zero(candidates):
    bound = reduced_form(0, 100, candidates)
    assert bound.lower == bound.point == bound.success_low == 0


def test_delta_lowers_the_bound_and_may_explain_it_away():
    assert reduced_form(80, 100, delta=0.1).lower < reduced_form(80, 100).lower
    assert reduced_form(80, 100, delta=0.7).lower == 0
    assert reduced_form(80, 100, delta=0.9).point == 0
    assert reduced_form(100, 100, delta=0.99).ceiling == 0


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("candidates", [2, 4, 8])
@pytest.mark.parametrize("trials", [1, 5, 20, 100])
def test_the_bound_exceeds_the_truth_no_more_often_than_its_error_says(trials, candidates, alpha, delta):
    bounds = [reduced_form(s, trials, candidates, alpha, delta) for s in range(trials + 1)]
    lower = np.array([bound.lower for bound in bounds])
    # The worst truths lie just below a value that the bound can take.
    worst = np.array([bound.success_low * (1 - 1e-9) for bound in bounds])
    rates = np.concatenate([np.linspace(0, 1, 501), worst])
    truths = np.array([epsilon_from_success(success, candidates, delta) for success in rates])
    chances = binom.pmf(np.arange(trials + 1), trials, rates[:, None])
    wrong = np.where(lower > truths[:, None], chances, 0.0).sum(axis=1)
    assert wrong.max() <= alpha / 2 + 1e-12


def test_the_error_is_used_up_and_not_merely_kept():
    # Just below the bound at s, "s or more" has probability alpha / 2: a wider bound would be a waste.
    bound = reduced_form(70, 100)
    assert binom.sf(69, 100, bound.success_low) == pytest.approx(0.005, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_unequal_trials_of_a_private_mechanism_do_not_break_the_bound(epsilon):
    # Candidates differ in how well they can be told apart, up to what epsilon allows.
    trials, candidates = 60, 4
    rates = success_from_epsilon(epsilon, candidates) * np.linspace(0.6, 1, trials)
    counts = np.ones(1)
    for rate in rates:
        counts = np.convolve(counts, [1 - rate, rate])
    lower = np.array([reduced_form(s, trials, candidates, 0.1).lower for s in range(trials + 1)])
    assert counts[lower > epsilon + 1e-12].sum() <= 0.05


@given(st.data(), st.integers(1, 10**6), st.integers(2, 64), st.sampled_from([0.0, 1e-5, 0.2]))
def test_one_more_correct_guess_never_lowers_the_bound(data, trials, candidates, delta):
    correct = data.draw(st.integers(0, trials - 1))
    fewer = reduced_form(correct, trials, candidates, delta=delta)
    more = reduced_form(correct + 1, trials, candidates, delta=delta)
    assert fewer.lower <= more.lower <= more.ceiling == fewer.ceiling < math.inf
    assert 0 <= fewer.lower <= fewer.point <= fewer.upper
    assert fewer.point <= more.point
    assert fewer.upper <= more.upper


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"trials": 0}, r"trials is 0; .*integer from 1"),
        ({"trials": -5}, r"trials is -5; .*integer from 1"),
        ({"trials": 10.0}, r"trials is 10\.0; .*integer from 1"),
        ({"correct": -1}, r"correct is -1; .*from 0 to 10"),
        ({"correct": 11}, r"correct is 11; .*from 0 to 10"),
        ({"correct": math.nan}, r"correct is nan; .*from 0 to 10"),
        ({"candidates": 1}, r"candidates is 1; .*at least 2"),
        ({"candidates": 2.5}, r"candidates is 2\.5; .*at least 2"),
        ({"alpha": 0.0}, r"alpha is 0\.0; .*above 0 and below 1"),
        ({"alpha": 1}, r"alpha is 1; .*above 0 and below 1"),
        ({"alpha": math.nan}, r"alpha is nan; .*above 0 and below 1"),
        ({"delta": -1e-9}, r"delta is -1e-09; .*at least 0 and below 1"),
        ({"delta": 1.0}, r"delta is 1\.0; .*at least 0 and below 1"),
        ({"delta": math.nan}, r"delta is nan; .*at least 0 and below 1"),
    ],
)
def test_bad_input_is_refused_with_the_value_and_what_is_allowed(settings_, message):
    with pytest.raises(SpecError, match=message):
        reduced_form(**{"correct": 5, "trials": 10} | settings_)
