"""Paired differences: every statement is checked by summing over all outcomes."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson, confidence_sequence, log_evidence
from tedaudit.estimators.paired import (
    PairedCounts,
    Scale,
    epsilon_bootstrap,
    mcnemar,
    paired_counts,
    paired_interval,
    rank_agreement,
    separate_intervals,
    smoothed_success,
)
from tedaudit.seeding import uniforms


def tables(trials):
    """Every way in which trials can fall into (both, first only, second only, neither)."""
    for both in range(trials + 1):
        for first in range(trials + 1 - both):
            for second in range(trials + 1 - both - first):
                yield PairedCounts(both, first, second, trials - both - first - second)


def test_trials_are_counted_by_who_was_right():
    outcomes = [(1, 1), (1, 0), (0, 0), (0, 1), (0, 1), (1, 1), (1, 1)]
    first, second = zip(*outcomes, strict=True)
    assert paired_counts(first, second) == PairedCounts(3, 1, 2, 1)
    assert paired_counts(first, second).trials == 7
    assert paired_counts([], []) == PairedCounts(0, 0, 0, 0)


def test_outcomes_of_different_trials_are_refused():
    with pytest.raises(SpecError, match="not of the same trials"):
        paired_counts([True], [True, False])


@pytest.mark.parametrize("discordant", range(9))
def test_the_p_value_is_the_share_of_coin_tosses_at_least_as_uneven(discordant):
    tosses = [sum(toss) for toss in product((0, 1), repeat=discordant)]
    for first in range(discordant + 1):
        uneven = abs(first - discordant / 2)
        share = sum(abs(toss - discordant / 2) >= uneven for toss in tosses) / len(tosses)
        assert mcnemar(PairedCounts(5, first, discordant - first, 2)) == pytest.approx(share, abs=1e-12)


@pytest.mark.parametrize(("first", "second"), [(3, 9), (120, 80), (0, 40), (5000, 5000), (49_000, 51_000)])
def test_the_p_value_is_that_of_the_exact_binomial_test(first, second):
    expected = binomtest(first, first + second, 0.5).pvalue
    assert mcnemar(PairedCounts(10, first, second, 10)) == pytest.approx(expected, rel=1e-12)


def test_without_a_discordant_trial_nothing_is_rejected():
    for any_time in (False, True):
        assert mcnemar(PairedCounts(70, 0, 0, 30), any_time=any_time) == 1


@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_looking_after_every_trial_rejects_a_true_hypothesis_with_probability_alpha_at_most(alpha):
    alive, rejected = {0: 1.0}, 0.0  # wins of the first side -> probability of not having rejected yet
    for tosses in range(1, 61):
        after = {}
        for wins, probability in alive.items():
            for more in (0, 1):
                after[wins + more] = after.get(wins + more, 0.0) + probability / 2
        alive = {}
        for wins, probability in after.items():
            if mcnemar(PairedCounts(0, wins, tosses - wins, 0), any_time=True) <= alpha:
                rejected += probability
            else:
                alive[wins] = probability
    assert 0 < rejected <= alpha


def test_the_p_value_for_every_look_comes_from_the_evidence():
    assert mcnemar(PairedCounts(0, 3, 40, 0), any_time=True) == pytest.approx(
        2 / math.exp(log_evidence(40, 43, 0.5)), rel=1e-9
    )
    assert mcnemar(PairedCounts(0, 40, 3, 0), any_time=True) == mcnemar(
        PairedCounts(9, 3, 40, 9), any_time=True
    )
    assert mcnemar(PairedCounts(0, 5, 5, 0), any_time=True) == 1


@pytest.mark.parametrize("interval", [clopper_pearson, confidence_sequence])
@pytest.mark.parametrize("alpha", [0.3, 0.05])
def test_the_interval_covers_the_true_difference_whatever_it_is(interval, alpha):
    trials = 12
    found = list(tables(trials))
    ends = np.array([paired_interval(counts, alpha, interval) for counts in found])
    rows = np.array([[c.both, c.first_only, c.second_only, c.neither] for c in found])
    rates = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0.5, 0.5), (0.4, 0.1, 0.4, 0.1), (0.9, 0.05, 0.05, 0),
             (0.3, 0.3, 0.3, 0.1), (0.02, 0.01, 0.95, 0.02), (0.25, 0.2, 0.05, 0.5)]  # fmt: skip
    for rate in rates:
        probability = multinomial.pmf(rows, trials, rate)
        truth = rate[2] - rate[1]
        assert probability.sum() == pytest.approx(1)
        assert probability[ends[:, 0] > truth + 1e-12].sum() <= alpha / 2
        assert probability[ends[:, 1] < truth - 1e-12].sum() <= alpha / 2


def test_the_interval_holds_the_observed_difference_and_mirrors_when_sides_are_changed():
    for counts in tables(9):
        low, high = paired_interval(counts, 0.05)
        swapped = PairedCounts(counts.both, counts.second_only, counts.first_only, counts.neither)
        assert -1 <= low <= (counts.second_only - counts.first_only) / 9 <= high <= 1
        assert paired_interval(swapped, 0.05) == pytest.approx((-high, -low))


def test_an_interval_without_0_goes_with_a_rejection():
    for counts in tables(16):
        low, high = paired_interval(counts, 0.1)
        if low > 0 or high < 0:
            assert mcnemar(counts) <= 0.08 + 1e-12
        elif mcnemar(counts) <= 0.08 - 1e-12:
            assert low == 0 or high == 0


def test_at_many_discordant_trials_the_interval_is_a_tenth_wider_than_the_normal_one():
    counts = PairedCounts(6000, 1000, 1000, 2000)
    _, high = paired_interval(counts, 0.01)
    assert 1 < high / (2.5758 * math.sqrt(2000) / 10_000) < 1.12


def test_separate_sides_are_joined_by_their_worst_cases():
    assert separate_intervals((0.1, 0.2), (0.5, 0.7)) == pytest.approx((0.3, 0.6))
    assert separate_intervals((1.0, math.inf), (0.5, 0.7)) == (-math.inf, pytest.approx(-0.3))
    assert separate_intervals((0.5, 0.7), (1.0, math.inf)) == (pytest.approx(0.3), math.inf)
    assert separate_intervals((1.0, math.inf), (1.0, math.inf)) == (-math.inf, math.inf)


def test_separate_sides_are_covered_even_where_they_depend_on_each_other():
    trials, alpha, rate = 10, 0.2, (0.2, 0.5, 0.1, 0.2)  # together far more often wrong about each other
    missed = 0.0
    for counts in tables(trials):
        ends = [
            clopper_pearson(right, trials, alpha / 2)
            for right in (counts.both + counts.first_only, counts.both + counts.second_only)
        ]
        low, high = separate_intervals(*ends)
        cells = [counts.both, counts.first_only, counts.second_only, counts.neither]
        if not low <= rate[2] - rate[1] <= high:
            missed += multinomial.pmf(cells, trials, rate)
    assert missed <= alpha


def test_smoothing_keeps_epsilon_finite_and_half_a_trial_away_from_the_count():
    assert smoothed_success([0, 5, 10], 10) == pytest.approx([0.5 / 11, 0.5, 10.5 / 11])
    assert Scale(2).epsilon(float(smoothed_success(10, 10))) == pytest.approx(math.log(21))


def test_the_bootstrap_meets_the_quantiles_of_all_resamples():
    counts, alpha = PairedCounts(4, 1, 3, 2), 0.1
    cells = np.array([4, 1, 3, 2]) + 0.25
    weights: dict[float, float] = {}
    for again in tables(10):
        first, second = (
            Scale(3).epsilon(float(smoothed_success(right, 10)))
            for right in (again.both + again.first_only, again.both + again.second_only)
        )
        row = [again.both, again.first_only, again.second_only, again.neither]
        at = round(second - first, 9)
        weights[at] = weights.get(at, 0.0) + multinomial.pmf(row, 10, cells / cells.sum())
    below = dict(zip(sorted(weights), np.cumsum([weights[at] for at in sorted(weights)]), strict=True))
    coins = uniforms([7], 3 * 20_000)[0].reshape(-1, 3)
    low, high = epsilon_bootstrap(counts, (Scale(3), Scale(3)), alpha, coins)
    for found, level in ((low, alpha / 2), (high, 1 - alpha / 2)):
        at = min(below, key=lambda value: abs(value - found))
        before = max((below[value] for value in below if value < at), default=0.0)
        assert at == pytest.approx(found, abs=1e-6)
        assert before - 0.01 <= level <= below[at] + 0.01  # the draws' own error is 0.0016 here


def test_the_bootstrap_covers_the_true_difference_nearly_as_often_as_it_says():
    trials, scales = 20, (Scale(), Scale())
    coins = uniforms([3], 3 * 500)[0].reshape(-1, 3)
    found = list(tables(trials))
    ends = np.array([epsilon_bootstrap(counts, scales, 0.05, coins) for counts in found])
    rows = np.array([[c.both, c.first_only, c.second_only, c.neither] for c in found])
    for rate in [
        (0.6, 0.1, 0.1, 0.2),
        (0.8, 0.15, 0.02, 0.03),
        (0.5, 0.05, 0.3, 0.15),
        (0.9, 0.04, 0.04, 0.02),
    ]:
        truth = Scale().epsilon(rate[0] + rate[2]) - Scale().epsilon(rate[0] + rate[1])
        covers = (ends[:, 0] <= truth + 1e-9) & (ends[:, 1] >= truth - 1e-9)
        assert multinomial.pmf(rows, trials, rate)[covers].sum() > 0.92


def test_the_bootstrap_is_a_function_of_its_coins_and_wide_where_all_agree():
    coins = uniforms([1], 3 * 2000)[0].reshape(-1, 3)
    always = PairedCounts(500, 0, 0, 0)
    low, high = epsilon_bootstrap(always, (Scale(), Scale()), 0.01, coins)
    assert low < 0 < high
    assert (low, high) == epsilon_bootstrap(always, (Scale(), Scale()), 0.01, coins)


def test_agreement_is_the_share_of_pairs_in_order_less_those_out_of_order():
    first, second = [0.1, 2.0, 1.0, 3.0, 0.5], [0.2, 1.0, 1.5, 2.5, 0.1]
    signs = [
        math.copysign(1, (first[i] - first[j]) * (second[i] - second[j]))
        for i, j in combinations(range(5), 2)
    ]
    assert rank_agreement(first, second) == pytest.approx(sum(signs) / len(signs))
    assert rank_agreement(first, first) == pytest.approx(1)
    assert rank_agreement(first, [-x for x in first]) == pytest.approx(-1)


def test_ties_count_for_neither_side_and_a_ranking_of_equals_ranks_nothing():
    # pairs untied in the first: 2, in the second: 3; both in order: 2
    assert rank_agreement([0, 0, 1], [1, 2, 3]) == pytest.approx(2 / math.sqrt(2 * 3))
    assert rank_agreement([0, 0, 0], [1, 2, 3]) is None
    for wrong in (([1], [2]), ([1, 2], [1, 2, 3])):
        with pytest.raises(SpecError, match="2 at least"):
            rank_agreement(*wrong)
