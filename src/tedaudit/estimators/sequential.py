"""The reduced form for runs that are looked at early, stopped on a result or extended.

A confidence sequence: its bound holds at all numbers of trials at once (Robbins 1970, "Statistical
methods related to the law of the iterated logarithm", for mixtures of likelihood ratios; Ville 1939
for the inequality; Howard et al. 2021, "Time-uniform, nonparametric, nonasymptotic confidence
sequences", for the present view). With s right and f wrong guesses, the evidence against "no trial
succeeds with a probability above p0" is the likelihood ratio averaged over all larger rates:

    M = 1 / (1 - p0) * Integral_p0^1 theta^s (1 - theta)^f dtheta / (p0^s (1 - p0)^f)

Why it is a supermartingale: for one theta, a trial that succeeds with conditional probability q
multiplies the ratio, on average, by q theta / p0 + (1 - q) (1 - theta) / (1 - p0)
= 1 + (q - p0) (theta - p0) / (p0 (1 - p0)). With q <= p0 <= theta this is at most 1, whatever q is in
other trials: they need be neither alike nor independent. An average over theta keeps the property.
M starts at 1, so by Ville's inequality it ever reaches 2 / alpha with probability at most alpha / 2.

Why it falls in p0: put theta = p0 + v (1 - p0), and M is the mean over v, uniform on (0, 1), of
(1 - v + v / p0)^s (1 - v)^f, each of which falls. So the rates that are not rejected form an interval
that reaches up to 1, and the lower bound is its lower end.
"""

import math

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.estimators.bound import Bound, bound_from_interval, check_share
from tedaudit.estimators.intervals import lowest_kept

Floats = npt.NDArray[np.float64]


def sequential(
    correct: int, trials: int, candidates: int = 2, alpha: float = 0.01, delta: float = 0.0
) -> Bound:
    """Return a bound that may be looked at after every trial, with stopping or going on as one likes.

    The probability that `lower` is *ever* above the truth is at most alpha / 2; hence the largest
    `lower` of several looks at one run is a bound too, with the same error. `upper` comes from the
    mirrored sequence. As in the reduced form the trials need not be alike; only their order must
    not depend on the secrets.
    """
    return bound_from_interval("sequential", confidence_sequence, (correct, trials), candidates, alpha, delta)


def log_evidence(correct: npt.ArrayLike, trials: npt.ArrayLike, success: float) -> Floats:
    """Return ln M, the evidence that trials succeed more often than with probability `success` = p0.

    The integral is the beta function B(s + 1, f + 1) times the mass of that beta distribution
    above p0. Where the mass is too small for a double the answer is minus infinity; that happens
    only for p0 far above s / (s + f), where M < 1 and nothing is rejected.
    """
    from scipy.special import betaincc, betaln, xlog1py, xlogy

    if not 0 < check_share("success", success) < 1:
        raise SpecError(f"success is {success!r}; it must be above 0 and below 1.")
    right, total = np.asarray(correct, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    wrong = total - right
    if not (np.all(right >= 0) and np.all(wrong >= 0)):
        raise SpecError(f"correct is {correct!r} of trials {trials!r}; it must be between 0 and trials.")
    with np.errstate(divide="ignore"):
        above = np.log(betaincc(right + 1, wrong + 1, success))
    ratio = betaln(right + 1, wrong + 1) - xlogy(right, success) - xlog1py(wrong + 1, -success)
    return np.asarray(above + ratio, dtype=np.float64)


def confidence_sequence(correct: int, trials: int, alpha: float = 0.01) -> tuple[float, float]:
    """Return both ends of the sequence at this number of trials, alpha / 2 to each."""
    return _lower_end(correct, trials, alpha), 1 - _lower_end(trials - correct, trials, alpha)


def any_time_p(correct: int, trials: int, success: float) -> float:
    """Return 1 / M, at most 1: with what probability the evidence against `success` ever gets so large."""
    if success >= 1 or correct == 0:
        return 1.0
    if success <= 0:
        return 0.0
    return math.exp(-max(0.0, float(log_evidence(correct, trials, success))))


def _lower_end(correct: int, trials: int, alpha: float) -> float:
    """Return the smallest success rate that is not rejected.

    The search starts between

    - a rate that is surely rejected: (1 - v + v / p0)^s >= v / p0 gives M >= 1 / (p0 (f + 1) (f + 2));
    - a rate that surely is not: s / T, since no larger one is likelier and so M <= 1, or, if
      all T were right, T / (T + 1), since M is (1 + 1 / T)^T - T / (T + 1) there: below 2.
    """
    if correct == 0:
        return 0.0
    wrong = trials - correct
    threshold = math.log(2) - math.log(alpha)
    return lowest_kept(
        lambda rate: bool(log_evidence(correct, trials, rate) >= threshold),
        -threshold - math.log(wrong + 1) - math.log(wrong + 2),
        math.log(correct / max(wrong, 1)),
    )
