"""The reading under the assumption of a Gaussian mechanism."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from tedaudit.errors import SpecError
from tedaudit.estimators.gdp import find_delta, find_epsilon, find_mu, read_as_gaussian


def test_the_reading_of_a_success_rate_of_a_one_sigma_shift():
    reading = read_as_gaussian(8413, 10_000, delta=1e-5)
    assert reading.epsilon == pytest.approx(9.52, abs=0.005)
    assert "if the mechanism is Gaussian" in reading.assumption
    assert reading.error == 0.005


@pytest.mark.parametrize(("mu", "epsilon"), [(0.5, 0.3), (1.0, 1.0), (2.0, 4.57), (3.0, 0.0)])
def test_delta_is_the_integral_of_what_exceeds_e_to_the_epsilon(mu, epsilon):
    def excess(x):
        return max(0.0, norm.pdf(x, mu) - math.exp(epsilon) * norm.pdf(x))

    start = epsilon / mu + mu / 2
    assert find_delta(mu, epsilon) == pytest.approx(quad(excess, start, start + 40)[0], rel=1e-7)


@pytest.mark.parametrize(("delta", "epsilon"), [(0.05, 4.57), (0.01, 6.00), (1e-3, 7.58)])
def test_known_epsilons_of_mu_2(delta, epsilon):
    assert find_epsilon(2.0, delta) == pytest.approx(epsilon, abs=0.005)
    assert find_delta(2.0, find_epsilon(2.0, delta)) == pytest.approx(delta, rel=1e-9)


def test_an_attack_on_a_gaussian_latent_reads_at_most_its_mu():
    """The best attack on two texts at distance mu; the reading may exceed the truth in .005 of runs."""
    rng, mu, trials = np.random.default_rng(7), 1.5, 400
    rights = rng.binomial(trials, norm.cdf(mu / 2), size=2000)
    above = sum(read_as_gaussian(int(right), trials).mu > mu for right in rights)
    assert above <= 20  # 10 are expected at most; more than 20 has probability .002


def test_with_more_candidates_the_reading_holds_for_the_best_attack():
    """Of k equidistant texts the nearest is named: a share r right, and w wrong over k - 1 others."""
    mu, k, rng = 2.0, 4, np.random.default_rng(3)
    noise = rng.standard_normal((200_000, k))
    noise[:, 0] += mu / math.sqrt(2)  # distance mu between any two
    right = float((noise.argmax(axis=1) == 0).mean())
    assert find_mu(right, (1 - right) / (k - 1)) <= mu + 0.01


def test_no_more_than_chance_reads_zero_and_certainty_is_infinite():
    assert read_as_gaussian(50, 100).epsilon == 0.0
    assert find_mu(1.0, 0.0) == math.inf
    assert find_epsilon(math.inf, 1e-5) == math.inf
    with pytest.raises(SpecError, match="no finite epsilon at delta 0"):
        read_as_gaussian(90, 100, delta=0.0)
