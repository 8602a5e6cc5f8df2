"""The bound of an adversary that answers only if it is sure, checked by enumeration."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from tedaudit.estimators import success_from_epsilon
from tedaudit.estimators.abstaining import (
    RANKED_TOGETHER,
    Part,
    Parts,
    count_parts,
    count_parts_by_block,
    end_blocks,
    find_sizes,
    picked_tail,
)
from tedaudit.estimators.intervals import binomial_tail
from tedaudit.estimators.sequential import any_time_p


def counted(right, margin, sizes, candidates=2):
    usable = np.ones(len(right), dtype=bool)
    return count_parts(np.asarray(right), np.asarray(margin, dtype=np.float32), usable, sizes, candidates)


@cache
def find_p(parts, epsilon, delta):
    """Return the p-value of parts; many outcomes have the same."""
    return parts.p_value(epsilon, delta)


# --- which trials are picked


def test_the_most_certain_are_picked_unusable_ones_last_and_ties_by_trial():
    margin = np.array([1, 3, 3, 9, 3, np.nan], dtype=np.float32)
    usable = np.array([True, True, True, False, True, True])
    right = np.array([True, False, True, True, False, True])
    parts = count_parts(right, margin, usable, (1, 2, 3, 4, 5), 2).parts
    assert [part.right for part in parts] == [0, 1, 1, 2, 3]  # trials 1, 2, 4, 0, 5; 3 has no answer


def test_the_sizes_halve_as_long_as_a_part_could_show_anything_at_its_share():
    for trials, candidates, delta in [(1000, 2, 0.0), (10_000, 2, 1e-5), (250, 4, 0.0), (10_000, 2, 0.01)]:
        sizes = find_sizes(trials, candidates, delta, 0.005)
        assert sizes == tuple(trials >> i for i in range(1, len(sizes) + 1))
        last, following = sizes[-1], trials >> (len(sizes) + 1)
        share = 0.0025 / len(sizes)
        assert picked_tail(last, last, trials, 1 / candidates, delta) < share
        least = picked_tail(following, following, trials, 1 / candidates, delta)
        assert least >= 0.0025 / (len(sizes) + 1)
    assert find_sizes(10, 2, 0.0, 0.005) == ()


# --- one look


@pytest.mark.parametrize(("epsilon", "candidates"), [(0.0, 2), (1.0, 2), (0.5, 4)])
def test_the_error_holds_whatever_is_picked_if_every_guess_is_right_as_often_as_it_may(epsilon, candidates):
    """All 2^12 outcomes: a part is rejected with probability at most the error, for any order of margins."""
    success, trials = success_from_epsilon(epsilon, candidates), 12
    margin = np.random.default_rng(1).permutation(trials)
    outcomes = np.array(list(product([False, True], repeat=trials)))
    weights = np.prod(np.where(outcomes, success, 1 - success), axis=1)
    p_values = np.array([find_p(counted(row, margin, (6, 3), candidates), epsilon, 0.0) for row in outcomes])
    for error in (0.001, 0.01, 0.05, 0.2):
        assert weights[p_values <= error].sum() <= error * (1 + 1e-9)


def hide_delta(trials, success, delta):
    """Yield (probability, right), certain trials first: a leak of mass delta that the attack knows of."""
    for leaks in product([False, True], repeat=trials):
        mass = np.prod([delta if leak else 1 - delta for leak in leaks])
        for tosses in product([False, True], repeat=trials):
            weight = mass * np.prod([success if toss else 1 - success for toss in tosses])
            order = sorted(range(trials), key=lambda i: not leaks[i])
            yield weight, [leaks[i] or tosses[i] for i in order]


def test_with_delta_the_error_holds_for_a_mechanism_that_puts_it_where_the_attack_is_sure():
    delta, candidates, trials = 0.05, 4, 6
    success = success_from_epsilon(0.0, candidates)
    rejected = dict.fromkeys((0.001, 0.01, 0.05, 0.2), 0.0)
    naive = 0.0
    for weight, right in hide_delta(trials, success, delta):
        parts = counted(right, range(trials, 0, -1), (3, 1), candidates)
        p = find_p(parts, 0.0, delta)
        for error in rejected:
            rejected[error] += weight * (p <= error)
        both = success_from_epsilon(0.0, candidates, delta)
        naive += weight * (binomial_tail(sum(right[:1]), 1, both) <= 0.29)
    assert all(mass <= error for error, mass in rejected.items())
    assert naive > 0.29  # with delta inside the success rate alone it would not hold


def test_the_tail_with_delta_is_the_sum_over_hidden_trials():
    trials, size, right, success, delta = 50, 8, 6, 0.4, 0.03
    exact = sum(
        binom.pmf(d, trials, delta) * binom.sf(right - min(d, size) - 1, size - min(d, size), success)
        for d in range(trials + 1)
    )
    assert picked_tail(right, size, trials, success, delta) == pytest.approx(exact, rel=1e-12)


def test_the_bound_is_the_epsilon_at_which_the_share_of_the_error_is_reached():
    parts = Parts(1000, 2, (Part(500, 300), Part(62, 62)))
    bound = parts.bound(0.0025, 0.0)
    assert (bound.right, bound.size, bound.trials) == (62, 62, 1000)
    success = 0.00125 ** (1 / 62)
    assert bound.lower == pytest.approx(math.log(success / (1 - success)), rel=1e-9)
    assert parts.p_value(bound.lower, 0.0) == pytest.approx(0.0025)
    with_delta = parts.bound(0.0025, 0.001)
    assert 0 < with_delta.lower < bound.lower
    assert parts.p_value(with_delta.lower, 0.001) == pytest.approx(0.0025)


def test_a_total_leak_on_one_text_in_ten_is_seen_by_the_sure_and_not_on_average():
    rng = np.random.default_rng(5)
    leaks = rng.random(1000) < 0.1
    right = leaks | (rng.random(1000) < 0.5)
    parts = counted(right, leaks, find_sizes(1000, 2, 0.0, 0.005))
    assert binomial_tail(int(right.sum()), 1000, success_from_epsilon(0.5, 2)) > 0.05
    assert parts.bound(0.0025, 0.0).lower > 1.9


# --- many looks


def test_without_delta_the_evidence_at_every_look_is_that_of_the_confidence_sequence():
    for size, right in [(125, 125), (500, 400), (10, 7)]:
        [part] = (parts := Parts(size, 3, (Part(size, right),), any_time=True)).parts
        success = success_from_epsilon(0.4, 3)
        assert parts.p_value(0.4, 0.0) == pytest.approx(any_time_p(right, size, success))
        assert parts.p_value(0.4, 1e-12) == pytest.approx(any_time_p(part.right, size, success), rel=1e-4)


def test_with_delta_the_evidence_grows_on_average_by_no_more_than_nothing():
    """Over all outcomes of a block whose leak the attack sees, half of the trials picked."""
    delta, candidates, trials = 0.05, 3, 6
    for epsilon in (0.0, 0.7):
        success = success_from_epsilon(epsilon, candidates)
        mean = 0.0
        for weight, right in hide_delta(trials, success, delta):
            parts = Parts(trials, candidates, (Part(3, sum(right[:3])),), any_time=True)
            evidence = 1 / find_p(parts, epsilon, delta)  # at least the mixture, which may be below 1
            mean += weight * evidence
        crossing = sum(
            weight
            for weight, right in hide_delta(trials, success, delta)
            if find_p(Parts(trials, candidates, (Part(3, sum(right[:3])),), any_time=True), epsilon, delta)
            <= 0.2
        )
        assert crossing <= 0.2
        assert mean < 2.0


def test_blocks_end_at_looks_and_at_the_end_and_an_unfinished_one_is_left_out():
    assert end_blocks(250, [], 250) == [250]
    assert end_blocks(2500, [250], 2500) == [250, 1250, 2250, 2500]
    assert end_blocks(2400, [], 5000) == [1000, 2000]
    assert end_blocks(900, [], 5000) == []
    assert end_blocks(3000, [1000, 3000], 3000) == [1000, 2000, 3000]


def test_what_is_counted_at_one_look_is_counted_at_the_next():
    rng = np.random.default_rng(2)
    rows = 2600
    right, margin = rng.random(rows) < 0.6, rng.random(rows).astype(np.float32)
    usable = np.ones(rows, dtype=bool)
    first = count_parts_by_block(right[:600], margin[:600], usable[:600], end_blocks(600, [600], 600), 2)
    both = count_parts_by_block(right, margin, usable, end_blocks(rows, [600], rows), 2)
    later = count_parts_by_block(right[600:], margin[600:], usable[600:], [1000, 2000], 2)
    for one, two, whole in zip(first.parts, later.parts, both.parts, strict=True):
        assert (one.size + two.size, one.right + two.right) == (whole.size, whole.right)
    assert len(both.parts) == RANKED_TOGETHER.bit_length() - 1


def test_the_bound_at_every_look_with_delta_is_the_first_epsilon_that_is_kept():
    parts = Parts(3000, 2, (Part(300, 299), Part(30, 30)), any_time=True)
    bound = parts.bound(0.0025, 0.001)
    assert parts.p_value(bound.lower - 1e-6, 0.001) <= 0.0025 <= parts.p_value(bound.lower + 1e-6, 0.001)
    assert 0 < bound.lower < parts.bound(0.0025, 0.0).lower
