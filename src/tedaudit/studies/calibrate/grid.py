"""The grid of nominal epsilons that a search moves on: 48 numbers of three digits in every decade."""

import math
from dataclasses import dataclass

from tedaudit.errors import SpecError
from tedaudit.nominal import Nominal

_PER_DECADE = 48  # neighbours differ by about 5 %
COARSE = 24  # places between the points of a first sweep: half a decade
FINE = 4  # places between points close to a target: 20 %
_PARTS = 6  # into which a sweep cuts what is left


def epsilon_at(place: int) -> Nominal:
    """Return the epsilon at a place; place 0 is 1."""
    return Nominal(f"{10 ** (place / _PER_DECADE):.3g}")


@dataclass(frozen=True, slots=True)
class Grid:
    """The places from a least to a largest epsilon."""

    low: int
    high: int

    @classmethod
    def between(cls, least: float, most: float) -> "Grid":
        """Return the places of the epsilons between two."""
        if not 0 < least < most < math.inf:
            raise SpecError(
                f"The search is to go from epsilon {least} to {most}; the first must be above 0 and below "
                "the second."
            )
        low, high = (round(_PER_DECADE * math.log10(end)) for end in (least, most))
        grid = cls(low + (epsilon_at(low) < least), high - (epsilon_at(high) > most))
        if grid.high - grid.low < FINE:
            raise SpecError(f"From epsilon {least} to {most} is too short a way for a search; widen it.")
        return grid

    def sweep(self) -> list[int]:
        """Return the places of a first sweep: both ends, and half decades between them."""
        inner = [at for at in _multiples(self.low, self.high, COARSE) if at - self.low >= FINE]
        return [self.low, *(at for at in inner if self.high - at >= FINE), self.high]

    def refine(self, low: int, high: int) -> list[int]:
        """Return places strictly between two, closer to each other than before; none if they are close.

        They lie on multiples, so that searches for other targets meet the same ones.
        """
        if high - low <= FINE:
            return []
        spacing = max(1, (high - low) // _PARTS // FINE) * FINE
        return [at for at in _multiples(low, high, spacing) if low < at < high]


def _multiples(low: int, high: int, spacing: int) -> range:
    return range(-(-low // spacing) * spacing, high + 1, spacing)
