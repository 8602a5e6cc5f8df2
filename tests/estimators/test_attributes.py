"""Bounds from guesses of an attribute: never above the truth more often than stated, and near it."""

import math

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.attributes import (
    attribute_epsilon,
    epsilon_under_prior,
    gain_interval,
    population_epsilon,
    success_under_prior,
)

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


# --- Records that are drawn from a population: what a prior allows.


def solve_program(epsilon, prior):
    """Return the best success of any guesser by a linear program over all epsilon-LDP rewriters.

    The guess itself can be taken for the rewrite: what a guesser does with a rewrite is LDP too.
    """
    from scipy.optimize import linprog

    k = len(prior)
    limits = np.zeros((k * k * (k - 1), k * k))
    row = 0
    for guess in range(k):
        for one in range(k):
            for other in set(range(k)) - {one}:
                limits[row, one * k + guess] = 1
                limits[row, other * k + guess] = -math.exp(epsilon)
                row += 1
    right = np.zeros(k * k)
    right[:: k + 1] = prior
    return -linprog(
        -right, A_ub=limits, b_ub=np.zeros(len(limits)), A_eq=np.kron(np.eye(k), np.ones(k)), b_eq=np.ones(k)
    ).fun


def test_the_best_success_under_a_prior_is_the_optimum_of_the_linear_program():
    rng = np.random.default_rng(5)
    for _ in range(300):
        prior = rng.dirichlet(np.full(rng.integers(2, 7), rng.choice([0.3, 1.0, 5.0])))
        epsilon = rng.choice([0.0, rng.uniform(0, 4)])
        best = success_under_prior(epsilon, prior)
        assert best == pytest.approx(solve_program(epsilon, prior), abs=1e-6)
        if best > prior.max() + 1e-9:
            assert epsilon_under_prior(best, prior) == pytest.approx(epsilon, abs=1e-6)
        assert epsilon_under_prior(prior.max(), prior) == 0


def test_what_blind_guessing_reaches_proves_nothing_and_certainty_everything():
    assert epsilon_under_prior(0.7, [0.7, 0.3]) == 0
    assert epsilon_under_prior(1, [0.7, 0.3]) == math.inf
    assert success_under_prior(math.inf, [0.7, 0.3]) == 1


@pytest.mark.parametrize("prior", [[0.7, 0.2], [1.0], [], [1.2, -0.2]])
def test_a_prior_that_is_none_is_refused(prior):
    with pytest.raises(SpecError, match=r"prior"):
        success_under_prior(1.0, prior)


def rewrite_best(rng, prior, epsilon, records, among):
    """Return attributes and what randomised response among the most frequent so many says of them."""
    truth = rng.choice(len(prior), size=records, p=prior)
    keep = math.exp(epsilon) / (math.exp(epsilon) + among - 1)
    other = (truth + rng.integers(1, max(2, among), records)) % among
    said = np.where(rng.random(records) < keep, truth, other)
    said = np.where(truth < among, said, rng.integers(0, among, records))
    return [str(one) for one in truth], [str(one) for one in said]


EXACT = [  # a prior, an epsilon, and of how many classes randomised response is the best rewriter
    ((0.25, 0.25, 0.25, 0.25), 0.0, 4),
    ((0.7, 0.2, 0.1), 0.0, 1),
    ((0.34, 0.33, 0.33), 0.5, 3),
    ((0.46, 0.44, 0.1), 1.0, 2),
    ((0.4, 0.3, 0.2, 0.1), 2.0, 4),
]


@pytest.mark.parametrize(("prior", "epsilon", "among"), EXACT)
def test_bounds_and_gain_with_an_estimated_prior_are_too_high_no_more_often_than_stated(
    prior, epsilon, among
):
    assert success_under_prior(epsilon, prior) == pytest.approx(
        sum(prior[:among]) * math.exp(epsilon) / (math.exp(epsilon) + among - 1)
    )
    rng = np.random.default_rng(6)
    gain = success_under_prior(epsilon, prior) - prior[0]
    by_prior = by_table = by_gain = 0
    for run in range(2000):
        truth, said = rewrite_best(rng, prior, epsilon, 100, among)
        by_prior += population_epsilon(truth, said, 0.1) > epsilon
        by_table += attribute_epsilon(truth, said, 0.1) > epsilon
        if run < 400:
            by_gain += gain_interval(truth, said, 0.1)[0] > gain
    assert by_prior <= 100
    assert by_table <= 100
    assert by_gain <= 20


def test_a_prior_of_other_records_that_is_taken_for_known_raises_false_alarms():
    rng = np.random.default_rng(7)
    prior = np.array([0.5, 0.3, 0.2])
    alarms = 0
    for _ in range(2000):  # who always names the most frequent class: epsilon is 0
        right, others = rng.binomial(200, 0.5), rng.multinomial(200, prior) / 200
        alarms += epsilon_under_prior(clopper_pearson(right, 200, 0.1)[0], others) > 0
    assert 0.09 < alarms / 2000 < 0.15


def test_randomised_response_of_an_uneven_attribute_is_read_within_its_interval():
    rng, prior = np.random.default_rng(8), (0.5, 0.3, 0.15, 0.05)
    assert 1.85 < attribute_epsilon(*rewrite_best(rng, prior, 2.0, 30_000, 4)) < 2.0
    truth, said = rewrite_best(rng, prior, 2.0, 30_000, 3)  # the best rewriter for this prior
    assert 1.8 < population_epsilon(truth, said) < 2.0
    low, high = gain_interval(truth, said)
    gain = success_under_prior(2.0, prior) - 0.5
    assert gain - 0.02 < low < gain < high < gain + 0.02


def test_the_gain_is_over_the_best_blind_guess_and_not_over_the_one_that_was_expected():
    truth, said = ["a"] * 300 + ["b"] * 700, ["b"] * 1000
    assert gain_interval(truth, said, blind="a")[0] <= 0
    assert gain_interval(truth, said)[1] <= 0.02


def test_the_gain_from_pairs_of_guesses_is_not_below_that_from_separate_ends():
    truth, said = rewrite_best(np.random.default_rng(9), (0.6, 0.4), 2.0, 500, 2)
    right = sum(one == other for one, other in zip(truth, said, strict=True))
    separate = clopper_pearson(right, 500, 0.005)[0] - clopper_pearson(truth.count("0"), 500, 0.0025)[1]
    assert gain_interval(truth, said)[0] > separate
