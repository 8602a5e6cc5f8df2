"""From success rate to epsilon and back, and what a bound carries."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.errors import SpecError
from tedaudit.estimators import (
    baseline,
    epsilon_from_success,
    reduced_form,
    sequential,
    success_from_epsilon,
)

candidate_numbers = st.integers(2, 1000)
deltas = st.sampled_from([0.0, 1e-6, 1e-5, 0.05, 0.3])


def word_randomised_response(epsilon, vocabulary):
    """Return P(output | word) of randomised response over a vocabulary, as a matrix."""
    kept = math.exp(epsilon)
    table = np.where(np.eye(vocabulary, dtype=bool), kept, 1.0)
    return table / (kept + vocabulary - 1)


@pytest.mark.parametrize("candidates", [2, 4, 16])
def test_blind_guessing_gives_no_epsilon(candidates):
    assert epsilon_from_success(1 / candidates, candidates) == pytest.approx(0, abs=1e-15)


def test_certain_success_gives_infinity_and_none_gives_zero():
    assert epsilon_from_success(1.0) == math.inf
    assert epsilon_from_success(1.0, 5, 0.5) == math.inf
    assert epsilon_from_success(0.0) == 0


def test_a_success_rate_that_delta_alone_explains_gives_zero():
    assert epsilon_from_success(0.3, 8, 0.3) == 0
    assert epsilon_from_success(0.2, 8, 0.3) == 0
    assert epsilon_from_success(0.75, 2, 0.05) == pytest.approx(math.log(0.70 / 0.25))


@given(st.floats(0, 30), candidate_numbers, deltas)
def test_epsilon_and_success_are_inverse(epsilon, candidates, delta):
    success = success_from_epsilon(epsilon, candidates, delta)
    # 1 - success is known to 2^-53, and epsilon no better than that.
    assert epsilon_from_success(success, candidates, delta) == pytest.approx(
        epsilon, abs=1e-12 + 1e-15 * math.exp(epsilon)
    )


@given(st.floats(0, 1), st.floats(0, 1), candidate_numbers, deltas)
def test_more_success_never_gives_less_epsilon(one, other, candidates, delta):
    low, high = sorted([one, other])
    assert epsilon_from_success(low, candidates, delta) <= epsilon_from_success(high, candidates, delta)


def test_the_success_rate_is_finite_at_huge_and_infinite_epsilon():
    assert success_from_epsilon(1e6) == 1
    assert success_from_epsilon(math.inf, 16, 1e-5) == 1
    assert success_from_epsilon(0, 4) == 0.25


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 6.0])
@pytest.mark.parametrize(("vocabulary", "candidates"), [(2, 2), (5, 2), (5, 5), (30, 4), (30, 16), (200, 8)])
def test_randomised_response_is_won_as_often_as_theory_says(epsilon, vocabulary, candidates):
    table = word_randomised_response(epsilon, vocabulary)
    won = 0.0
    for secret in range(candidates):
        for output in range(vocabulary):
            guess = output if output < candidates else 0  # not among the candidates: name any
            won += table[secret, output] * (guess == secret) / candidates
    odds = math.exp(epsilon)
    assert won == pytest.approx((odds + (vocabulary - candidates) / candidates) / (odds + vocabulary - 1))
    # No rule does better: the best one names a likeliest secret for every output.
    assert won == pytest.approx(table[:candidates].max(axis=0).sum() / candidates)
    # So the audit cannot exceed the true epsilon, and reaches it where all words are candidates.
    reached = (candidates - 1) * won / (1 - won)
    assert reached <= odds * (1 + 1e-12)
    assert math.isclose(reached, odds) == (vocabulary == candidates or epsilon == 0)


@pytest.mark.parametrize("delta", [1e-5, 0.1])
@pytest.mark.parametrize("candidates", [2, 4, 8])
def test_a_mechanism_that_uses_its_delta_reaches_its_epsilon_and_no_more(delta, candidates):
    # With probability delta the secret is printed; otherwise randomised response over the candidates.
    epsilon = 1.5
    kept = math.exp(epsilon) / (math.exp(epsilon) + candidates - 1)
    won = delta + (1 - delta) * kept
    assert epsilon_from_success(won, candidates, delta) == pytest.approx(epsilon)
    assert epsilon_from_success(won, candidates) > epsilon


@pytest.mark.parametrize("bound", [reduced_form(10, 10), baseline(10, 0, 10), sequential(10, 10)])
def test_a_bound_is_safe_for_json_with_infinity_as_none(bound):
    figures = bound.to_dict()
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    assert {name for name, value in figures.items() if value is None} == {"point", "upper"}
    assert set(figures) == {f.name for f in dataclasses.fields(bound)} | {"leakage", "leakage_low"}


def test_counts_from_numpy_become_plain_numbers():
    bound = reduced_form(np.int64(7), np.int32(9), np.int16(4), np.float64(0.1), np.float32(0.0))
    assert json.loads(json.dumps(bound.to_dict())) == bound.to_dict()
    assert bound == reduced_form(7, 9, 4, 0.1)


def test_a_bound_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        reduced_form(7, 9).lower = 3.0


@pytest.mark.parametrize("alpha", [0.01, 1e-30, 1e-200])
@pytest.mark.parametrize("trials", [1000, 10**6, 10**9])
def test_only_a_bound_of_guesses_that_are_all_right_is_at_the_ceiling(trials, alpha):
    for estimate in (reduced_form, sequential):
        assert estimate(trials, trials, alpha=alpha).is_at_ceiling
        assert not estimate(trials - 1, trials, alpha=alpha).is_at_ceiling
    assert baseline(trials, 0, trials, alpha=alpha).is_at_ceiling
    assert not baseline(trials, 1, trials, alpha=alpha).is_at_ceiling


def test_a_bound_that_is_only_printed_like_its_ceiling_is_not_at_it_and_rounding_does_not_matter():
    nearly = reduced_form(999, 1000, alpha=1e-300)
    assert nearly.ceiling - nearly.lower < 0.005
    assert not nearly.is_at_ceiling
    bound = reduced_form(10**9, 10**9)
    assert dataclasses.replace(bound, lower=bound.lower - 1e-7).is_at_ceiling


def test_leakage_counts_how_many_times_better_than_blind_guessing():
    bound = reduced_form(60, 100, candidates=4)
    assert bound.leakage == pytest.approx(2.4)
    assert bound.leakage_low == pytest.approx(4 * bound.success_low)
    assert bound.leakage_low < bound.leakage


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "half"])
def test_a_success_rate_that_is_none_is_refused(value):
    with pytest.raises(SpecError, match=rf"success is {value!r}; .*between 0 and 1"):
        epsilon_from_success(value)


@pytest.mark.parametrize("value", [-0.1, math.nan, None])
def test_an_epsilon_that_is_none_is_refused(value):
    with pytest.raises(SpecError, match=rf"epsilon is {value!r}; .*0 or larger"):
        success_from_epsilon(value)
