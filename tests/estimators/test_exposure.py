"""From how many rewrites on somebody is known, against what is true by construction."""

import numpy as np
import pytest

from tedaudit.estimators.exposure import known_from, nested_grid


def test_the_grid_ends_with_the_largest_number() -> None:
    assert [nested_grid(n) for n in (1, 3, 16)] == [(1,), (1, 2, 3), (1, 2, 4, 8, 16)]


def test_a_number_whose_larger_neighbour_is_not_shown_is_not_named() -> None:
    assert known_from({1: 300, 2: 280, 4: 300}, 300) == 4
    assert known_from({1: 300, 2: 300, 4: 280}, 300) is None


@pytest.mark.parametrize("truth", [1, 2, 4, 8, 16, None])
def test_it_names_too_small_a_number_no_more_often_than_its_error(truth: int | None) -> None:
    """Success is .95 exactly, the hardest case, below the true number, and 1 from it on."""
    coins, alpha, wrong = np.random.default_rng(7), 0.2, 0
    for _ in range(600):
        rate = {n: 0.95 if truth is None or n < truth else 1.0 for n in nested_grid(16)}
        named = known_from({n: int(coins.binomial(400, p)) for n, p in rate.items()}, 400, alpha)
        wrong += named is not None and (truth is None or named < truth)
    assert wrong <= 600 * alpha / 2 + 3 * (600 * 0.1 * 0.9) ** 0.5
