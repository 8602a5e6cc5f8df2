"""The bound from all originals, by summing over all outputs of mechanisms whose epsilon is known."""

import math
from itertools import product

import numpy as np
import pytest

from tedaudit.studies.link.trials import make_row

ERROR = 0.1  # large, so that few records show something


def respond(size, epsilon):
    """Return the probabilities of outputs by text: the own one, or another, as epsilon allows."""
    own = math.exp(epsilon) / (math.exp(epsilon) + size - 1)
    return np.full((size, size), (1 - own) / (size - 1)) + np.eye(size) * (own - (1 - own) / (size - 1))


def unequal(size, epsilon):
    """Return a mechanism that is epsilon-LDP and gives away one text alone: a coin for all others."""
    low = 1 / (1 + math.exp(epsilon))
    table = np.zeros((size, size))
    table[:, 0], table[:, 1] = low, 1 - low
    table[0, :2] = 1 - low, low
    return table


def miss(table, epsilon):
    """Return how probable it is that the bound of a release, one record for each text, is above epsilon."""
    size, total = len(table), 0.0
    for outputs in product(range(size), repeat=size):
        chance = math.prod(table[text, output] for text, output in enumerate(outputs))
        named = sum(text == output for text, output in enumerate(outputs))  # the output names its text
        if chance and make_row(named, size).bound(ERROR).lower > epsilon + 1e-9:
            total += chance
    return total


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("mechanism", [respond, unequal])
def test_the_bound_is_above_epsilon_with_the_error_at_most(mechanism, epsilon, size):
    assert miss(mechanism(size, epsilon), epsilon) <= ERROR


def test_the_sum_can_tell_a_bound_that_is_too_large():
    assert miss(respond(5, 4.0), 1.0) > ERROR


def test_its_ceiling_is_that_of_all_originals_as_candidates():
    row = make_row(5000, 5000)
    low = 0.005 ** (1 / 5000)
    assert row.bound(0.005).lower == pytest.approx(math.log(4999 * low / (1 - low)))
    assert make_row(1, 5000).bound(0.005).lower == 0
