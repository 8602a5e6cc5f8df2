"""The difference of two epsilons that were measured on the same trials.

Epsilon grows with the success rate, without limit at rate 1. Close to that limit the rate is decided
by a handful of wrong guesses, so that nothing that relies on many of them (a bootstrap, a normal
approximation) covers the difference there. The interval here is exact. It rests on three statements:
how often the first side is right, how often the second is, and by how much these rates differ. The
trials are paired, so the third can be known much better than the first two.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.bound import Interval, check_alpha, epsilon_from_success, success_from_epsilon
from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.paired import PairedCounts, paired_interval

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
    gap sets it, or beyond: at the end, where an epsilon leaves 0, or where both grow equally fast.
    """
    begin = min(max(second_at_least - gap_at_least, 0.0), first_at_most)
    places = [begin, first_at_most, scales[0].blind, scales[1].blind - gap_at_least]
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
