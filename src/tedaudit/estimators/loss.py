"""What the privacy loss of many trials says: delta at every epsilon, and epsilon at a delta, with both ends.

For an output y of text v, and another candidate w, the loss is L = ln p(y|v) - ln p(y|w). Over the pairs of a
plan, and with either text as the source, delta(eps) = E[(1 - e^(eps - L))_+], which is the integral of
e^(eps - t) P(L > t) over t > eps; and eps_avg(d) is the least eps at which delta(eps) <= d. On average over
these pairs no adversary's right guesses exceed e^eps times its wrong ones by more than delta(eps). Of single
pairs it says nothing. It is no mean loss: delta(eps) <= P(L > eps), so that, unless eps_avg(d) is 0, at least
a share d of all outputs lose more than that; if losses differ by hundreds hardly more than that share do.

An output without a likelihood, such as a failed rewrite, may tell anything, since whether a rewrite fails may
depend on its text. Points and lower ends are as if it told nothing, which is so if all texts fail alike.
Upper ends are as if it told its source; beside each stands that of all other outputs.

P(L > t) is bounded by order statistics: of T losses, P(L > the (j+1)-th largest) is at most a quantile of
Beta(j + 1, T - j), whatever the law of L, and P(L >= the j-th largest) at least one of Beta(j, T - j + 1).
Numbers j are 0, 1, 2, 4 and so on; they share the error of an end. Beyond the largest loss nothing is known
but its probability, so a small delta may have no upper end: `trials_for_upper` says how many trials give one.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators.gdp import find_epsilon
from tedaudit.plugins.values import Floats
from tedaudit.text.plain_data import NULL, Count, PlainData, Unbounded, pick

DELTAS = (0.05, 0.01, 0.001)
_HALVINGS = 60  # of an interval: as fine as a number of 64 bits


@dataclass(frozen=True, slots=True)
class EpsilonAt:
    """The epsilon of a sample of losses at one delta, and its ends, each with the error of the sample."""

    delta: float
    """The delta at which epsilon is told."""
    point: Unbounded
    """The least epsilon that holds there, on average over the pairs; null if infinite or refuted."""
    lower: Unbounded
    """Its lower end; null if infinite or refuted."""
    upper: Unbounded
    """Its upper end whatever unknown losses are, infinite if the trials have none; null if so or refuted."""
    upper_known: Unbounded
    """Its upper end if outputs of unknown loss, such as failures, tell nothing; null as the one before."""


@dataclass(frozen=True)
class LossSample:
    """The losses of independent trials; `error` is that of each end of everything that is said of them.

    Of some trials, such as failed rewrites, the loss may be `unknown`: upper ends take it for infinite,
    points and lower ends for nothing. Mean and quantiles are of the others.
    """

    losses: Floats
    """The losses that are known."""
    error: float
    """One-sided error of each end."""
    unknown: Count = 0
    """Trials without a likelihood, such as failed rewrites: they may tell anything."""

    def __post_init__(self) -> None:
        if not len(self.losses):  # nothing to draw a curve from, whatever is unknown
            raise SpecError("There is no loss: no trial has a likelihood.")
        if np.isnan(self.losses).any():
            raise SpecError("A loss is not a number: a likelihood was not.")
        if not 0 < self.error < 1:
            raise SpecError(f"error is {self.error}; it must lie between 0 and 1.")

    @property
    def trials(self) -> Count:
        """How many trials there are, with those of which the loss is unknown."""
        return len(self.losses) + self.unknown

    @property
    def mean(self) -> Unbounded:
        """The mean loss; infinite if an output was impossible for the other text; null if so, or refuted."""
        return math.inf if (self.losses == math.inf).any() else float(self.losses.mean())

    def quantile(self, share: float) -> float:
        """Return the smallest loss that at least this share of trials does not exceed."""
        known = len(self.losses)
        rank = max(1, math.ceil(share * known - 1e-9))
        return float(self._falling[known - rank])

    def delta(self, epsilon: float) -> float:
        """Return delta at an epsilon as these trials have it, if those of unknown loss tell nothing."""
        return float(-np.expm1(np.minimum(0.0, epsilon - self.losses)).sum()) / self.trials

    def delta_upper(self, epsilon: float) -> float:
        """Return the upper end of delta at an epsilon, whatever unknown losses are."""
        return self._upper.integrate(epsilon)

    def delta_lower(self, epsilon: float) -> float:
        """Return the lower end of delta at an epsilon."""
        return self._lower.integrate(epsilon)

    def epsilon_at(self, delta: float) -> EpsilonAt:
        """Return the epsilon at a delta, with both ends."""
        if not 0 < delta < 1:
            raise SpecError(f"delta is {delta}; it must lie between 0 and 1.")
        ends = self.epsilon_lower(delta), self.epsilon_upper(delta), self.epsilon_upper_known(delta)
        return EpsilonAt(delta, self._solve(self.delta, delta), *ends)

    def epsilon_upper(self, delta: float) -> float:
        """Return the upper end of epsilon at a delta alone, which takes no pass over all losses."""
        return self._solve(self.delta_upper, delta)

    def epsilon_upper_known(self, delta: float) -> float:
        """Return the same if outputs of unknown loss tell nothing."""
        if not self.unknown:
            return self.epsilon_upper(delta)
        return self._solve(self._make_upper(-math.inf).integrate, delta)

    def epsilon_lower(self, delta: float) -> float:
        """Return the lower end of epsilon at a delta alone."""
        return self._solve(self.delta_lower, delta)

    def trials_for_upper(self, delta: float) -> int:
        """Return the least trials with which the upper end at a delta can be finite."""
        low, high = 0, 1
        while _tail_bound(high, self.error) > delta:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if _tail_bound(middle, self.error) > delta else (low, middle)
        return high

    def _solve(self, curve: Callable[[float], float], delta: float) -> float:
        """Return the least epsilon from 0 on at which a falling curve is at most delta; infinite if none is.

        Beyond the largest finite loss no curve falls any more.
        """
        low, high = 0.0, max(1.0, float(np.max(self._falling, initial=0.0, where=np.isfinite(self._falling))))
        if curve(low) <= delta:
            return low
        if curve(high) > delta:
            return math.inf
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if curve(middle) > delta else (low, middle)
        return high

    @cached_property
    def _falling(self) -> Floats:
        return np.sort(np.asarray(self.losses, dtype=np.float64))[::-1]

    @cached_property
    def _upper(self) -> "_Steps":
        return self._make_upper(math.inf)

    def _make_upper(self, unknown: float) -> "_Steps":
        """Return the upper ends of how many losses are larger, with one loss in the place of all unknown."""
        from scipy.special import betaincinv

        over = _list_counts(self.trials)
        bounds = betaincinv(over + 1, self.trials - over, 1 - self.error / len(over))
        parts = [np.full(self.unknown, unknown), self._falling]
        largest = np.concatenate(parts if unknown > 0 else parts[::-1])
        return _Steps(largest[over], np.append(bounds, 1.0))

    @cached_property
    def _lower(self) -> "_Steps":
        counts, bounds = _bound_tails(self.trials, self.error)
        least = np.append(self._falling, np.full(self.unknown, -math.inf))
        return _Steps(least[counts - 1], np.append(0.0, bounds))


@dataclass(frozen=True)
class _Steps:
    """A falling function in steps: `values[0]` from edge 0 up, `values[i]` from edge i to edge i - 1."""

    edges: Floats
    values: Floats

    def integrate(self, epsilon: float) -> float:
        """Return the integral of e^(epsilon - t) times the steps over t > epsilon."""
        low = np.maximum(np.append(self.edges, -math.inf), epsilon)
        high = np.maximum(np.append(math.inf, self.edges), epsilon)
        return float(self.values @ (np.exp(epsilon - low) - np.exp(epsilon - high)))


def _list_counts(trials: int) -> np.ndarray:
    """Return 0 and the powers of 2 below the number of trials."""
    powers = [2**i for i in range(max(1, trials - 1).bit_length())]
    return np.array([0, *(power for power in powers if power < trials)])


def can_show(trials: int, delta: float, error: float) -> bool:
    """Return whether so many losses could have a lower end above 0 at a delta: if all were infinite."""
    return trials > 0 and bool(_bound_tails(trials, error)[1].max() > delta)


def _bound_tails(trials: int, error: float) -> tuple[np.ndarray, Floats]:
    """Return numbers of losses, and how probable one as large as the smallest of so many is at the least."""
    from scipy.special import betaincinv

    counts = _list_counts(trials)[1:] if trials > 1 else np.array([1])
    return counts, np.asarray(betaincinv(counts, trials - counts + 1, error / len(counts)))


def _tail_bound(trials: int, error: float) -> float:
    """Return the upper end of the probability of a loss above the largest one."""
    return -math.expm1(math.log(error / len(_list_counts(trials))) / trials)


# --- The most that any output can lose between two texts of a sample of pairs: no average, and no chance in
# it.
#
# For independent draws the largest losses add up, so that a pair has an exact supremum, at every delta.
# Gaussian noise has none: its loss is normal with mean mu^2 / 2 and variance mu^2, and epsilon follows from
# mu at every delta above 0 (`gdp`). It is exact for the pairs that were looked at, and says nothing of
# others.


@dataclass(frozen=True, slots=True)
class Supremum(PlainData):
    """The largest loss of any output for the worst pair, and for Gaussian noise its mu."""

    largest: Unbounded
    """The largest loss of any output at delta 0; infinite for Gaussian noise, or if one text forbids it."""
    mu: Annotated[float, NULL]
    """Of the Gaussian pair that lies farthest apart; 0 if there is none, which is null in JSON."""
    row: Count
    """Of the pair that decides, among the rows that were given."""

    @property
    def is_gaussian(self) -> bool:
        """Whether epsilon depends on delta, because the noise is Gaussian."""
        return self.mu > 0

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the worst pair at a delta; infinite if no output is possible for both."""
        if self.is_gaussian and delta > 0:
            return max(find_epsilon(self.mu, delta), 0.0)
        return self.largest

    def to_dict(self) -> dict[str, Any]:
        """Return the figures safe for JSON; an infinite number is None, and so is mu if there is no noise."""
        return pick(self) | {"mu": self.mu or None}


def find_supremum(largest: Floats, mu: Floats) -> Supremum | None:
    """Return the supremum over pairs with these largest losses and mus; None if some pair has neither.

    A pair whose outputs never coincide beats every Gaussian one.
    """
    known = ~np.isnan(largest)
    if not len(largest) or not known.all():
        return None
    gaussian = ~np.isnan(mu)
    apart = np.isinf(largest) & ~gaussian
    if apart.any():
        return Supremum(math.inf, 0.0, int(apart.argmax()))
    if gaussian.any():
        row = int(np.nanargmax(mu))
        return Supremum(float(largest[row]), float(mu[row]), row)
    row = int(largest.argmax())
    return Supremum(float(largest[row]), 0.0, row)
