"""Which texts are candidates together: probabilistic transition sampling, nearest, furthest.

Paper: TeDA, "Probabilistic Transition Sampling". The first text is uniform; each further one is
drawn with pi(x) proportional to exp(lambda * sum_s ln P(x|s)), P(x|s) proportional to
exp(-d(x, s)), among the texts not yet in the set S. The normaliser of P(.|s) does not depend on
x, and with unit vectors sum_s d(x, s) = |S| - x.(sum_s s), so pi(x) is proportional to
exp(lambda * x.(sum_s s)): one matrix product per batch of distinct sets, or a running sum (`Steps`).

Trial t depends on the key and on t alone, so more trials extend a plan. Sampling is by inverse
distribution function with the largest exponent taken out, so no lambda overflows.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Floats
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.pool import CELLS, Ints, Pool, sort_positions

Strategy = Literal["transition", "nearest", "furthest", "given"]
_DIGITS = 12  # of similarities, in which ties are equal
_DECISIVE = 1e3 * 10.0**_DIGITS  # a lambda under which one digit less is a weight of exp(-1000), which is 0
SAMPLING = "candidate sampling"  # how lists of models name what uses the encoder of a spec


@dataclass(frozen=True, slots=True)
class Sampling:
    """How candidate sets are drawn: k texts, and what makes a text a likely companion."""

    k: int
    strategy: Strategy = "transition"
    temperature: float = -1e4  # the paper's lambda: < 0 more diverse, 0 uniform, > 0 more similar
    top: int = 1  # nearest and furthest: uniform among this many

    @property
    def uniform(self) -> bool:
        """Whether distances play no part."""
        return self.strategy == "transition" and self.temperature == 0


@dataclass(frozen=True, slots=True)
class GivenSets(Sampling):
    """Candidate sets that were named: trial t has set t, and after the last comes the first again."""

    sets: tuple[tuple[int, ...], ...] = ()

    @property
    def uniform(self) -> bool:
        """Distances play no part."""
        return True


def candidate_sets(pool: Pool | int, sampling: Sampling, trials: range, key: int) -> Ints:
    """Return one row of k positions per trial, the text drawn first in column 0.

    If distances play no part, the pool's size is enough.
    """
    if isinstance(sampling, GivenSets):
        sets: Ints = np.asarray(sampling.sets, dtype=np.int32)
        return np.asarray(sets[np.asarray(trials) % len(sets)], dtype=np.int32)
    size = pool if isinstance(pool, int) else pool.size
    first = uniforms([derive(key, "first")], len(trials), trials.start)[0]
    chosen = np.minimum((first * size).astype(np.int32), size - 1)[:, None]
    if not sampling.uniform and sampling.k > 1:
        assert isinstance(pool, Pool)  # noqa: S101 - the caller embeds unless sampling is uniform
        return _draw_by_distance(pool, sampling, chosen, trials, key)
    for step in range(1, sampling.k):
        uniform = uniforms([derive(key, "step", step)], len(trials), trials.start)[0]
        chosen = np.column_stack([chosen, uniform_step(size, chosen, uniform)])
    return np.ascontiguousarray(chosen, dtype=np.int32)


def _draw_by_distance(pool: Pool, sampling: Sampling, chosen: Ints, trials: range, key: int) -> Ints:
    """Return whole sets from the texts that were drawn first."""

    def coins(step: int, rows: range) -> Floats:
        found: Floats = uniforms([derive(key, "step", step)], len(rows), trials.start + rows.start)[0]
        return found

    def redo(sets: Ints, uniform: Floats) -> Ints:
        return _distance_step(pool, sampling, sets, uniform)

    everything = range(len(trials))
    if not pool.is_precise:
        for step in range(1, sampling.k):
            chosen = np.column_stack([chosen, redo(chosen, coins(step, everything))])
        return np.ascontiguousarray(chosen, dtype=np.int32)
    top = None if sampling.strategy == "transition" else sampling.top
    steps = Steps(pool, _factor(sampling), top, redo)
    second = steps.choose_second(chosen[:, 0], coins(1, everything), keep=sampling.k > 2)
    pairs = np.column_stack([chosen[:, 0], second])
    return pairs if sampling.k == 2 else steps.choose_rest(pairs, coins, sampling.k)


def _factor(sampling: Sampling) -> float:
    """Return what similarities are multiplied by.

    A lambda under which nothing but ties weighs anything is infinite: rounding must not break them.
    """
    factor = {"nearest": 1.0, "furthest": -1.0}.get(sampling.strategy, sampling.temperature)
    return factor if abs(factor) < _DECISIVE else math.copysign(math.inf, factor)


def disjoint_sets(
    pool: Pool | int,
    sampling: Sampling,
    usable: npt.NDArray[np.bool_],
    key: int,
    most: int | None = None,
) -> Ints:
    """Return as many sets as possible that share no text, in random order: for tables of rewrites.

    The first `most` of them are the same without the rest, and each takes a pass over the pool.
    """
    size = pool if isinstance(pool, int) else pool.size
    order = np.argsort(uniforms([derive(key, "order")], size)[0], kind="stable")
    free = usable.copy()
    steps = [uniforms([derive(key, "step", step)], size)[0] for step in range(1, sampling.k)]
    rows: list[list[int]] = []
    left = int(free.sum())
    for first in order:
        if left < sampling.k or len(rows) == most:
            break
        if not free[first]:
            continue
        left -= sampling.k
        members = [int(first)]
        free[first] = False
        for uniform in steps:
            here = np.asarray([members], dtype=np.int32)
            weight = (
                np.ones(size)
                if isinstance(pool, int)
                else next(_weights(pool.similarity(here), sampling, ~free[None, :]))
            )
            members.append(pick_by_weight(weight * free, uniform[len(rows) : len(rows) + 1])[0])
            free[members[-1]] = False
        rows.append(members)
    return np.asarray(rows, dtype=np.int32).reshape(-1, sampling.k)


def uniform_step(size: "int | npt.NDArray[np.int64]", chosen: Ints, uniform: Floats) -> Ints:
    """Return a uniform choice among the texts not yet chosen, of as many as each set has to choose from."""
    left = size - chosen.shape[1]
    pick = np.minimum((uniform * left).astype(np.int32), left - 1)
    for taken in np.sort(chosen, axis=1).T:  # skip over the chosen, smallest first
        pick = pick + (pick >= taken)
    return np.asarray(pick, dtype=np.int32)


def _distance_step(pool: Pool, sampling: Sampling, chosen: Ints, uniform: Floats) -> Ints:
    """Return the next text of every set by the definition; equal sets share one pass over the pool."""
    sets, which = np.unique(chosen, axis=0, return_inverse=True)
    by_set = np.argsort(which.ravel(), kind="stable")
    ends = np.searchsorted(which.ravel()[by_set], np.arange(len(sets) + 1))
    following = np.zeros(len(chosen), dtype=np.int32)
    rows = max(1, CELLS // pool.size)
    for start in range(0, len(sets), rows):
        batch = sets[start : start + rows]
        taken = np.zeros((len(batch), pool.size), dtype=np.bool_)
        np.put_along_axis(taken, batch, values=True, axis=1)
        for offset, weight in enumerate(_weights(pool.similarity(batch), sampling, taken)):
            members = by_set[ends[start + offset] : ends[start + offset + 1]]
            following[members] = pick_by_weight(weight, uniform[members])
    return following


def _weights(similarity: Floats, sampling: Sampling, taken: npt.NDArray[np.bool_]) -> Iterator[Floats]:
    """Yield the unnormalised probability of every text, one array per row; 0 for the taken ones."""
    sign = _factor(sampling)
    for row, gone in zip(similarity, taken, strict=True):
        if sampling.strategy != "transition":
            yield _top(np.where(gone, -np.inf, sign * row), sampling.top)
        elif math.isinf(sign):
            yield _top(np.where(gone, -np.inf, math.copysign(1.0, sign) * row), 1)
        else:
            score = math.copysign(1.0, sign) * row
            gap = np.minimum(score - score.max(where=~gone, initial=-np.inf), 0)
            with np.errstate(over="ignore"):  # a gap times a huge lambda: the weight is 0 either way
                weight = np.exp(abs(sign) * gap)
            yield np.where(gone, 0.0, weight)


def _top(score: Floats, top: int) -> Floats:
    """Return weights that pick uniformly among the `top` best, ties at the edge broken at random.

    Of `top` places, those strictly above the edge get one each; the rest is shared by the tied.
    """
    score = np.round(score, _DIGITS)  # rounding errors must not break ties
    top = min(top, int(np.isfinite(score).sum()))
    edge = np.partition(score, -top)[-top]
    above, tied = score > edge, score == edge
    return np.where(above, 1.0, np.where(tied, (top - above.sum()) / max(1, tied.sum()), 0.0))


def pick_by_weight(weight: Floats, uniform: Floats) -> Ints:
    """Return a choice by weight for each uniform, by inverse distribution function."""
    cumulative = np.cumsum(weight)
    pick = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    last = np.searchsorted(cumulative, cumulative[-1])  # where the sum is complete: never a weight of 0
    return np.asarray(np.minimum(pick, last), dtype=np.int32)


_TOP = 10  # commonest companions, of which notes tell the share


@dataclass(frozen=True, slots=True)
class Concentration:
    """How unevenly texts serve as companions: few distractors, used often, weaken a prior-free reading."""

    distinct: int
    top_ten_share: float
    effective: float

    def __str__(self) -> str:
        where = "beside the first of each candidate set"
        if self.distinct == 1:
            return f"{where} stands always the same text"
        even = f"as varied as {self.effective:,.0f} used equally often"
        told = f"{where} stand {self.distinct:,} different texts, {even}"
        most = f"; the ten most frequent fill {self.top_ten_share:.0%} of these places"
        return told + (most if self.distinct > _TOP else "")


def concentration(candidates: Ints, size: int) -> Concentration:
    """Return how concentrated the distractors (all columns but the first) are."""
    counts = np.bincount(candidates[:, 1:].ravel(), minlength=size).astype(np.float64)
    share = counts / counts.sum()
    top = float(np.sort(share)[-_TOP:].sum())
    return Concentration(int((counts > 0).sum()), top, float(1 / (share**2).sum()))


# --- The steps of sampling by distance: each adds a text to every set, and its similarities to a running
# sum.
#
# By definition a step compares every text with the sum of the set's vectors. A running sum of
# similarities is the same but for rounding, and rounding could only change a choice whose uniform lies
# at the very edge of a text's share. So a choice is taken from the running sum if it would be the same
# for any sums within the bound of the rounding errors, and is otherwise made anew by the definition.
# Either way the set is the one that the definition gives.

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
