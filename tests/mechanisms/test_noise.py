"""Noise is calibrated exactly, and what a formula really guarantees is recomputed exactly."""

import math

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.mechanisms._noise import clip_norm, log_delta, sigma_for, true_epsilon


def _exact_delta(mpmath, sensitivity: float, sigma, epsilon: float):
    """Delta of Gaussian noise by Balle and Wang's formula, in 60 digits; erfc keeps the tails."""
    mu = mpmath.mpf(sensitivity) / sigma

    def phi(x):
        return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

    return phi(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-3, 1e-12), (1e4, 1e-12), (1e4, 1e-2)])
def test_the_analytic_scale_is_right_to_a_millionth(epsilon, delta):
    mpmath = pytest.importorskip("mpmath")
    sensitivity = 2.4
    sigma = sigma_for("analytic_gaussian", sensitivity, epsilon, delta)
    with mpmath.workdps(60):
        below = _exact_delta(mpmath, sensitivity, mpmath.mpf(sigma) * (1 - mpmath.mpf("1e-6")), epsilon)
        above = _exact_delta(mpmath, sensitivity, mpmath.mpf(sigma) * (1 + mpmath.mpf("1e-6")), epsilon)
    assert above < delta < below


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.2), (1e4, 130.0), (1e4, 150.0)])
def test_log_delta_agrees_with_high_precision(epsilon, mu):
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        exact = float(mpmath.log(_exact_delta(mpmath, mu, 1, epsilon)))
    assert log_delta(mu, epsilon) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize(("nominal", "real"), [(50, 96), (2500, 135336)])
def test_the_classical_formula_promises_more_than_it_keeps(nominal, real):
    sigma = sigma_for("gaussian", 1.0, nominal, 1e-5)
    assert round(true_epsilon(1.0, sigma, 1e-5)) == real


def test_the_classical_formula_keeps_its_promise_below_one():
    assert true_epsilon(1.0, sigma_for("gaussian", 1.0, 0.99, 1e-5), 1e-5) <= 0.99


@pytest.mark.parametrize("noise", ["gaussian", "analytic_gaussian"])
def test_noise_grows_where_epsilon_or_delta_shrink(noise):
    epsilons, deltas = [1e-3, 0.1, 1.0, 10.0, 1e3, 1e4], [1e-12, 1e-9, 1e-5, 1e-2]
    scales = np.array([[sigma_for(noise, 1.0, epsilon, delta) for delta in deltas] for epsilon in epsilons])
    assert (np.diff(scales, axis=0) < 0).all()
    assert (np.diff(scales, axis=1) < 0).all()


@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 1e4])
def test_the_analytic_scale_gives_back_its_epsilon(epsilon):
    sigma = sigma_for("analytic_gaussian", 7.0, epsilon, 1e-5)
    assert true_epsilon(7.0, sigma, 1e-5) == pytest.approx(epsilon, rel=1e-6)


def test_noise_that_hides_everything_has_an_epsilon_of_zero():
    assert true_epsilon(1e-9, 1.0, 1e-5) == 0.0
    assert log_delta(1e-20, 0.0) == -math.inf  # so small that both terms are the same number


def test_the_signal_to_noise_ratio_of_dp_bart_follows_from_the_classical_formula():
    numbers = 20 * 165
    sigma = sigma_for("gaussian", 2 * 0.1 * math.sqrt(numbers), 1000, 1e-6)
    assert 5.7 / (sigma * math.sqrt(numbers)) == pytest.approx(1.63, abs=0.005)


def test_laplace_noise_reaches_its_epsilon_and_never_exceeds_it():
    epsilon = 4.0
    scale = sigma_for("laplace", 3.0, epsilon, 0.0)
    outputs = np.linspace(-5, 8, 2601)
    ratios = (np.abs(outputs - 3.0) - np.abs(outputs)) / scale  # of the log densities around 0 and 3
    assert np.abs(ratios).max() == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, math.inf, math.nan])
def test_an_epsilon_without_noise_is_refused(epsilon):
    for noise in ("gaussian", "analytic_gaussian", "laplace"):
        with pytest.raises(SpecError, match="above 0 and finite"):
            sigma_for(noise, 1.0, epsilon, 1e-5)


@pytest.mark.parametrize("delta", [-0.1, 0.0, 1.0])
def test_gaussian_noise_needs_a_delta(delta):
    for noise in ("gaussian", "analytic_gaussian"):
        with pytest.raises(SpecError, match="delta above 0 and below 1"):
            sigma_for(noise, 1.0, 1.0, delta)


def test_clipping_scales_long_vectors_and_leaves_short_ones():
    vectors = np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]])
    with np.errstate(all="raise"):
        clipped = clip_norm(vectors, 1.0)
    assert clipped[0] == pytest.approx([0.6, 0.8])
    assert np.array_equal(clipped[1:], vectors[1:])
