"""The abstaining bound: an adversary that answers only if it is sure, so that no rare leak is averaged away.

Given all outputs and candidate sets, the secrets of trials that have one row each are independent, and with
delta = 0 each guess is right with probability at most h = e^eps / (e^eps + k - 1). So any part of the trials
may be judged by itself if it was picked without the secrets: by how sure the attack was (its margin),
unusable answers last, ties by trial number. The parts are half of the trials, a quarter, and so on, fixed
beforehand. Half of a row's error is for all trials; the other half is shared equally by the smaller parts.

With delta > 0 conditioning on the outputs is wrong: a mechanism may put all of its delta where the attack is
sure. There, among n of T picked trials, right guesses are at most D + Bin(n - D, h), D ~ Bin(T, delta) cut at
n: D counts the trials whose output comes from the part of mass delta that the promise leaves out.

At every look: trials are ranked within blocks, so that one that was counted stays counted. With delta = 0 the
confidence sequence of `sequential` holds; with delta > 0 its place is taken by a mixture of the products of
1 + lambda (R - c W - delta) over all trials, R and W telling whether a trial was picked and right or wrong,
with c = e^eps / (k - 1). No factor is negative and its mean is at most 1, whatever outputs pick;
the mixture is uniform in lambda (c + delta), which at delta = 0 is that of `sequential`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.bound import epsilon_from_success, success_from_epsilon
from tedaudit.estimators.intervals import binomial_tail
from tedaudit.estimators.sequential import any_time_p
from tedaudit.text.plain_data import Count

RANKED_TOGETHER = 1000  # rows of a block in which margins are compared if looks are many
_MOST_PARTS = 40
_LARGEST_EPSILON = 700.0
_STEPS = 256  # a bound at every look is sought on this grid first, since its evidence need not be monotone
_MISSED = 1e-18  # mass of D that is taken for the worst instead of being summed
_REST = (np.arange(2000)[::-1] + 0.5) / 2000
_BETS = 1 - _REST**3  # lambda (c + delta), dense near 1, with weights that make it uniform on (0, 1)
_LOG_WEIGHTS = 2 * np.log(_REST) - np.log(np.sum(_REST**2))


@dataclass(frozen=True, slots=True)
class Part:
    """The most certain guesses: how many of them there are, and how many were right."""

    size: Count
    """How many of the most certain guesses there are."""
    right: Count
    """Right ones among these."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What the abstaining bound needs of a row beside the counts over all of its trials: a part or more."""

    trials: int
    candidates: int
    parts: tuple[Part, ...]
    any_time: bool = False

    def all_right(self) -> "Parts":
        """Return the parts had every guess been right."""
        return self.answers_right(self.trials)

    def answers_right(self, answers: int) -> "Parts":
        """Return the parts had this many answers been right and all others wrong: unusable ones come last."""
        parts = tuple(Part(part.size, min(part.size, answers)) for part in self.parts)
        return Parts(trials=self.trials, candidates=self.candidates, parts=parts, any_time=self.any_time)

    def p_value(self, epsilon: float, delta: float) -> float:
        """Return the smallest p-value of a part at epsilon, times the number of parts."""
        least = _p_value(self.strongest(epsilon, delta), self, epsilon, delta)
        return min(1.0, len(self.parts) * least)

    def strongest(self, epsilon: float, delta: float) -> Part:
        """Return the part that speaks most clearly against epsilon."""
        return min(self.parts, key=lambda part: _p_value(part, self, epsilon, delta))

    def bound(self, error: float, delta: float) -> "AbstainingBound":
        """Return the largest bound of the parts, which share the error."""
        share = error / len(self.parts)
        bounds = [_bound(part, self, share, delta) for part in self.parts]
        best = max(range(len(bounds)), key=bounds.__getitem__)
        part = self.parts[best]
        return AbstainingBound(
            lower=bounds[best],
            right=part.right,
            size=part.size,
            trials=self.trials,
            error=error,
            delta=delta,
            any_time=self.any_time,
        )


@dataclass(frozen=True, slots=True)
class AbstainingBound:
    """What the most certain guesses proved: `right` of `size`, out of all `trials`."""

    lower: float
    right: int
    size: int
    trials: int
    error: float
    delta: float
    any_time: bool


def find_sizes(trials: int, candidates: int, delta: float, error: float) -> tuple[int, ...]:
    """Return the sizes of the parts: halves down to the smallest that could show anything at its share.

    They follow from what is known before any guess; `error` is that of the row, of which the parts have half.
    """
    sizes: list[int] = []
    for number in range(1, _MOST_PARTS):
        size = trials >> number
        if not size or picked_tail(size, size, trials, 1 / candidates, delta) >= error / (2 * number):
            break
        sizes.append(size)
    return tuple(sizes)


def count_parts(
    right: npt.NDArray[np.bool_],
    margin: npt.NDArray[np.float32],
    usable: npt.NDArray[np.bool_],
    sizes: Sequence[int],
    candidates: int,
) -> Parts:
    """Count right guesses among the most certain ones of a fixed number of trials."""
    # stable: ties stay in the order of trials
    order = np.argsort(-margin, kind="stable") if usable.all() else np.lexsort((-margin, ~usable))
    found = np.concatenate([[0], np.cumsum(right[order])])
    return Parts(len(right), candidates, tuple(Part(size, int(found[size])) for size in sizes))


