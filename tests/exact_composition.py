"""What many rewrites lose together, exactly: laws of discrete losses, added and read without a sample.

A loss is ln p(y | x) - ln p(y | x') for an output y drawn from x. Losses of independent outputs add, each
pair with its own law: texts of two people one by one (`compose`), releases of one text (`repeat`).
Laws of different pairs are averaged only at the end (`average`): adding averaged laws is wrong.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tedaudit.mechanisms.word_rr import WordRR

SAME = 1e-9  # losses that are no further apart are one


@dataclass(frozen=True)
class LossLaw:
    """The law of a loss: its distinct values in order, infinity among them, and their probabilities."""

    losses: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, losses: Sequence[float], weights: Sequence[float]) -> "LossLaw":
        """Return the law of values that may repeat; those without weight are left out."""
        values, shares = np.asarray(losses, dtype=float).ravel(), np.asarray(weights, dtype=float).ravel()
        values, shares = values[shares > 0], shares[shares > 0]
        order = np.argsort(values, kind="stable")
        values, shares = values[order], shares[order]
        starts = np.flatnonzero(np.append(True, values[1:] > values[:-1] + SAME))
        return cls(values[starts], np.add.reduceat(shares, starts))

    @classmethod
    def between(cls, first: Sequence[float], second: Sequence[float]) -> "LossLaw":
        """Return the law of the loss of an output of the first distribution against the second."""
        p, q = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        with np.errstate(divide="ignore"):
            return cls.of((np.log(p) - np.log(q))[p > 0], p[p > 0])

    def add(self, other: "LossLaw") -> "LossLaw":
        """Return the law of the sum of this loss and an independent one."""
        return LossLaw.of(np.add.outer(self.losses, other.losses), np.outer(self.weights, other.weights))

    def repeat(self, times: int) -> "LossLaw":
        """Return the law of the sum of so many independent losses of this same pair."""
        return compose([self] * times)

    def delta(self, epsilon: float) -> float:
        """Return by how much TPR - e^epsilon FPR can exceed 0: the hockey-stick divergence."""
        return float(-np.expm1(np.minimum(0.0, epsilon - self.losses)) @ self.weights)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon from 0 on whose delta is at most this; exact between any two losses."""
        if self.delta(0.0) <= delta:
            return 0.0
        finite = [start for start, loss in enumerate(self.losses) if 0 < loss < math.inf]
        start = next((start for start in finite if self.delta(self.losses[start]) <= delta), None)
        if start is None:
            return math.inf
        above = slice(start, None)  # below this loss, delta is the weight above it less e^epsilon times a sum
        shrunk = self.weights[above] @ np.exp(-self.losses[above])
        return math.log((self.weights[above].sum() - delta) / shrunk)

    @property
    def success(self) -> float:
        """The success of the best adversary who tells these two apart by a fair coin: (1 + TV) / 2."""
        return (1 + self.delta(0.0)) / 2


def compose(laws: Iterable[LossLaw]) -> LossLaw:
    """Return the law of the sum of independent losses, each with its own law."""
    return reduce(LossLaw.add, laws, LossLaw.of([0.0], [1.0]))


def average(laws: Sequence[LossLaw]) -> LossLaw:
    """Return the law of the loss of a pair drawn uniformly: its delta and success are means over pairs."""
    weights = np.concatenate([law.weights for law in laws]) / len(laws)
    return LossLaw.of(np.concatenate([law.losses for law in laws]), weights)


def slot_law(epsilon: float, items: int) -> LossLaw:
    """Return the law of one slot of randomised response in which two texts differ: epsilon, 0, -epsilon.

    `items` counts the vocabulary with the empty item.
    """
    total = math.exp(epsilon) + items - 1
    return LossLaw.of([epsilon, 0.0, -epsilon], [math.exp(epsilon) / total, (items - 2) / total, 1 / total])


def text_law(mechanism: WordRR, text: str, other: str, epsilon: float) -> LossLaw:
    """Return the law of the loss of what `word-rr` draws for a text against another text."""
    slots = mechanism._look_up_slots([text, other])
    return slot_law(epsilon, len(mechanism._items)).repeat(int((slots[0] != slots[1]).sum()))


def author_law(mechanism: WordRR, texts: Sequence[str], others: Sequence[str], epsilon: float) -> LossLaw:
    """Return the law of the loss of n rewrites of one author's texts against as many of another's.

    Which rewrite belongs to which text is public: the first text stands against the first, and so on.
    """
    return compose(
        text_law(mechanism, text, other, epsilon) for text, other in zip(texts, others, strict=True)
    )
