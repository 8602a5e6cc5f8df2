"""The one test behind every part of the battery: evidence points to the true source or away from it.

A pair has two texts and their outputs. Its margin is above 0 if the outputs fit the texts as they are, below
if they would fit better exchanged, and 0 if neither; exchanging the outputs turns its sign. If both texts
have the same law of outputs, every sign but 0 is a fair coin, whatever the size of the margins: this holds
for any law, any length, and for calls that depend on each other as long as their order was drawn at random.
If the outputs of any two texts are within a factor of e^epsilon, it is above 0 with probability at most
e^(2 epsilon) / (1 + e^(2 epsilon)), since two outputs are exchanged. A claim's delta is the probability with
which an output may do as it likes: such pairs are excused, as many as are likely.

So a subset picked by the sizes of margins is as good as all of them. A leak of few texts shows in the
largest margins only: half of the error is for all pairs, and half for the largest 1/2, 1/4, 1/8, ... of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tedaudit.estimators.intervals import binomial_tail, clopper_pearson

LEAST = 12  # pairs in the smallest subset: 2^-12 is as far as a smaller one could ever get
_ALPHA = 0.01  # of the intervals


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a claim allows: how often a margin may be above 0, and how likely it is that a pair is excused."""

    rate: float = 0.5
    excused: float = 0.0

    @property
    def of_one(self) -> "Allowed":
        """What is allowed if one output is guessed from, and not two that are exchanged."""
        odds = math.sqrt(self.rate / (1 - self.rate)) if self.rate < 1 else math.inf
        return Allowed(odds / (1 + odds) if odds < math.inf else 1.0, 1 - math.sqrt(1 - self.excused))

    @property
    def of_equality(self) -> "Allowed":
        """What is allowed if two outputs tell whether their texts are equal."""
        one = self.of_one.rate
        return Allowed(one**2 + (1 - one) ** 2, self.excused)


CHANCE = Allowed()
"""What outputs that do not depend on the text do."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What a number of margins say: how many follow the source, and how unlikely that is by chance.

    `clearest` counts the pairs of the subset that gave the p-value, and `right` those among them that follow.
    """

    followed: int
    against: int
    same: int
    p_value: float
    clearest: int
    right: int

    @property
    def pairs(self) -> int:
        """All pairs, those without any difference included."""
        return self.followed + self.against + self.same

    @property
    def share(self) -> float:
        """The share of all pairs that follow the source."""
        return self.followed / self.pairs if self.pairs else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of that share, wrong with probability .01."""
        return clopper_pearson(self.followed, self.pairs, _ALPHA) if self.pairs else (0.0, 1.0)


def allow(epsilon: float, delta: float = 0.0) -> Allowed:
    """Return what is allowed if any two texts are within a factor of e^epsilon, but for delta."""
    rate = 1 / (1 + math.exp(-2 * epsilon)) if epsilon < 350 else 1.0
    return Allowed(rate, 1 - (1 - min(1.0, delta)) ** 2)


def judge_signs(margins: Sequence[float], allowed: Allowed = CHANCE) -> Signs:
    """Return how often margins are above 0, with the probability of at least that under what is allowed.

    >>> judge_signs([1.0] * 20).p_value
    1.9073486328125e-06
    """
    given = np.asarray(margins, dtype=np.float64)
    untied = given[given != 0]
    order = np.argsort(-np.abs(untied), kind="stable")
    positive = (untied > 0)[order]
    sizes = list_subsets(len(positive))
    weights = [1.0] if len(sizes) == 1 else [0.5, *[0.5 / (len(sizes) - 1)] * (len(sizes) - 1)]
    best, clearest, right = 1.0, len(positive), int(positive.sum())
    for size, weight in zip(sizes, weights, strict=True):
        found = int(positive[:size].sum())
        p_value = min(1.0, _find_tail(found, size, len(given), allowed) / weight) if size else 1.0
        if p_value < best:
            best, clearest, right = p_value, size, found
    followed = int(positive.sum())
    against = len(positive) - followed
    return Signs(
        followed=followed,
        against=against,
        same=len(given) - len(positive),
        p_value=best,
        clearest=clearest,
        right=right,
    )


def list_subsets(pairs: int) -> list[int]:
    """Return the sizes of the subsets that are tested: all pairs, a half, a quarter, and so on."""
    sizes = [pairs]
    while sizes[-1] // 2 >= LEAST:
        sizes.append(sizes[-1] // 2)
    return sizes


def smallest_p_value(pairs: int, allowed: Allowed) -> float:
    """Return the p-value if every pair followed its source: known before any output."""
    sizes = list_subsets(pairs)
    weight = 1.0 if len(sizes) == 1 else 0.5
    return min(1.0, _find_tail(pairs, pairs, pairs, allowed) / weight) if pairs else 1.0


def _find_tail(found: int, size: int, pairs: int, allowed: Allowed) -> float:
    """Return a bound on the probability that so many of a subset, or more, are above 0.

    Whatever number is excused: either more pairs than that are, of all there are, or the rest has found more
    than it may. The bound is the least over that number, so it still falls with what was found.
    """
    least = 1.0
    for excused in range(found + 1):
        rest = binomial_tail(found - excused, size, allowed.rate)
        if rest >= least:
            break
        more = (
            binomial_tail(excused + 1, pairs, allowed.excused) if allowed.excused and excused < pairs else 0
        )
        least = min(least, more + rest)
        if not allowed.excused:
            break
    return least
