"""How alike two rankings are, and how much of that the trials can tell.

A ranking orders things by epsilons that were measured, so its order is partly noise. Two answers:

- `compare_orders` holds at every sample size. Each thing has an interval; two things are told apart if
  theirs do not overlap. Pairs that both settings tell apart are in the same order or not; of the others
  nothing is said, so Kendall's tau lies between the value with all of them reversed and with all kept.
- `redraw_tau` is a parametric bootstrap, and approximate: every count is drawn again from its binomial, and
  tau is computed from what was drawn. It takes the settings to be independent and adds noise to noise, so
  that its tau tends to be smaller than the true one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from tedaudit.estimators.paired import rank_agreement, smoothed_success
from tedaudit.estimators.protocol import Counts

Ends = tuple[float, float]
Measure = Callable[[Counts], float]
"""Turns counts into the epsilon that things are ranked by."""


@dataclass(frozen=True, slots=True)
class Orders:
    """Pairs of things by what two settings say of their order; `untold` if one of them cannot tell."""

    same: int
    opposite: int
    untold: int

    @property
    def pairs(self) -> int:
        """All pairs."""
        return self.same + self.opposite + self.untold

    @property
    def tau_range(self) -> Ends:
        """The least and the largest tau (Kendall's tau-a of the true order) that is possible."""
        known = self.same - self.opposite
        return (known - self.untold) / self.pairs, (known + self.untold) / self.pairs


def tell_order(first: Ends, second: Ends) -> int:
    """Return 1 if the second is larger by these intervals, -1 if it is smaller, 0 if they overlap."""
    return int(second[0] > first[1]) - int(second[1] < first[0])


def compare_orders(first: Sequence[Ends], second: Sequence[Ends]) -> Orders:
    """Count the pairs that two settings order alike, from an interval of each thing in each setting.

    Wrong only if an interval misses its value: give each 1 / (2 n) of the error for n things.
    """
    signs = [
        tell_order(first[i], first[j]) * tell_order(second[i], second[j])
        for i, j in combinations(range(len(first)), 2)
    ]
    return Orders(signs.count(1), signs.count(-1), signs.count(0))


@dataclass(frozen=True, slots=True)
class TauSpread:
    """Kendall's tau over redrawn counts: its mean and the range that has most of it."""

    mean: float
    low: float
    high: float


def redraw_tau(
    first: Sequence[tuple[Counts, Measure]],
    second: Sequence[tuple[Counts, Measure]],
    random: np.random.Generator,
    draws: int = 400,
    level: float = 0.95,
) -> TauSpread | None:
    """Return the mean of tau and its range over redrawn counts; None if a draw in two ranks nothing."""
    columns = [
        [_redraw(counts, measure, random, draws) for counts, measure in side] for side in (first, second)
    ]
    found = [rank_agreement(left, right) for left, right in zip(*map(_transpose, columns), strict=True)]
    taus = [tau for tau in found if tau is not None]
    if len(taus) < draws / 2:
        return None
    low, high = np.quantile(taus, [(1 - level) / 2, (1 + level) / 2])
    return TauSpread(float(np.mean(taus)), float(low), float(high))


def _redraw(counts: Counts, measure: Measure, random: np.random.Generator, draws: int) -> list[float]:
    """Return epsilons at counts drawn anew.

    Half a trial is added to each outcome, so that a side varies although it was never wrong.
    """
    rates = smoothed_success(counts.right, counts.trials)
    drawn = random.binomial(counts.trials, rates, size=(draws, len(rates))).tolist()
    distinct = {row: measure(replace(counts, right=row)) for row in {tuple(row) for row in drawn}}
    return [distinct[tuple(row)] for row in drawn]


def _transpose(columns: Sequence[Sequence[float]]) -> list[tuple[float, ...]]:
    return list(zip(*columns, strict=True))
