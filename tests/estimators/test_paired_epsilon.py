"""The difference of two epsilons on the same trials: its coverage is summed over all outcomes."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import multinomial

from paired_tables import RATES, all_tables, join, likely_tables, name_rates
from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.paired import (
    PairedCounts,
    Scale,
    paired_epsilon_interval,
    paired_interval,
    separate_intervals,
    smoothed_success,
)

EQUAL = (Scale(), Scale())


def missed(found, probability, rates, scales, alpha, interval):
    """Return how likely the lower end is too high, and the upper one too low."""
    ends = np.array([paired_epsilon_interval(counts, scales, alpha, interval) for counts in found])
    truth = scales[1].epsilon(rates[0] + rates[2]) - scales[0].epsilon(rates[0] + rates[1])
    unlikely = 1 - probability.sum()  # counts as missed
    return [
        probability[wrong].sum() + unlikely
        for wrong in (ends[:, 0] > truth + 1e-9, ends[:, 1] < truth - 1e-9)
    ]


@pytest.mark.parametrize("rates", RATES, ids=name_rates)
@pytest.mark.parametrize("trials", [100, 300, 1000])
def test_the_interval_covers_the_true_difference_near_saturation_too(rates, trials, is_thorough):
    if (trials, rates) == (1000, RATES[-1]) and not is_thorough:
        pytest.skip("`make test-all` sums it: it has most outcomes of all, far from saturation")
    alpha, exact = 0.05, cache(clopper_pearson)
    found, probability = likely_tables(trials, rates)
    for miss in missed(found, probability, rates, EQUAL, alpha, exact):
        assert miss <= alpha / 2


def test_sides_of_one_half_that_do_not_depend_are_covered():
    found, probability = likely_tables(60, join(0.5, 0.5, 0.25), unlikely=5e-3)
    for miss in missed(found, probability, join(0.5, 0.5, 0.25), EQUAL, 0.05, cache(clopper_pearson)):
        assert miss <= 0.025


@pytest.mark.parametrize("interval", [clopper_pearson, confidence_sequence])
@pytest.mark.parametrize(
    "scales", [(Scale(2), Scale(2)), (Scale(4, 0.1), Scale(4)), (Scale(3), Scale(3, 0.3))]
)
def test_the_interval_covers_the_true_difference_whatever_it_is(interval, scales):
    trials, alpha, exact = 10, 0.3, cache(interval)
    found = list(all_tables(trials))
    rows = np.array([[c.both, c.first_only, c.second_only, c.neither] for c in found])
    for rates in [(0, 1, 0, 0), (0.4, 0.1, 0.4, 0.1), (0.9, 0.05, 0.05, 0), (0.3, 0.3, 0.3, 0.1),
                  (0.02, 0.01, 0.95, 0.02), (0.25, 0.2, 0.05, 0.5), (0.6, 0, 0.3, 0.1),
                  (0, 0.5, 0.5, 0)]:  # fmt: skip
        probability = multinomial.pmf(rows, trials, rates)
        for miss in missed(found, probability, rates, scales, alpha, exact):
            assert miss <= alpha / 2


def test_a_side_that_was_never_wrong_leaves_its_end_open():
    assert paired_epsilon_interval(PairedCounts(500, 0, 0, 0), EQUAL) == (-math.inf, math.inf)
    low, high = paired_epsilon_interval(PairedCounts(970, 0, 30, 0), EQUAL)
    assert 0.9 < low < 1.1
    assert high == math.inf
    assert paired_epsilon_interval(PairedCounts(970, 30, 0, 0), EQUAL) == (-math.inf, pytest.approx(-low))
    assert all(map(math.isfinite, paired_epsilon_interval(PairedCounts(969, 1, 30, 0), EQUAL)))


@pytest.mark.parametrize("scales", [(Scale(3, 0.05), Scale(3, 0.2)), (Scale(16), Scale(16))])
def test_the_ends_are_the_extremes_that_the_three_intervals_allow(scales):
    tables = [(40, 5, 9, 6), (20, 2, 30, 8), (10, 25, 3, 22), (57, 1, 1, 1), (5, 3, 2, 50), (58, 0, 1, 1),
              (30, 0, 0, 30), (20, 20, 19, 1), (20, 1, 15, 24)]  # fmt: skip
    for counts in (PairedCounts(*table) for table in tables):
        share = 0.06 / 3
        sides = [
            clopper_pearson(right, counts.trials, share)
            for right in (counts.both + counts.first_only, counts.both + counts.second_only)
        ]
        low, high = paired_interval(counts, share)
        grids = [np.linspace(*side, 801) for side in sides]
        epsilons = [
            np.array([scale.epsilon(rate) for rate in grid.tolist()])
            for scale, grid in zip(scales, grids, strict=True)
        ]
        apart = grids[1][None, :] - grids[0][:, None]
        differences = (epsilons[1][None, :] - epsilons[0][:, None])[(apart >= low) & (apart <= high)]
        found = paired_epsilon_interval(counts, scales, 0.06)
        assert found[0] <= differences.min() + 1e-9
        assert found[1] >= differences.max() - 1e-9
        assert found == pytest.approx((differences.min(), differences.max()), abs=0.03)


def test_the_interval_holds_the_observed_difference_and_mirrors_if_sides_are_changed():
    scales, exact = (Scale(2), Scale(2, 0.1)), cache(clopper_pearson)
    for counts in all_tables(9):
        low, high = paired_epsilon_interval(counts, scales, 0.05, exact)
        swapped = PairedCounts(counts.both, counts.second_only, counts.first_only, counts.neither)
        rights = counts.both + counts.first_only, counts.both + counts.second_only
        first, second = (
            scale.epsilon(float(smoothed_success(right, 9)))
            for scale, right in zip(scales, rights, strict=True)
        )
        assert low - 1e-12 <= second - first <= high + 1e-12
        assert paired_epsilon_interval(swapped, scales[::-1], 0.05, exact) == pytest.approx((-high, -low))


def test_two_sides_that_are_surely_no_better_than_chance_do_not_differ():
    ends = paired_epsilon_interval(PairedCounts(100, 10, 300, 590), EQUAL)
    assert [f"{end:+.1f}" for end in ends] == ["+0.0", "+0.0"]


def test_sides_that_go_together_are_told_apart_better_than_by_an_interval_of_each():
    def widths(counts):
        low, high = paired_epsilon_interval(counts, EQUAL)
        rights = counts.both + counts.first_only, counts.both + counts.second_only
        sides = [clopper_pearson(right, counts.trials, 0.005) for right in rights]
        apart = separate_intervals(*(tuple(map(Scale().epsilon, side)) for side in sides))
        return high - low, apart[1] - apart[0]

    together, apart = widths(PairedCounts(760, 40, 60, 140))
    assert together < 0.65 * apart
    together, apart = widths(PairedCounts(640, 160, 180, 20))  # as unlike as can be
    assert together < 1.05 * apart


def test_smoothing_keeps_epsilon_finite_and_half_a_trial_away_from_the_count():
    assert smoothed_success([0, 5, 10], 10) == pytest.approx([0.5 / 11, 0.5, 10.5 / 11])
    assert Scale(2).epsilon(float(smoothed_success(10, 10))) == pytest.approx(math.log(21))


def test_an_alpha_outside_its_range_is_refused():
    with pytest.raises(SpecError, match="alpha is 1"):
        paired_epsilon_interval(PairedCounts(1, 1, 1, 1), EQUAL, 1.0)
