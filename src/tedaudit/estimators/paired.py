"""Differences between two attacks, mechanisms or runs that met the same trials.

On the same trials the outcomes go together, so only the trials in which one side was right and the
other wrong, the discordant ones, say which is better (McNemar 1947). Sides of different trials are
compared too, by intervals that hold however the two depend on each other. A difference is always
the second side minus the first; that of epsilons follows below.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.estimators.bound import (
    Interval,
    check_alpha,
    check_counts,
    epsilon_from_success,
    success_from_epsilon,
)
from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.multiplicity import least_trials
from tedaudit.estimators.sequential import log_evidence

_TO_ORDER, _TO_NUMBER = 0.8, 0.1  # shares of alpha: 0.8 / 2 + 0.1 makes alpha / 2 at either end


@dataclass(frozen=True, slots=True)
class PairedCounts:
    """How often both sides, only one of them, or neither was right."""

    both: int
    first_only: int
    second_only: int
    neither: int

    @property
    def trials(self) -> int:
        """All trials."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def discordant(self) -> int:
        """Trials in which one side was right and the other wrong."""
        return self.first_only + self.second_only


def paired_counts(first: npt.ArrayLike, second: npt.ArrayLike) -> PairedCounts:
    """Count trials by who was right; both arrays say it trial by trial."""
    left, right = np.asarray(first, dtype=np.bool_), np.asarray(second, dtype=np.bool_)
    if left.shape != right.shape or left.ndim != 1:
        raise SpecError(f"Outcomes of shape {left.shape} and {right.shape} are not of the same trials.")
    both, either = int((left & right).sum()), int((left | right).sum())
    return PairedCounts(
        both=both,
        first_only=int(left.sum()) - both,
        second_only=int(right.sum()) - both,
        neither=len(left) - either,
    )


def mcnemar(counts: PairedCounts, *, any_time: bool = False) -> float:
    """Return the p-value of "both sides are right equally often", from the discordant trials alone.

    The exact test: under the hypothesis a discordant trial goes to either side by a fair coin. With
    `any_time` it holds for a run that is looked at early or extended: the evidence for either side
    is a test supermartingale (see `sequential`), so 2 over the larger one is a p-value at every look.
    """
    if counts.discordant == 0:
        return 1.0
    if any_time:
        sides = [counts.first_only, counts.second_only]
        return float(min(1.0, 2 * np.exp(-log_evidence(sides, counts.discordant, 0.5).max())))
    from scipy.stats import binomtest

    return float(binomtest(counts.first_only, counts.discordant).pvalue)


def paired_interval(
    counts: PairedCounts, alpha: float = 0.01, interval: Interval = clopper_pearson
) -> tuple[float, float]:
    """Return an interval for the difference of success rates, each end wrong with at most alpha / 2.

    The difference is q (2 t - 1): q is the rate of discordant trials, t the share of them that the
    second side wins. Given their number, that share is binomial, so both have exact intervals
    (Clopper and Pearson 1934): 0.8 alpha goes to t and 0.1 alpha to q, and a union bound joins them.
    Conservative at every sample size, which the score intervals of Tango (1998) and Newcombe (1998)
    are not, and a tenth wider than the normal one at 2,000 discordant trials. It leaves out 0 only
    if `mcnemar` rejects at 0.8 alpha. With `confidence_sequence` it holds at every look. Trials
    must be drawn alike and independently, as those of a plan are.
    """
    alpha = check_alpha(alpha)
    discordant, trials = check_counts("discordant", counts.discordant, counts.trials)
    rate_low, rate_high = interval(discordant, trials, _TO_NUMBER * alpha)
    low, high = 0.0, 1.0
    if discordant:
        low, high = interval(counts.second_only, discordant, _TO_ORDER * alpha)
    ends = (2 * low - 1, 2 * high - 1)
    rates = (rate_low, rate_high)
    return min(ends[0] * rate for rate in rates), max(ends[1] * rate for rate in rates)


class Standing(Enum):
    """How the second side stands to the first, which was released; of several the first here counts."""

    WORSE = "worse"
    NOT_TOLD = "not told"
    NO_WORSE = "no worse"

    @property
    def flag(self) -> str:
        """The name as an option of the command line spells it."""
        return self.value.replace(" ", "-")


def compare_release(first: float, high: float, margin: float, *, is_larger: bool) -> Standing | None:
    """Return whether the second side is worse, no worse than by a margin, or not told; None at the ceiling.

    `first` is the success rate on the first side, `high` the upper end of the difference and `is_larger`
    whether a test has shown that it is above 0. If the first side leaves no room for a difference as large
    as the margin, "no worse" would be true of whatever the second side is: then nothing is compared, unless
    the second side is shown to be better.
    """
    if is_larger:
        return Standing.WORSE
    if 1 - first <= margin and high >= 0:
        return None
    return Standing.NO_WORSE if high <= margin else Standing.NOT_TOLD


