"""What an estimator returns, and the step from a success rate to epsilon and back.

With a uniform secret among k candidates, a mechanism that is (epsilon, delta)-LDP holds every
attack to (k - 1) (p - delta) <= e^epsilon (1 - p), where p is the probability of naming the secret
(the reduced form of the TeDA paper). Solved for epsilon, a success rate becomes a lower bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, ClassVar, Literal

from tedaudit.errors import SpecError
from tedaudit.text.plain_data import Count, PlainData, Share, Unbounded

Method = Literal["reduced form", "baseline", "sequential"]
Interval = Callable[[int, int, float], tuple[float, float]]

# Far beyond any audit, and still so small that doubles tell 1 - p from 0 and logarithms of
# likelihoods keep six decimals.
MOST_TRIALS = 10**9
_ROUNDING = 5e-7  # of an epsilon, at so many trials


@dataclass(frozen=True, slots=True)
class Bound(PlainData):
    """What an attack proved about epsilon, with everything needed to read the number.

    Only `lower` and `ceiling` speak of the mechanism: no attack proves privacy. `point` and
    `upper` describe this attack's success and are infinite if it was never wrong.
    """

    lower: float
    """The mechanism's epsilon is at least this, up to `error`: eps_emp, in a run. Never negative."""
    point: Unbounded
    """Epsilon at the observed success rate of this attack; infinite if it was never wrong."""
    upper: Unbounded
    """Epsilon at the upper end of this attack's success rate; may be infinite."""
    ceiling: float
    """What `lower` would have been had every guess been right."""
    error: float
    """One-sided probability that `lower` is above the truth."""
    success: Share
    """Share of right guesses; balanced accuracy for the baseline."""
    success_low: Share
    """Lower end of the success rate."""
    success_high: Share
    """Upper end of the success rate."""
    trials: Count
    """How many trials it is from."""
    guesses: Count
    """One per trial; two for the baseline, which rewrites both candidates."""
    correct: Count
    """Right guesses, out of `guesses`."""
    candidates: Annotated[int, {"ge": 2}]
    """Candidates per trial."""
    delta: float
    """The delta at which epsilon is bounded."""
    method: Method
    """The estimator's formula."""
    any_time: bool = False
    """Whether the bound holds at every look, so that the number of trials need not be fixed beforehand."""
    in_json: ClassVar[str] = "*, leakage, leakage_low"

    @property
    def is_at_ceiling(self) -> bool:
        """Whether `lower` is as large as these trials could show, so that more of them could show more."""
        return self.lower >= self.ceiling - _ROUNDING

    @property
    def leakage(self) -> float:
        """Multiplicative Bayes leakage under the uniform prior: how many times better than blind guessing."""
        return self.candidates * self.success

    @property
    def leakage_low(self) -> float:
        """Lower end of the leakage; its error is that of `success_low`, which is `error`."""
        return self.candidates * self.success_low


def epsilon_from_success(success: float, candidates: int = 2, delta: float = 0.0) -> float:
    """Return max(0, ln((k - 1) (p - delta) / (1 - p))): 0 if p <= delta, infinite at p = 1."""
    success = check_share("success", success)
    candidates, delta = check_candidates(candidates), check_delta(delta)
    if success <= delta:
        return 0.0
    if success == 1:
        return math.inf
    return max(0.0, math.log((candidates - 1) * (success - delta) / (1 - success)))


def success_from_epsilon(epsilon: float, candidates: int = 2, delta: float = 0.0) -> float:
    """Return the success rate that corresponds to epsilon, as for the second axis of a figure.

    It is also the largest success rate that any attack can have against an (epsilon, delta)-LDP
    mechanism, and the inverse of `epsilon_from_success` above epsilon = 0.
    """
    candidates, delta = check_candidates(candidates), check_delta(delta)
    if not isinstance(epsilon, Real) or not epsilon >= 0:
        raise SpecError(f"epsilon is {epsilon!r}; it must be 0 or larger (infinity is allowed).")
    others = (candidates - 1) * math.exp(-epsilon)  # e^-epsilon and not e^epsilon: that one overflows
    return (1 + others * delta) / (1 + others)


def bound_from_interval(
    method: Method, interval: Interval, counts: tuple[int, int], candidates: int, alpha: float, delta: float
) -> Bound:
    """Return the bound that an interval for the success rate gives; counts are (correct, trials)."""
    correct, trials = check_counts("correct", *counts)
    candidates, delta = check_candidates(candidates), check_delta(delta)
    alpha = check_alpha(alpha)
    low, high = interval(correct, trials, alpha)
    all_correct_low, _ = interval(trials, trials, alpha)
    return Bound(
        lower=epsilon_from_success(low, candidates, delta),
        point=epsilon_from_success(correct / trials, candidates, delta),
        upper=epsilon_from_success(high, candidates, delta),
        ceiling=epsilon_from_success(all_correct_low, candidates, delta),
        error=alpha / 2,
        success=correct / trials,
        success_low=low,
        success_high=high,
        trials=trials,
        guesses=trials,
        correct=correct,
        candidates=candidates,
        delta=delta,
        method=method,
        any_time=method == "sequential",
    )


def check_counts(name: str, count: int, trials: int) -> tuple[int, int]:
    """Return a count and its number of trials as plain integers, or say what is wrong with them."""
    if not isinstance(trials, Integral) or not 1 <= trials <= MOST_TRIALS:
        raise SpecError(f"trials is {trials!r}; it must be an integer from 1 to {MOST_TRIALS}.")
    if not isinstance(count, Integral) or not 0 <= count <= trials:
        raise SpecError(
            f"{name} is {count!r}; it must be an integer from 0 to {int(trials)}, the number of trials."
        )
    return int(count), int(trials)


def check_candidates(candidates: int) -> int:
    """Return the number of candidates as a plain integer, or say what is wrong with it."""
    if not isinstance(candidates, Integral) or candidates < 2:
        raise SpecError(f"candidates is {candidates!r}; it must be an integer of at least 2.")
    return int(candidates)


def check_alpha(alpha: float) -> float:
    """Return alpha as a plain float, or say what is wrong with it."""
    if not isinstance(alpha, Real) or not 0 < alpha < 1:
        raise SpecError(f"alpha is {alpha!r}; it must be above 0 and below 1, as in 0.01.")
    return float(alpha)


def check_delta(delta: float) -> float:
    """Return delta as a plain float, or say what is wrong with it."""
    if not isinstance(delta, Real) or not 0 <= delta < 1:
        raise SpecError(f"delta is {delta!r}; it must be at least 0 and below 1, as in 1e-5.")
    return float(delta)


def check_share(name: str, share: float) -> float:
    """Return a share as a plain float, or say what is wrong with it."""
    if not isinstance(share, Real) or not 0 <= share <= 1:
        raise SpecError(f"{name} is {share!r}; it must be between 0 and 1.")
    return float(share)
