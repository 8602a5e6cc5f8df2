"""The steps of sampling by distance: each adds a text to every set, and its similarities to a running sum.

By definition a step compares every text with the sum of the set's vectors. A running sum of
similarities is the same but for rounding, and rounding could only change a choice whose uniform lies
at the very edge of a text's share. So a choice is taken from the running sum if it would be the same
for any sums within the bound of the rounding errors, and is otherwise made anew by the definition.
Either way the set is the one that the definition gives.
"""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from tedaudit.plans.pool import CELLS, Ints, Pool, sort_positions
from tedaudit.types import Floats

Redo = Callable[[Ints, Floats], Ints]  # sets and uniforms to what the definition chooses
_SMALLEST_EXPONENT = 746.0  # exp(-746) is 0 in float64
_ROUNDED = 2e-12  # what the rounding of ties may add to a difference
_CHUNK = 8_000_000  # uniforms held at a time


class Steps:
    """Chooses the further texts of many sets."""

    def __init__(self, pool: Pool, factor: float, top: int | None, redo: Redo) -> None:
        """Take the pool, what similarities are multiplied by, and how many of the best are equally likely.

        Without `top` the weight of a text is the exponential of the product.
        """
        self._pool, self._redo, self._top = pool, redo, 1 if math.isinf(factor) else top
        self._sign, self._factor = math.copysign(1.0, factor), abs(factor)

    def choose_second(self, first: Ints, uniform: Floats, *, keep: bool) -> Ints:
        """Return the second text of every set; equal first texts share one pass over the pool.

        `keep` their similarities if sets go on growing.
        """
        counts = np.bincount(first)
        texts = np.flatnonzero(counts).astype(np.int32)
        by_text = sort_positions(first)
        ends = np.concatenate([[0], np.cumsum(counts[texts])])
        second = np.zeros(len(first), dtype=np.int32)
        rows = max(1, CELLS // self._pool.size)
        for start in range(0, len(texts), rows):
            some = texts[start : start + rows]
            scores = self._pool.compare(some, keep=keep)
            scores *= self._sign
            scores[np.arange(len(some)), some] = -np.inf
            for offset, score in enumerate(scores):
                members = by_text[ends[start + offset] : ends[start + offset + 1]]
                second[members] = self._choose(score, texts[[start + offset]], uniform[members])
        return second

    def choose_rest(self, pairs: Ints, uniforms: Callable[[int, range], Floats], k: int) -> Ints:
        """Return whole sets from their first two texts; `uniforms` has those of a step for some trials."""
        chosen = np.zeros((len(pairs), k), dtype=np.int32)
        chosen[:, :2] = pairs
        together = max(1, _CHUNK // k)
        for start in range(0, len(pairs), together):
            trials = range(start, min(start + together, len(pairs)))
            coins = np.stack([uniforms(step, trials) for step in range(2, k)])
            order = np.lexsort((pairs[trials.start : trials.stop, 1], pairs[trials.start : trials.stop, 0]))
            size = max(1, CELLS // self._pool.size)
            for begin in range(0, len(order), size):
                some = order[begin : begin + size]
                chosen[start + some] = self._grow(chosen[start + some], coins[:, some])
        return chosen

    def _grow(self, chosen: Ints, coins: Floats) -> Ints:
        """Return a few sets, complete; the scores of equal beginnings are summed once."""
        heads, which = np.unique(chosen[:, 0], return_inverse=True)
        scores = self._pool.compare(heads)
        scores *= self._sign
        scores[np.arange(len(heads)), heads] = -np.inf
        for step in range(2, chosen.shape[1]):
            # a set is the one that it was before, and the text that was added
            added = chosen[:, step - 1]
            sets, which = np.unique(which.astype(np.int64) << 32 | added, return_inverse=True)
            before, last = sets >> 32, (sets & 0xFFFFFFFF).astype(np.int32)
            more = self._pool.compare(last)
            more *= self._sign
            more += scores[before]
            scores = more
            scores[np.arange(len(last)), last] = -np.inf
            by_set = np.argsort(which, kind="stable")
            ends = np.searchsorted(which[by_set], np.arange(len(sets) + 1))
            for place, score in enumerate(scores):
                members = by_set[ends[place] : ends[place + 1]]
                chosen[members, step] = self._choose(
                    score, chosen[members[0], :step], coins[step - 2, members]
                )
        return chosen

    def _choose(self, score: Floats, members: Ints, uniform: Floats) -> Ints:
        """Return the next text of a set for each uniform; members have a score of minus infinity."""
        error = self._pool.error(len(members))
        live, weight, doubt = self._weigh(score, error)
        if len(live) == 1:
            return np.full(len(uniform), live[0], dtype=np.int32)
        cumulative = np.cumsum(weight)
        total = cumulative[-1]
        target = uniform * total
        pick = np.searchsorted(cumulative, target, side="right")
        inside = np.minimum(pick, len(live) - 1)
        below = np.where(inside > 0, cumulative[inside - 1], -np.inf)
        slack = 4 * total * doubt
        certain = (cumulative[inside] - target > slack) & (target - below > slack)
        following = live[inside].astype(np.int32)
        if not certain.all():
            again = np.flatnonzero(~certain)
            following[again] = self._redo(np.tile(members, (len(again), 1)), uniform[again])
        return np.asarray(following, dtype=np.int32)

    def _weigh(self, score: Floats, error: float) -> tuple[npt.NDArray[np.int64], Floats, float]:
        """Return the texts that may be chosen, their weights, and how far those may be off, relatively.

        Of a doubt that is infinite nothing is certain unless there is one text alone.
        """
        rounding = 2 * len(score) * 2.0**-53
        if self._top is not None:
            free = int(np.isfinite(score).sum())
            top = min(self._top, free)
            edge = np.partition(score, -top)[-top]
            live = np.flatnonzero(score >= edge - _ROUNDED - 2 * error)
            return live, np.ones(len(live)), 0.0 if len(live) == top else math.inf
        best = score.max()
        live = np.flatnonzero(score >= best - _SMALLEST_EXPONENT / self._factor - 2 * error)
        with np.errstate(over="ignore"):  # a gap times a huge lambda: the weight is 0 either way
            weight = np.exp(self._factor * np.minimum(score[live] - best, 0))
        exponent = 2 * self._factor * error
        return live, weight, math.expm1(exponent) + rounding if exponent < 1 else math.inf