def trials_within(counts: PairedCounts, margin: float, alpha: float, interval: Interval) -> int | None:
    """Return about how many trials show that the second side is right no more often than by a margin.

    If they come out as these did; None if no number is enough.
    """
    if counts.second_only - counts.first_only >= margin * counts.trials:
        return None

    def upper(trials: int) -> float:
        first, second = (round(n / counts.trials * trials) for n in (counts.first_only, counts.second_only))
        return paired_interval(
            PairedCounts(both=trials - first - second, first_only=first, second_only=second, neither=0),
            alpha,
            interval,
        )[1]

    return least_trials(upper, margin)


def separate_intervals(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the interval of a difference from one of each side, at half of alpha each.

    By the union bound, so it holds although two plans of one seed may share rewrites. Ends may be
    infinite; if both sides are, nothing is known of the difference.
    """
    low = -np.inf if np.isinf(first[1]) else second[0] - first[1]
    high = np.inf if np.isinf(second[1]) else second[1] - first[0]
    return float(low), float(high)


def rank_agreement(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Kendall's tau-b of two rankings of the same things, or None if one ranks nothing.

    1: the same order; -1: the reverse. Ties count for neither (Kendall 1945).
    """
    from scipy.stats import kendalltau

    if len(first) != len(second) or len(first) < 2:
        raise SpecError(
            f"Rankings of {len(first)} and {len(second)} things; both must rank the same, 2 at least."
        )
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return float(kendalltau(first, second).statistic)


# --- The difference of two epsilons that were measured on the same trials.
#
# Epsilon grows with the success rate, without limit at rate 1. Close to that limit the rate is decided
# by a handful of wrong guesses, so that nothing that relies on many of them (a bootstrap, a normal
# approximation) covers the difference there. The interval here is exact. It rests on three statements:
# how often the first side is right, how often the second is, and by how much these rates differ. The
# trials are paired, so the third can be known much better than the first two.

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scale:
    """What turns a success rate into epsilon: the number of candidates, and delta."""

    candidates: int = 2
    delta: float = 0.0

    def epsilon(self, success: float) -> float:
        """Return epsilon at a success rate."""
        return epsilon_from_success(success, self.candidates, self.delta)

    @property
    def blind(self) -> float:
        """The largest success rate at which epsilon is 0."""
        return success_from_epsilon(0.0, self.candidates, self.delta)


def smoothed_success(correct: npt.ArrayLike, trials: int) -> Floats:
    """Return the success rate with half a trial added to each outcome, so that epsilon is finite.

    Of all such corrections this one biases the log-odds least (Haldane 1955, Anscombe 1956).
    """
    return np.asarray((np.asarray(correct, dtype=np.float64) + 0.5) / (trials + 1), dtype=np.float64)


def paired_epsilon_interval(
    counts: PairedCounts,
    scales: tuple[Scale, Scale],
    alpha: float = 0.01,
    interval: Interval = clopper_pearson,
) -> tuple[float, float]:
    """Return an interval for the difference of epsilons, each end wrong with at most alpha / 2.

    A third of alpha goes to the interval of each side's success rate, a third to that of their
    difference (`paired_interval`). All three hold together by a union bound, however the sides
    depend on each other, and the ends are the least and the largest difference of epsilons at
    which they do. If the first side was never wrong there is no lower end (minus infinity), if the
    second never was no upper one. With `confidence_sequence` the interval holds at every look.
    """
    share = check_alpha(alpha) / 3
    first = interval(counts.both + counts.first_only, counts.trials, share)
    second = interval(counts.both + counts.second_only, counts.trials, share)
    low, high = paired_interval(counts, share, interval)
    least = _least_difference(scales, first[1], second[0], low)
    most = -_least_difference((scales[1], scales[0]), second[1], first[0], -high)
    return least, most + 0.0  # not minus zero


def _least_difference(
    scales: tuple[Scale, Scale], first_at_most: float, second_at_least: float, gap_at_least: float
) -> float:
    """Return the least epsilon(second) - epsilon(first) that three statements about success rates allow.

    For every rate of the first side the least rate of the second counts. While `second_at_least` sets
    that rate, more of the first lowers the difference. So the least is at the rate from which on the
    gap sets it, or beyond: at the end, where the second epsilon leaves 0, or where both grow equally fast.
    """
    begin = min(max(second_at_least - gap_at_least, 0.0), first_at_most)
    places = [begin, first_at_most, scales[1].blind - gap_at_least]
    places += _equal_slopes(scales[0].delta, scales[1].delta, gap_at_least)
    return min(
        scales[1].epsilon(min(max(second_at_least, rate + gap_at_least), 1.0)) - scales[0].epsilon(rate)
        for rate in places
        if begin <= rate <= first_at_most
    )


def _equal_slopes(first_delta: float, second_delta: float, gap: float) -> list[float]:
    """Return the rates p at which epsilon grows as fast for the first side as at p + gap for the second.

    The slope of ln((p - delta) / (1 - p)) is (1 - delta) / ((p - delta) (1 - p)), so this is a
    quadratic equation.
    """
    ours, theirs = 1 - second_delta, 1 - first_delta
    roots = np.roots(
        [
            theirs - ours,
            ours * (1 + first_delta) - theirs * (1 + second_delta - 2 * gap),
            theirs * (gap**2 - (1 + second_delta) * gap + second_delta) - ours * first_delta,
        ]
    )
    return [float(root.real) for root in roots if abs(root.imag) < 1e-9]
