"""Bounds from guesses of an attribute: never above the truth more often than stated, and near it."""

import math

import numpy as np
import pytest

from tedaudit.estimators.attributes import attribute_epsilon

EPSILON, PRIOR = 1.0, (0.7, 0.2, 0.1)


def respond(rng, records):
    """Return attributes and what randomised response says of them."""
    truth = rng.choice(3, size=records, p=PRIOR)
    keep = math.exp(EPSILON) / (math.exp(EPSILON) + 2)
    said = np.where(rng.random(records) < keep, truth, (truth + rng.integers(1, 3, records)) % 3)
    return [str(one) for one in truth], [str(one) for one in said]


def test_the_bound_is_above_the_truth_no_more_often_than_stated():
    rng = np.random.default_rng(1)
    above = sum(attribute_epsilon(*respond(rng, 120), alpha=0.4) > EPSILON for _ in range(2000))
    assert above <= 2000 * 0.2


def test_with_many_records_the_bound_is_near_the_truth():
    found = attribute_epsilon(*respond(np.random.default_rng(2), 30_000))
    assert 0.85 < found < EPSILON


def test_who_always_names_one_value_shows_nothing_however_frequent_it_is():
    truth = ["a"] * 95 + ["b"] * 5
    assert attribute_epsilon(truth, ["a"] * 100) == 0.0
    assert attribute_epsilon(["a"] * 9, ["a"] * 9) == 0.0


def test_records_that_differ_among_themselves_are_averaged():
    rng = np.random.default_rng(3)
    rates = {"a": np.r_[np.full(50, 0.2), np.full(50, 0.9)], "b": np.r_[np.full(50, 0.2), np.full(50, 0.3)]}
    truth = ["a"] * 100 + ["b"] * 100
    real = math.log(max(0.55 / 0.25, 0.75 / 0.45))
    chances = np.concatenate([rates["a"], rates["b"]])
    above = sum(
        attribute_epsilon(truth, np.where(rng.random(200) < chances, "a", "b").tolist(), alpha=0.4) > real
        for _ in range(1000)
    )
    assert above <= 1000 * 0.2


def test_the_number_of_guesses_must_be_that_of_records():
    with pytest.raises(ValueError, match="argument"):
        attribute_epsilon(["a", "b"], ["a"])
