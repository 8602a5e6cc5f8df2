"""Tarone's reach and Holm's procedure, against their definitions."""

import numpy as np
import pytest

from tedaudit.estimators.multiplicity import find_reach, holm, look_error


def test_all_looks_have_the_whole_error_together():
    shares = [look_error(0.005, look) for look in range(1, 100_001)]
    assert shares[:3] == pytest.approx([0.0025, 0.005 / 6, 0.005 / 12])
    assert 0.00499 < sum(shares) < 0.005


def test_tests_that_cannot_reject_cost_the_others_nothing():
    assert find_reach([1e-9, 0.9, 0.9, 0.9], 0.005).tolist() == [True, False, False, False]


def test_the_reach_is_the_smallest_number_that_is_large_enough():
    """Three tests at 0.002: at most m of them are below 0.005 / m only if m is 3, where none is."""
    assert find_reach([0.002] * 3, 0.005).tolist() == [False] * 3
    assert find_reach([0.002] * 2, 0.005).tolist() == [True] * 2
    assert find_reach([0.001, 0.002, 0.002], 0.005).tolist() == [True, False, False]
    assert find_reach([0.004], 0.005).tolist() == [True]
    assert find_reach([], 0.005).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_every_test_in_reach_could_be_rejected_at_its_share(seed):
    least = 10 ** np.random.default_rng(seed).uniform(-6, 0, size=30)
    within = find_reach(least, 0.005)
    if within.any():
        assert (least[within] < 0.005 / within.sum()).all()
    m = next(m for m in range(1, 31) if (least < 0.005 / m).sum() <= m)
    assert within.tolist() == (least < 0.005 / m).tolist()


def test_holm_multiplies_by_the_number_of_tests_that_are_left():
    assert holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("seed", range(20))
def test_holm_rejects_what_its_steps_reject(seed):
    values, error = np.random.default_rng(seed).uniform(0, 0.02, size=12), 0.03
    rejected, left = set(), sorted(range(12), key=lambda i: values[i])
    while left and values[left[0]] <= error / len(left):
        rejected.add(left.pop(0))
    assert {i for i, p in enumerate(holm(values)) if p <= error} == rejected