def count_parts_by_block(
    right: npt.NDArray[np.bool_],
    margin: npt.NDArray[np.float32],
    usable: npt.NDArray[np.bool_],
    ends: Sequence[int],
    candidates: int,
) -> Parts:
    """Count right guesses among the most certain ones of every block; `ends` are the blocks' last rows + 1.

    A block may end at any row that was known before its guesses were seen, after at most `RANKED_TOGETHER`.
    """
    number = RANKED_TOGETHER.bit_length() - 1
    sizes, found = [0] * number, [0] * number
    start = 0
    for end in ends:
        block = slice(start, end)
        halves = [(end - start) >> (i + 1) for i in range(number)]
        counted = count_parts(right[block], margin[block], usable[block], halves, candidates)
        for i, part in enumerate(counted.parts):
            sizes[i], found[i] = sizes[i] + part.size, found[i] + part.right
        start = end
    parts = tuple(Part(size, count) for size, count in zip(sizes, found, strict=True))
    return Parts(start, candidates, parts, any_time=True)


def end_blocks(rows: int, looks: Sequence[int], planned: int) -> list[int]:
    """Return where blocks of ranked rows end: at every look, at the end of the plan, and in between.

    Rows after the last complete block are left out.
    """
    stops = sorted({stop for stop in (*looks, planned) if 0 < stop <= rows})
    ends: list[int] = []
    for stop in [*stops, rows]:
        start = ends[-1] if ends else 0
        ends += range(start + RANKED_TOGETHER, stop, RANKED_TOGETHER)
        if stop in stops or (stop - (ends[-1] if ends else 0)) == RANKED_TOGETHER:
            ends.append(stop)
    return sorted(set(ends))


def picked_tail(right: int, size: int, trials: int, success: float, delta: float) -> float:
    """Return how probable so many right guesses are at most among picked ones, if delta may hide anywhere.

    The sum over d of P(D = d) P(d + Bin(n - d, success) >= right), D ~ Bin(trials, delta) cut at n = size.
    """
    if right <= 0 or success >= 1:
        return 1.0
    if delta == 0:
        return binomial_tail(right, size, success)
    from scipy.special import betainc

    chances, beyond = _hide(right, trials, delta)
    tails = betainc(right - np.arange(len(chances)), size - right + 1, success)
    return min(1.0, float(chances @ tails) + beyond)


@lru_cache(maxsize=256)
def _hide(right: int, trials: int, delta: float) -> tuple[npt.NDArray[np.float64], float]:
    """Return how probable it is that 0, 1, ... guesses are hidden in delta, and that more are.

    Epsilon has no part in it, so that a search for a bound needs it once.
    """
    from scipy.stats import binom  # takes long to import, and few audits have a delta

    most = min(right, int(binom.isf(_MISSED, trials, delta)) + 1)  # from `right` on the guesses are enough
    return binom.pmf(np.arange(most), trials, delta), float(binom.sf(most - 1, trials, delta))


def _p_value(part: Part, whole: Parts, epsilon: float, delta: float) -> float:
    """Return the p-value of one part at epsilon."""
    if part.size == 0:
        return 1.0
    success = success_from_epsilon(epsilon, whole.candidates)
    if not whole.any_time:
        return picked_tail(part.right, part.size, whole.trials, success, delta)
    if delta == 0:
        return any_time_p(part.right, part.size, success)
    return math.exp(-max(0.0, _log_bets(part, whole, epsilon, delta)))


def _log_bets(part: Part, whole: Parts, epsilon: float, delta: float) -> float:
    """Return the logarithm of the mixture of products over all trials: evidence against (epsilon, delta)."""
    odds = math.exp(min(epsilon, _LARGEST_EPSILON)) / (whole.candidates - 1)
    bets = _BETS / (odds + delta)
    logs = (
        part.right * np.log1p(bets * (1 - delta))
        + (part.size - part.right) * np.log1p(-bets * (odds + delta))
        + (whole.trials - part.size) * np.log1p(-bets * delta)
    )
    logs += _LOG_WEIGHTS
    top = float(logs.max())
    return top + math.log(float(np.exp(logs - top).sum()))


def _bound(part: Part, whole: Parts, error: float, delta: float) -> float:
    """Return the smallest epsilon that a part does not reject at an error."""

    def rejects(epsilon: float) -> bool:
        return _p_value(part, whole, epsilon, delta) <= error

    if part.size == 0 or not rejects(0.0):
        return 0.0
    low, high = 0.0, _largest(part, whole)
    if whole.any_time and delta:
        grid = np.linspace(low, high, _STEPS)
        first = next((i for i, epsilon in enumerate(grid) if not rejects(float(epsilon))), _STEPS - 1)
        low, high = float(grid[first - 1]), float(grid[first])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
    return low


def _largest(part: Part, whole: Parts) -> float:
    """Return an epsilon that so many right guesses cannot reject."""
    if part.right < part.size:
        return epsilon_from_success(part.right / part.size, whole.candidates) + 1
    return math.log(max(1, whole.candidates - 1)) + math.log(part.size) + 2
