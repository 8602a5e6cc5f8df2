"""The most that any output can lose between two texts of a sample of pairs: no average, and no chance in it.

For independent draws the largest losses add up, so that a pair has an exact supremum, at every delta.
Gaussian noise has none: its loss is normal with mean mu^2 / 2 and variance mu^2, and epsilon follows from mu
at every delta above 0 (`gdp`). It is exact for the pairs that were looked at, and says nothing of others.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.estimators.gdp import find_epsilon
from tedaudit.types import Floats


@dataclass(frozen=True, slots=True)
class Supremum:
    """The largest loss of any output for the worst pair, and for Gaussian noise its mu."""

    largest: float  # at delta 0; infinite if some output cannot come from both texts, or for Gaussian noise
    mu: float  # of the Gaussian pair that lies farthest apart; 0 if there is none
    row: int  # of the pair that decides, among the rows that were given

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
        """Return the figures safe for JSON; an infinite number is None."""
        largest = self.largest if math.isfinite(self.largest) else None
        return {"largest": largest, "mu": self.mu or None, "row": self.row}


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
