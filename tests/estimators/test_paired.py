"""Paired differences: every statement is checked by summing over all outcomes."""

import math
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binomtest, multinomial

from paired_tables import RATES, all_tables, likely_tables, name_rates
from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson, confidence_sequence, log_evidence
from tedaudit.estimators.paired import (
    PairedCounts,
    Standing,
    compare_release,
    mcnemar,
    paired_counts,
    paired_interval,
    rank_agreement,
    separate_intervals,
    trials_within,
)


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
    trials, once = 12, cache(interval)
    found = list(all_tables(trials))
    ends = np.array([paired_interval(counts, alpha, once) for counts in found])
    rows = np.array([[c.both, c.first_only, c.second_only, c.neither] for c in found])
    rates = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0.5, 0.5), (0.4, 0.1, 0.4, 0.1), (0.9, 0.05, 0.05, 0),
             (0.3, 0.3, 0.3, 0.1), (0.02, 0.01, 0.95, 0.02), (0.25, 0.2, 0.05, 0.5)]  # fmt: skip
    for rate in rates:
        probability = multinomial.pmf(rows, trials, rate)
        truth = rate[2] - rate[1]
        assert probability.sum() == pytest.approx(1)
        assert probability[ends[:, 0] > truth + 1e-12].sum() <= alpha / 2
        assert probability[ends[:, 1] < truth - 1e-12].sum() <= alpha / 2


@pytest.mark.parametrize("rates", RATES, ids=name_rates)
@pytest.mark.parametrize("trials", [100, 300, 1000])
def test_the_interval_covers_the_true_difference_near_saturation_too(rates, trials):
    alpha, exact = 0.05, cache(clopper_pearson)
    found, probability = likely_tables(trials, rates)
    ends = np.array([paired_interval(counts, alpha, exact) for counts in found])
    unlikely = 1 - probability.sum()  # counts as missed
    assert probability[ends[:, 0] > rates[2] - rates[1] + 1e-12].sum() + unlikely <= alpha / 2
    assert probability[ends[:, 1] < rates[2] - rates[1] - 1e-12].sum() + unlikely <= alpha / 2


def test_the_interval_holds_the_observed_difference_and_mirrors_when_sides_are_changed():
    exact = cache(clopper_pearson)
    for counts in all_tables(9):
        low, high = paired_interval(counts, 0.05, exact)
        swapped = PairedCounts(counts.both, counts.second_only, counts.first_only, counts.neither)
        assert -1 <= low <= (counts.second_only - counts.first_only) / 9 <= high <= 1
        assert paired_interval(swapped, 0.05, exact) == pytest.approx((-high, -low))


def test_an_interval_without_0_goes_with_a_rejection():
    exact = cache(clopper_pearson)
    for counts in all_tables(16):
        low, high = paired_interval(counts, 0.1, exact)
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
    for counts in all_tables(trials):
        ends = [
            clopper_pearson(right, trials, alpha / 2)
            for right in (counts.both + counts.first_only, counts.both + counts.second_only)
        ]
        low, high = separate_intervals(*ends)
        cells = [counts.both, counts.first_only, counts.second_only, counts.neither]
        if not low <= rate[2] - rate[1] <= high:
            missed += multinomial.pmf(cells, trials, rate)
    assert missed <= alpha


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


# --- Worse, no worse than by a margin, or not told.


def judge(counts, margin, alpha, interval):
    """Return what one comparison says of a release, from its counts."""
    is_larger = mcnemar(counts) <= alpha and counts.second_only > counts.first_only
    first = (counts.both + counts.first_only) / counts.trials
    high = paired_interval(counts, alpha, interval)[1]
    return compare_release(first, high, margin, is_larger=is_larger)


RELEASES = [  # rates of (both, first only, second only, neither)
    (0.5, 0.1, 0.1, 0.3),
    (0.2, 0.4, 0.4, 0.0),
    (0.9, 0.05, 0.05, 0.0),
    (0.0, 0.5, 0.5, 0.0),
    (0.4, 0.0, 0.4, 0.2),
    (0.6, 0.05, 0.2, 0.15),
    (0.75, 0.0, 0.2, 0.05),
]


@pytest.mark.parametrize(("trials", "margin"), [(16, 0.3), (20, 0.3)])
def test_neither_answer_is_wrong_more_often_than_its_error(trials, margin):
    """Equal versions are worse, and worse ones no worse, with probability alpha / 2 at most."""
    alpha, exact = 0.1, cache(clopper_pearson)
    found = list(all_tables(trials))
    rows = np.array([[c.both, c.first_only, c.second_only, c.neither] for c in found])
    said = np.array([judge(counts, margin, alpha, exact) for counts in found])
    assert {Standing.WORSE, Standing.NO_WORSE, Standing.NOT_TOLD, None} == set(said)
    for rates in RELEASES:
        probability = multinomial.pmf(rows, trials, rates)
        assert probability.sum() == pytest.approx(1)
        difference = rates[2] - rates[1]
        if difference <= 0:
            assert probability[said == Standing.WORSE].sum() <= alpha / 2
        if difference > margin:
            assert probability[said == Standing.NO_WORSE].sum() <= alpha / 2


def test_all_answers_are_given_by_counts_that_call_for_them():
    for counts, expected in {
        PairedCounts(978, 0, 22, 0): Standing.WORSE,
        PairedCounts(1000, 0, 0, 0): None,
        PairedCounts(970, 0, 5, 25): None,  # were all right, they would be right by less than the margin more
        PairedCounts(900, 5, 5, 90): Standing.NO_WORSE,
        PairedCounts(450, 250, 250, 50): Standing.NOT_TOLD,
        PairedCounts(500, 500, 0, 0): Standing.NO_WORSE,  # far better, though the first was always right
    }.items():
        assert judge(counts, 0.05, 0.01, clopper_pearson) is expected


def test_at_the_ceiling_nothing_is_called_no_worse_unless_it_is_better():
    exact = cache(clopper_pearson)
    for margin in (0.1, 0.3):
        for counts in all_tables(16):
            first = (counts.both + counts.first_only) / 16
            if 1 - first <= margin and judge(counts, margin, 0.2, exact) is Standing.NO_WORSE:
                assert paired_interval(counts, 0.2, exact)[1] < 0


def test_the_trials_that_are_said_to_tell_do_so():
    for counts in (PairedCounts(450, 25, 25, 0), PairedCounts(50, 3, 4, 43), PairedCounts(100, 0, 0, 100)):
        for margin in (0.05, 0.2):
            trials = trials_within(counts, margin, 0.01, clopper_pearson)
            if trials is None:
                continue
            first, second = (
                round(part / counts.trials * trials) for part in (counts.first_only, counts.second_only)
            )
            more = PairedCounts(trials - first - second, first, second, 0)
            assert paired_interval(more, 0.01)[1] <= margin
    assert trials_within(PairedCounts(80, 0, 20, 0), 0.2, 0.01, clopper_pearson) is None
