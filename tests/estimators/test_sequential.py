"""The anytime-valid bound: exact error over all looks, closed form, and behaviour at the ends."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc

from tedaudit.errors import SpecError
from tedaudit.estimators import log_evidence, reduced_form, sequential, success_from_epsilon

LOOKS = 2000


def first_rejected(rejects, looks):
    """Return for every t = 1..looks the smallest count that is rejected (t + 1 where none is).

    All t at once, by bisection: whoever rejects a count rejects larger ones.
    """
    trials = np.arange(1, looks + 1)
    low, high = np.full(looks, -1), trials + 1
    while np.any(high - low > 1):
        middle = np.clip((low + high) // 2, 0, trials)
        found = rejects(middle, trials)
        undecided = high - low > 1
        high = np.where(undecided & found, middle, high)
        low = np.where(undecided & ~found, middle, low)
    return high


def sequential_rejects(success, alpha):
    return lambda correct, trials: log_evidence(correct, trials, success) >= math.log(2 / alpha)


def fixed_rejects(success, alpha):
    def rejects(correct, trials):
        tail = betainc(np.maximum(correct, 1), trials - correct + 1, success)  # P(S >= correct)
        return (correct > 0) & (tail < alpha / 2)

    return rejects


def ever_rejected(boundary, success):
    """Return the exact probability that a run with this success rate reaches the boundary at any look."""
    alive, crossed = np.zeros(len(boundary) + 2), 0.0
    alive[0] = 1.0
    for count in boundary:
        alive[1:] = alive[1:] * (1 - success) + alive[:-1] * success
        alive[0] *= 1 - success
        crossed += alive[count:].sum()
        alive[count:] = 0.0
    return crossed


@pytest.mark.parametrize("alpha", [0.01, 0.1])
@pytest.mark.parametrize("success", [1 / 2, 1 / 4, 1 / 16, 0.9, 0.97, success_from_epsilon(5.0)])
def test_the_bound_is_ever_above_the_truth_no_more_often_than_its_error_says(success, alpha, record_property):
    boundary = first_rejected(sequential_rejects(success, alpha), LOOKS)
    wrong = ever_rejected(boundary, success)
    record_property("probability", float(wrong))
    assert alpha / 20 < wrong <= alpha / 2 + 1e-12  # neither broken nor vacuous


@pytest.mark.parametrize(("success", "at_least"), [(1 / 2, 0.06), (1 / 4, 0.06)])
def test_the_fixed_bound_looked_at_after_every_trial_is_wrong_far_too_often(
    success, at_least, record_property
):
    boundary = first_rejected(fixed_rejects(success, 0.01), LOOKS)
    wrong = ever_rejected(boundary, success)
    record_property("probability", float(wrong))
    assert wrong > at_least > 10 * 0.005


def test_one_look_at_the_fixed_bound_is_fine_so_the_reckoning_above_is_too():
    boundary = first_rejected(fixed_rejects(0.5, 0.01), LOOKS)
    boundary[:-1] = LOOKS + 1  # only the last look counts
    assert 0.003 < ever_rejected(boundary, 0.5) <= 0.005


def test_trials_chosen_against_the_bound_by_their_outcomes_do_not_break_it():
    # Backward induction over whoever picks each trial's rate, up to p0, knowing all that came before.
    limit, alpha, looks = 0.4, 0.1, 400
    boundary = first_rejected(sequential_rejects(limit, alpha), looks)
    crossing = np.zeros(looks + 2)
    for count in boundary[::-1]:
        crossing[count:] = 1.0
        further = np.append(crossing[1:], 1.0)
        crossing = np.maximum(crossing, limit * further + (1 - limit) * crossing)
    assert crossing[0] <= alpha / 2 + 1e-12
    assert crossing[0] == pytest.approx(ever_rejected(boundary, limit))


@pytest.mark.parametrize("success", [0.25, 0.5, 0.9])
def test_the_bound_and_the_evidence_agree_on_what_is_rejected(success):
    for trials in (1, 7, 40, 333, 5000):
        for correct in np.unique(np.linspace(0, trials, 25).astype(int)):
            rejected = log_evidence(correct, trials, success) >= math.log(200)
            assert (sequential(correct, trials).success_low >= success) == rejected


def exact_evidence(correct, wrong, success):
    """Return M in exact arithmetic: the mass of a beta distribution is a binomial sum."""
    trials = correct + wrong
    mass = sum(
        math.comb(trials + 1, j) * success**j * (1 - success) ** (trials + 1 - j) for j in range(correct + 1)
    )
    whole = Fraction(math.factorial(correct) * math.factorial(wrong), math.factorial(trials + 1))
    return whole * mass / ((1 - success) ** (wrong + 1) * success**correct)


@pytest.mark.parametrize("success", [Fraction(1, 64), Fraction(1, 4), Fraction(1, 2), Fraction(31, 32)])
def test_the_evidence_is_the_integral_of_the_definition(success):
    for correct, wrong in [(0, 0), (1, 0), (0, 1), (3, 5), (40, 0), (0, 40), (30, 20), (200, 100)]:
        exact = exact_evidence(correct, wrong, success)
        expected = math.log(exact.numerator) - math.log(exact.denominator)
        assert log_evidence(correct, correct + wrong, float(success)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("success", [Fraction(1, 4), Fraction(1, 2), Fraction(7, 8)])
def test_one_more_trial_leaves_the_expected_evidence_unchanged_at_the_limit_and_lowers_it_below(success):
    for correct, wrong in [(0, 0), (4, 1), (1, 4), (20, 20)]:
        now, right, not_right = (
            exact_evidence(correct + s, wrong + f, success) for s, f in [(0, 0), (1, 0), (0, 1)]
        )
        assert success * right + (1 - success) * not_right == now
        less = success / 2
        assert less * right + (1 - less) * not_right < now


@pytest.mark.parametrize(
    ("correct", "trials"),
    [(1, 1), (1, 50), (25, 50), (49, 50), (50, 50), (3 * 10**6, 10**7), (10**7 - 3, 10**7)],
)
def test_the_evidence_falls_as_the_rate_it_speaks_against_rises(correct, trials):
    odds = math.log(max(correct, 1) / max(trials - correct, 1))
    rates = 1 / (1 + np.exp(-np.linspace(odds - 20, odds, 200)))
    evidence = np.array([float(log_evidence(correct, trials, rate)) for rate in rates])
    assert np.all(np.diff(evidence) < 0)
    assert evidence[-1] < math.log(2)


def averaged_evidence(correct, wrong, success):
    """Return ln M as the mean over v of (1 - v + v / p0)^s (1 - v)^f, on a grid around its peak."""
    trials = correct + wrong
    peak = max((correct / trials - success) / (1 - success), 0.0)
    width = 12 * math.sqrt((correct + 1) * (wrong + 1) / trials**3) / (1 - success) + 40 / trials
    v = np.linspace(max(peak - width, 0), min(peak + width, 1), 2_000_001)[:-1]
    logs = correct * np.log1p(v * (1 / success - 1)) + wrong * np.log1p(-v)
    top = logs.max()
    return top + math.log(np.trapezoid(np.exp(logs - top), v))


@pytest.mark.parametrize(
    ("correct", "wrong", "success"),
    [
        (5 * 10**6, 5 * 10**6, 0.499),
        (9 * 10**6, 10**6, 0.8997),
        (10**7 - 100, 100, 1 - 1.4e-5),
        (100, 10**7 - 100, 6e-6),
    ],
)
def test_the_evidence_is_right_at_ten_million_trials(correct, wrong, success):
    expected = averaged_evidence(correct, wrong, success)
    assert float(log_evidence(correct, correct + wrong, success)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("trials", [1, 10, 10**4, 10**7])
def test_all_correct_solves_the_closed_form(trials):
    bound = sequential(trials, trials)
    low, miss = bound.success_low, 1 - bound.success_low
    evidence = -math.expm1((trials + 1) * math.log(low)) / ((trials + 1) * miss * low**trials)
    assert evidence == pytest.approx(200, rel=1e-6)
    assert bound.lower == bound.ceiling < math.inf
    assert bound.point == bound.upper == math.inf


def test_all_correct_costs_a_third_of_a_nat_against_the_fixed_bound():
    bound = sequential(10_000, 10_000)
    assert bound.lower == pytest.approx(7.224, abs=0.001)
    assert reduced_form(10_000, 10_000).lower - bound.lower == pytest.approx(0.318, abs=0.001)


@pytest.mark.parametrize("trials", [1, 10, 10**7])
def test_no_correct_guess_gives_zero(trials):
    bound = sequential(0, trials)
    assert bound.lower == bound.point == bound.success_low == 0
    assert bound.success_high == pytest.approx(1 - sequential(trials, trials).success_low)


def test_one_correct_guess_in_ten_million_is_resolved():
    # For s = 1 the evidence is close to 1 / (p0 T^2), and 2 / alpha is 200.
    assert sequential(1, 10**7).success_low == pytest.approx(1 / (200 * 1e14), rel=1e-5)


def test_a_bound_says_what_it_rests_on():
    bound = sequential(7000, 10_000, 4, alpha=0.02, delta=1e-5)
    fixed = reduced_form(7000, 10_000, 4, alpha=0.02, delta=1e-5)
    assert (bound.trials, bound.guesses, bound.correct, bound.candidates) == (10_000, 10_000, 7000, 4)
    assert (bound.error, bound.delta, bound.method) == (0.01, 1e-5, "sequential")
    assert bound.point == fixed.point
    assert bound.lower < fixed.lower < bound.point < fixed.upper < bound.upper


def test_delta_may_explain_the_bound_away():
    assert sequential(80, 100, delta=0.1).lower < sequential(80, 100).lower
    assert sequential(80, 100, delta=0.8).lower == 0


@given(st.data(), st.integers(1, 10**7), st.floats(1e-9, 0.999))
@settings(max_examples=50)
def test_it_is_monotone_and_never_tighter_than_the_fixed_bound(data, trials, alpha):
    correct = data.draw(st.integers(0, trials - 1))
    here, more = sequential(correct, trials, alpha=alpha), sequential(correct + 1, trials, alpha=alpha)
    assert here.lower <= more.lower <= here.ceiling
    assert 0 <= here.success_low <= here.success <= here.success_high <= 1
    assert here.success_low <= reduced_form(correct, trials, alpha=alpha).success_low * (1 + 1e-9)


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"trials": 0}, r"trials is 0; .*integer from 1"),
        ({"correct": 11}, r"correct is 11; .*from 0 to 10"),
        ({"correct": 1.5}, r"correct is 1\.5; .*from 0 to 10"),
        ({"candidates": 1}, r"candidates is 1; .*at least 2"),
        ({"alpha": 0}, r"alpha is 0; .*above 0 and below 1"),
        ({"alpha": math.nan}, r"alpha is nan; .*above 0 and below 1"),
        ({"delta": 1.5}, r"delta is 1\.5; .*at least 0 and below 1"),
        ({"delta": math.nan}, r"delta is nan; .*at least 0 and below 1"),
    ],
)
def test_bad_input_is_refused_with_the_value_and_what_is_allowed(settings_, message):
    with pytest.raises(SpecError, match=message):
        sequential(**{"correct": 5, "trials": 10} | settings_)


@pytest.mark.parametrize("success", [0.0, 1.0, math.nan, -1])
def test_evidence_against_an_impossible_rate_is_refused(success):
    with pytest.raises(SpecError, match=rf"success is {success!r}; "):
        log_evidence(1, 2, success)


@pytest.mark.parametrize(("correct", "trials"), [(-1, 5), (6, 5), (math.nan, 5), ([1, 7], [5, 5])])
def test_evidence_from_impossible_counts_is_refused(correct, trials):
    with pytest.raises(SpecError, match="it must be between 0 and trials"):
        log_evidence(correct, trials, 0.5)
