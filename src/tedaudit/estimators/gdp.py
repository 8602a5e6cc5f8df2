"""What a success rate says if the mechanism is Gaussian: a reading under an assumption, no bound without it.

A mechanism is mu-GDP if telling two texts apart is never easier than telling N(0, 1) from N(mu, 1) (Dong,
Roth and Su 2022, "Gaussian differential privacy"). For any trade-off function f and any k, an attack that may
abstain has r <= 1 - f(w / (k - 1)), with r and w the shares of right and wrong guesses among all trials. If f
is Gaussian, that is mu >= Phi^-1(r) - Phi^-1(w / (k - 1)): exact at k = 2, loose above. Then eps(delta)
follows in closed form (Balle and Wang 2018, "Improving the Gaussian mechanism for differential privacy"):

    delta(eps) = Phi(mu / 2 - eps / mu) - e^eps Phi(-mu / 2 - eps / mu)

Randomised response is not Gaussian: with an epsilon of 1.6 it reads 9.5 at delta = 1e-5. So no verdict on a
claim uses this reading.
"""

import math
from dataclasses import dataclass

from tedaudit.errors import SpecError
from tedaudit.estimators.bound import check_alpha, check_candidates, check_counts, check_delta
from tedaudit.estimators.intervals import clopper_pearson

ASSUMPTION = "if the mechanism is Gaussian (mu-GDP); no bound otherwise"


@dataclass(frozen=True, slots=True)
class GaussianReading:
    """The least mu that the guesses allow, and its epsilon at a delta, both under the assumption."""

    mu: float
    """The least mu that the guesses allow, if the mechanism is Gaussian."""
    epsilon: float
    """The epsilon of that mu, at the delta."""
    delta: float
    """The delta of that epsilon."""
    error: float
    """One-sided error of both."""
    assumption: str = ASSUMPTION
    """What is assumed."""


def read_as_gaussian(
    correct: int, trials: int, candidates: int = 2, alpha: float = 0.01, delta: float = 1e-5
) -> GaussianReading:
    """Return the reading of a number of right guesses; every trial has a guess, so one interval is enough."""
    correct, trials = check_counts("correct", correct, trials)
    candidates, alpha, delta = check_candidates(candidates), check_alpha(alpha), check_delta(delta)
    if delta == 0:
        raise SpecError(
            "A Gaussian mechanism has no finite epsilon at delta 0: give one above 0, such as 1e-5."
        )
    low, _ = clopper_pearson(correct, trials, alpha)
    mu = find_mu(low, (1 - low) / (candidates - 1))
    return GaussianReading(mu=mu, epsilon=find_epsilon(mu, delta), delta=delta, error=alpha / 2)


def find_mu(right: float, wrong: float) -> float:
    """Return the least mu at which these shares of right guesses, and wrong ones per candidate, can occur."""
    from scipy.special import ndtri

    if right <= wrong:
        return 0.0
    return float(ndtri(right) - ndtri(wrong))


def find_delta(mu: float, epsilon: float) -> float:
    """Return the delta of a mu-GDP mechanism at an epsilon."""
    from scipy.special import log_ndtr, ndtr

    if mu == 0:
        return 0.0
    tail = math.exp(epsilon + float(log_ndtr(-mu / 2 - epsilon / mu)))
    return max(0.0, float(ndtr(mu / 2 - epsilon / mu)) - tail)


def find_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of a mu-GDP mechanism at a delta above 0: infinite if mu is."""
    if math.isinf(mu):
        return math.inf
    if find_delta(mu, 0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while find_delta(mu, high) > delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if find_delta(mu, middle) > delta else (low, middle)
    return high
