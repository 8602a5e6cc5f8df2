"""Where a measured number crosses a target: a search that may look anywhere, and ends to be confirmed.

The search is exploratory. It sweeps the whole range with few trials, then looks closer around the lowest
place where the number passes from below the target to above it, and forecasts two ends. Nothing that it saw
counts as evidence: fresh trials decide about the ends (see `confirm`). No model is known here.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators.readings import Strongest
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Floats
from tedaudit.studies.calibrate.target import Target, attempt_error

# --- The grid of nominal epsilons that a search moves on: 48 numbers of three digits in every decade.

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
                f"The search is to go from epsilon {least} to {most}; the first must be above 0, and the "
                "second above the first."
            )
        low, high = (round(_PER_DECADE * math.log10(end)) for end in (least, most))
        grid = cls(low + (epsilon_at(low) < least), high - (epsilon_at(high) > most))
        if grid.high - grid.low < FINE:
            raise SpecError(f"Epsilon {least} to {most} is too short a range to search; widen it.")
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


Shape = Literal["crossing", "all below", "all above"]
CLEAR = 0.01  # the error at which a point counts as clearly above or below while looking
_FALL = 0.01  # the error of all that is said about falls
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Ends:
    """What is to be confirmed: that the number is below the target at `low` and above it at `high`.

    An end that is not confirmed moves out by its number of places in `strides`. `attack` is the one that has
    to show what is claimed of `high`. A missing end is not tried.
    """

    low: int | None
    high: int | None
    strides: tuple[int, int] = (1, 1)
    attack: str = ""


@dataclass
class Search:
    """One mechanism and one target: the points seen so far, and where to look next."""

    target: Target
    grid: Grid
    error: float
    trials: int  # fresh ones, at each end
    points: dict[int, Strongest] = field(default_factory=dict)
    _rounds: int = 0

    def list_wanted(self) -> list[int]:
        """Return the places to look at next; none when the search is over."""
        self._rounds += 1
        if self._rounds == 1:
            return self.grid.sweep()
        if self._rounds > _ROUNDS:
            return []
        low, high = self._bracket()
        if self._rounds == 2 and low == high:  # at an end of the range: look again, with more trials
            return [low]
        return [at for at in self.grid.refine(low, high) if at not in self.points or self._rounds == 2]

    def take(self, seen: Mapping[int, Strongest]) -> None:
        """Keep what was seen; more trials at a place replace fewer."""
        self.points |= seen

    def _bracket(self) -> tuple[int, int]:
        """Return the places between which the number first passes the target, as far as it is clear.

        Both are the same place if the number is clearly above at the least epsilon, or clearly below at the
        largest.
        """
        level, places = self.target.level, sorted(self.points)
        above = [at for at in places if self.points[at].lower_of_any(CLEAR) > level]
        high = min(above, default=self.grid.high)
        below = [at for at in places if at <= high and self.points[at].upper(CLEAR) < level]
        return max(below, default=self.grid.low), high

    def propose(self) -> tuple[Shape, Ends]:
        """Return what the curve looks like and the ends to be confirmed on fresh trials."""
        low, high = self._bracket()
        curve = _Curve.through({at: self.points[at] for at in sorted(self.points) if low <= at <= high}, self)
        if low == high or not curve.crosses:
            if curve.values[-1] <= curve.level:
                return "all below", Ends(self.grid.high, None, (0, 0))
            return "all above", Ends(
                low=None, high=self.grid.low, strides=(0, 0), attack=self._pick_attack(self.grid.low)
            )
        crossing = curve.find_crossing()
        first, last = curve.find_ends(crossing)
        strides = max(1, int(crossing - first) // 4), max(1, int(last - crossing) // 4)
        return "crossing", Ends(low=first, high=last, strides=strides, attack=self._pick_attack(last))

    def _pick_attack(self, place: int) -> str:
        nearest = min(self.points, key=lambda at: (abs(at - place), at))
        return self.points[nearest].attack

    def list_falls(self) -> list[tuple[int, int]]:
        """Return pairs of places where the number is smaller at the larger epsilon; all share one error.

        Only the largest fall of each place is told.
        """
        places = sorted(self.points)
        share = _FALL / max(1, len(places) * (len(places) - 1))
        lower = {at: self.points[at].lower_of_any(share) for at in places}
        upper = {at: self.points[at].upper(share) for at in places}
        falls = []
        for number, first in enumerate(places):
            later = [at for at in places[number + 1 :] if upper[at] < lower[first]]
            if later:
                falls.append((first, min(later, key=upper.__getitem__)))
        return falls


@dataclass(frozen=True)
class _Curve:
    """The points around a crossing, made monotone, with how far the ends of fresh trials will lie away.

    All numbers are on the scale of the target on which curves are straighter.
    """

    places: Sequence[int]
    values: Floats
    above: Floats  # from the value to the upper end of fresh trials
    below: Floats
    level: float

    @classmethod
    def through(cls, points: Mapping[int, Strongest], search: Search) -> "_Curve":
        """Return the curve; fresh ends are those of as many trials that would go the same way."""
        from scipy.optimize import isotonic_regression

        share, scale = attempt_error(search.error, 1), search.target.straighten
        forecasts = [point.grow(search.trials) for point in points.values()]
        values = np.array([scale(point.value) for point in points.values()])
        weights = np.array([point.trials for point in points.values()], dtype=np.float64)
        above = [scale(point.upper(share)) - scale(point.value) for point in forecasts]
        below = [scale(point.value) - scale(point.lower(share, point.attack)) for point in forecasts]
        smooth = np.asarray(isotonic_regression(values, weights=weights).x, dtype=np.float64)
        return cls(
            places=list(points),
            values=smooth,
            above=np.array(above),
            below=np.array(below),
            level=scale(search.target.level),
        )

    @property
    def crosses(self) -> bool:
        """Whether it begins below the level and ends above it."""
        return bool(self.values[0] < self.level < self.values[-1])

    def find_crossing(self) -> float:
        """Return the place, between those of the grid, where the curve reaches the level."""
        after = int(np.flatnonzero(self.values > self.level)[0])
        first, last = self.values[after - 1], self.values[after]
        share = (self.level - first) / (last - first)
        return self.places[after - 1] + float(share) * (self.places[after] - self.places[after - 1])

    def find_ends(self, crossing: float) -> tuple[int, int]:
        """Return the closest places on both sides that fresh trials will probably confirm.

        The way to the level is to be twice that to the end of an interval: once for the interval, once
        because neither these values nor those of fresh trials are the true ones. The first and the last
        point were clear with fewer trials, or there are no others: the ends lie between them.
        """
        low, high = math.ceil(crossing) - 1, math.floor(crossing) + 1
        while (
            low > self.places[0] and self._at(low, self.values) + 2 * self._at(low, self.above) >= self.level
        ):
            low -= 1
        while (
            high < self.places[-1]
            and self._at(high, self.values) - 2 * self._at(high, self.below) <= self.level
        ):
            high += 1
        return low, high

    def _at(self, place: int, numbers: Floats) -> float:
        return float(np.interp(place, self.places, numbers))
