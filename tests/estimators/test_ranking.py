"""Rankings: the range that holds is checked by summing over all outcomes, the redrawn one by enumeration."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom

from tedaudit.estimators import Counts, clopper_pearson
from tedaudit.estimators.paired import rank_agreement
from tedaudit.estimators.ranking import Orders, compare_orders, redraw_tau, tell_order


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [((0, 1), (2, 3), 1), ((2, 3), (0, 1), -1), ((0, 2), (1, 3), 0), ((0, 1), (1, 2), 0),
     ((0, np.inf), (5, np.inf), 0), ((0, 1), (5, np.inf), 1)],
)  # fmt: skip
def test_two_things_are_told_apart_only_if_their_intervals_do_not_touch(first, second, told):
    assert tell_order(first, second) == told
    assert tell_order(second, first) == -told


def test_pairs_are_counted_by_what_both_settings_say():
    first = [(0, 1), (2, 3), (4, 5), (4, 6)]
    second = [(2, 3), (0, 1), (4, 5), (0, 9)]
    assert compare_orders(first, second) == Orders(same=2, opposite=1, untold=3)


def test_the_range_of_tau_is_that_of_all_orders_that_the_intervals_allow():
    first, second = [(0, 1), (2, 4), (3, 5)], [(0, 1), (2, 3), (4, 5)]
    allowed = [
        rank_agreement(one, other)
        for one in product(*([low, high] for low, high in first))
        for other in product(*([low, high] for low, high in second))
    ]
    assert compare_orders(first, second).tau_range == pytest.approx((min(allowed), max(allowed)))


def _tau_a(first, second):
    pairs = list(combinations(range(len(first)), 2))
    return sum(np.sign(first[i] - first[j]) * np.sign(second[i] - second[j]) for i, j in pairs) / len(pairs)


@pytest.mark.parametrize("rates", [(0.5, 0.95, 0.99), (0.9, 0.2, 0.5), (0.98, 0.6, 0.02)])
def test_the_range_of_tau_holds_as_often_as_it_says(rates):
    trials, alpha, other = 12, 0.1, (0.1, 0.6, 0.9)
    share = alpha / (2 * len(rates))
    ends = [clopper_pearson(right, trials, share) for right in range(trials + 1)]
    settled = [(0.0, 0.2), (0.5, 0.7), (0.8, 1.0)]  # the other setting is known
    truth, covered = _tau_a(rates, other), 0.0
    for right in product(range(trials + 1), repeat=len(rates)):
        low, high = compare_orders([ends[s] for s in right], settled).tau_range
        if low - 1e-9 <= truth <= high + 1e-9:
            covered += float(np.prod(binom.pmf(right, trials, rates)))
    assert covered >= 1 - alpha


def test_redrawn_rankings_are_those_of_the_binomials():
    sides = [[Counts(4, (0,), 2), Counts(4, (2,), 2)], [Counts(4, (1,), 2), Counts(4, (4,), 2)]]
    expected = weight = 0.0
    rates = [(counts.right[0] + 0.5) / 5 for side in sides for counts in side]
    for right in product(range(5), repeat=4):
        tau = rank_agreement(right[:2], right[2:])
        chance = float(np.prod(binom.pmf(right, 4, rates)))
        if tau is not None:
            expected, weight = expected + chance * tau, weight + chance
    measured = [[(counts, lambda drawn: float(drawn.right[0])) for counts in side] for side in sides]
    spread = redraw_tau(*measured, np.random.default_rng(7), draws=3000)
    assert spread is not None
    assert spread.mean == pytest.approx(expected / weight, abs=0.04)
    assert (spread.low, spread.high) == (-1, 1)


def test_a_side_that_was_never_wrong_varies_too():
    sure = [(Counts(50, (50,), 2), lambda drawn: float(drawn.right[0])) for _ in range(3)]
    spread = redraw_tau(sure, sure, np.random.default_rng(1))
    assert spread is None or spread.low < spread.high


def test_nothing_is_said_if_nothing_is_ranked():
    flat = [(Counts(50, (25,), 2), lambda _: 0.0) for _ in range(3)]
    assert redraw_tau(flat, flat, np.random.default_rng(1)) is None


def test_the_same_seed_gives_the_same_range():
    side = [(Counts(50, (right,), 2), lambda drawn: float(drawn.right[0])) for right in (20, 25, 45)]
    first, second = (redraw_tau(side, side, np.random.default_rng(3)) for _ in range(2))
    assert first == second
