"""The baseline: exact coverage over both counts, and agreement with the reduced form."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.errors import SpecError
from tedaudit.estimators import baseline, reduced_form
from tedaudit.estimators.baseline import epsilon_from_rates


@cache
def counts_of(joint, trials):
    """Return P(TP, FP) after independent pairs, given P(hit, alarm) of one pair as a 2 x 2 table."""
    joint = np.array(joint)
    table = np.ones((1, 1))
    for _ in range(trials):
        longer = np.zeros((len(table) + 1, len(table) + 1))
        for hit in (0, 1):
            for alarm in (0, 1):
                longer[hit : hit + len(table), alarm : alarm + len(table)] += joint[hit, alarm] * table
        table = longer
    return table


def joint_tables(hit, alarm):
    """Yield tables with these rates: independent, as often together and as seldom together as can be."""
    for both in (hit * alarm, min(hit, alarm), max(0.0, hit + alarm - 1)):
        yield (1 - hit - alarm + both, alarm - both), (hit - both, both)


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("alpha", [0.01, 0.2])
@pytest.mark.parametrize("trials", [1, 3, 10, 25])
def test_the_bound_exceeds_the_truth_no_more_often_than_its_error_says(trials, alpha, delta):
    lower = np.array(
        [
            [baseline(tp, fp, trials, alpha, delta).lower for fp in range(trials + 1)]
            for tp in range(trials + 1)
        ]
    )
    for hit in np.linspace(0.02, 1, 15):
        for alarm in np.linspace(0.001, 1, 15):
            truth = epsilon_from_rates(hit, alarm, delta)
            for joint in joint_tables(hit, alarm):
                wrong = counts_of(joint, trials)[lower > truth + 1e-12].sum()
                assert wrong <= alpha + 1e-12


@pytest.mark.parametrize("right", [5500, 7000, 9000, 9990, 10_000])
def test_it_is_the_reduced_form_where_both_kinds_of_error_are_equally_frequent(right):
    trials = 10_000
    both, one = baseline(right, trials - right, trials, delta=1e-5), reduced_form(right, trials, delta=1e-5)
    for name in ("lower", "point", "upper", "ceiling", "success", "success_low", "success_high", "leakage"):
        assert getattr(both, name) == pytest.approx(getattr(one, name), rel=1e-9), name
    assert (both.error, one.error) == (0.01, 0.005)
    assert (both.guesses, one.guesses) == (20_000, 10_000)


def test_it_nearly_is_the_reduced_form_where_they_are_so_up_to_chance():
    one = reduced_form(9000, 10_000)
    assert baseline(9030, 1030, 10_000).lower == pytest.approx(one.lower, abs=0.05)
    assert baseline(8970, 970, 10_000).lower == pytest.approx(one.lower, abs=0.05)


def test_a_bound_says_what_it_rests_on():
    bound = baseline(90, 20, 100, alpha=0.02, delta=0.01)
    assert (bound.trials, bound.guesses, bound.correct, bound.candidates) == (100, 200, 170, 2)
    assert (bound.error, bound.delta, bound.method) == (0.02, 0.01, "baseline")
    assert bound.success == 0.85
    assert bound.leakage == 1.7
    assert bound.point == pytest.approx(math.log(0.89 / 0.2))
    assert bound.lower < bound.point < bound.upper


def test_an_attack_that_always_says_yes_proves_nothing():
    bound = baseline(100, 100, 100)
    assert bound.lower == bound.point == 0
    assert bound.success == 0.5


def test_no_false_positive_leaves_point_and_upper_infinite_and_the_bound_finite():
    bound = baseline(60, 0, 100)
    assert bound.point == bound.upper == math.inf
    assert 0 < bound.lower < bound.ceiling < math.inf
    assert baseline(0, 0, 100).point == 0
    assert baseline(60, 0, 100, delta=0.8).point == 0


@given(st.data(), st.integers(1, 10**5))
def test_more_hits_raise_the_bound_and_more_alarms_lower_it(data, trials):
    hits, alarms = data.draw(st.tuples(st.integers(0, trials - 1), st.integers(0, trials - 1)))
    here = baseline(hits, alarms, trials)
    assert here.lower <= baseline(hits + 1, alarms, trials).lower <= here.ceiling
    assert here.lower >= baseline(hits, alarms + 1, trials).lower
    assert 0 <= here.lower <= here.point <= here.upper


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"trials": 0}, r"trials is 0; .*integer from 1"),
        ({"true_positives": 11}, r"true_positives is 11; .*from 0 to 10"),
        ({"true_positives": -1}, r"true_positives is -1; .*from 0 to 10"),
        ({"false_positives": 11}, r"false_positives is 11; .*from 0 to 10"),
        ({"false_positives": 0.5}, r"false_positives is 0\.5; .*from 0 to 10"),
        ({"alpha": 2}, r"alpha is 2; .*above 0 and below 1"),
        ({"alpha": math.nan}, r"alpha is nan; .*above 0 and below 1"),
        ({"delta": 1}, r"delta is 1; .*at least 0 and below 1"),
        ({"delta": math.nan}, r"delta is nan; .*at least 0 and below 1"),
    ],
)
def test_bad_input_is_refused_with_the_value_and_what_is_allowed(settings_, message):
    with pytest.raises(SpecError, match=message):
        baseline(**{"true_positives": 5, "false_positives": 1, "trials": 10} | settings_)


def test_the_split_of_ldp_audit_is_a_quarter_of_alpha_a_tail():
    """TPR_low and FPR_high from two-sided intervals at alpha / 2 each, as the release computes them."""
    from tedaudit.estimators import Counts, clopper_pearson, find_estimator

    counts = Counts(1000, (800, 900), 2)
    bound = find_estimator("baseline-ldp-audit").bound(counts, 0.01, 0.0)
    low, high = clopper_pearson(800, 1000, 0.005)[0], clopper_pearson(100, 1000, 0.005)[1]
    assert bound.lower == pytest.approx(math.log(low / high))
    assert bound.error == pytest.approx(0.005)
    assert bound.lower < find_estimator("baseline").bound(counts, 0.01, 0.0).lower
