"""The most that any output can lose, over pairs of texts."""

import math

import numpy as np
import pytest

from tedaudit.estimators.loss import find_supremum

NONE = math.nan


def test_the_worst_pair_of_independent_draws_decides_at_every_delta():
    found = find_supremum(np.array([2.0, 7.5, 3.0]), np.full(3, NONE))
    assert (found.largest, found.row, found.is_gaussian) == (7.5, 1, False)
    assert found.epsilon(0.05) == found.epsilon(0.0) == 7.5
    assert found.to_dict() == {"largest": 7.5, "mu": None, "row": 1}


def test_gaussian_noise_has_an_epsilon_at_every_delta_above_zero_and_no_largest_loss():
    found = find_supremum(np.array([math.inf, math.inf]), np.array([0.5, 2.0]))
    assert (found.mu, found.row) == (2.0, 1)
    for delta, known in ((0.05, 4.5715), (0.01, 6.0002), (1e-3, 7.5832)):
        assert found.epsilon(delta) == pytest.approx(known, abs=1e-2)
    assert found.epsilon(0.0) == math.inf
    assert found.to_dict()["largest"] is None


def test_texts_that_share_no_output_beat_every_noise():
    found = find_supremum(np.array([math.inf, math.inf]), np.array([0.5, NONE]))
    assert (found.largest, found.row) == (math.inf, 1)
    assert found.epsilon(0.05) == math.inf


def test_one_unknown_pair_leaves_all_unknown():
    assert find_supremum(np.array([1.0, NONE]), np.full(2, NONE)) is None
    assert find_supremum(np.zeros(0), np.zeros(0)) is None


def test_equal_texts_lose_nothing():
    found = find_supremum(np.zeros(2), np.zeros(2))
    assert found.epsilon(0.05) == 0.0
