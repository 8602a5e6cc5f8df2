"""What some trials at one epsilon say of a number that grows with it: a success rate, or epsilon at a delta.

A calibration compares that number with a target. Either end of a reading is wrong with probability at most
the error asked for, from a number of trials that was fixed beforehand.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tedaudit.estimators.intervals import clopper_pearson
from tedaudit.estimators.loss import LossSample
from tedaudit.plugins.values import Floats


class Reading(Protocol):
    """What one attack, or the losses, say at one epsilon."""

    @property
    def trials(self) -> int:
        """How many trials there were."""
        ...

    @property
    def value(self) -> float:
        """The number as these trials have it."""
        ...

    def ends(self, error: float) -> tuple[float, float]:
        """Return the lower and the upper end, each with this error."""
        ...

    def grow(self, trials: int) -> "Reading":
        """Return the reading had there been so many trials that went the same way: a forecast alone."""
        ...


@dataclass(frozen=True, slots=True)
class SuccessReading:
    """How often an attack named the secret."""

    correct: int
    trials: int

    @property
    def value(self) -> float:
        """The share of right guesses."""
        return self.correct / self.trials

    def ends(self, error: float) -> tuple[float, float]:
        """Return the ends of Clopper and Pearson."""
        return clopper_pearson(self.correct, self.trials, 2 * error)

    def grow(self, trials: int) -> "SuccessReading":
        """Return the same share of so many trials."""
        return SuccessReading(round(self.value * trials), trials)


@dataclass(frozen=True)
class LossReading:
    """The losses of trials, read as the least epsilon that they allow at a delta."""

    losses: Floats
    unknown: int
    delta: float

    @property
    def trials(self) -> int:
        """How many trials there were, with those of which the loss is unknown."""
        return len(self.losses) + self.unknown

    @property
    def value(self) -> float:
        """Epsilon at the delta, as these trials have it; NaN if no loss is known."""
        return self._sample(0.5).epsilon_at(self.delta).point if len(self.losses) else math.nan

    def ends(self, error: float) -> tuple[float, float]:
        """Return the ends by order statistics."""
        if not len(self.losses):
            return 0.0, math.inf
        found = self._sample(error).epsilon_at(self.delta)
        return found.lower, found.upper

    def grow(self, trials: int) -> "LossReading":
        """Return as many trials with losses of the same shares."""
        unknown = round(self.unknown * trials / self.trials)
        known = trials - unknown if len(self.losses) else 0
        places = np.arange(known) * len(self.losses) // max(1, known)
        return LossReading(np.sort(self.losses)[places], trials - known, self.delta)

    def _sample(self, error: float) -> LossSample:
        return LossSample(self.losses, error, self.unknown)


@dataclass(frozen=True)
class Strongest:
    """What several attacks say at one epsilon; the number is that of the strongest, the largest of all.

    The largest is below a target only if every one is. If one of them is not, then its own end has to fail
    for all ends to lie below: so each upper end may have the whole error, and no share of it. That the
    largest is above a target is shown by a single attack that was named beforehand, with the whole error too.
    """

    readings: Mapping[str, Reading]

    @property
    def trials(self) -> int:
        """How many trials each attack had."""
        return min(reading.trials for reading in self.readings.values())

    @property
    def attack(self) -> str:
        """The attack with the largest number."""
        return max(self.readings, key=lambda name: self.readings[name].value)

    @property
    def value(self) -> float:
        """The largest number."""
        return self.readings[self.attack].value

    def lower(self, error: float, attack: str) -> float:
        """Return a lower end of the largest number: that of an attack that was not chosen by these trials."""
        return self.readings[attack].ends(error)[0]

    def lower_of_any(self, error: float) -> float:
        """Return a lower end of the largest number with no attack named beforehand: all share the error."""
        return max(self.lower(error / len(self.readings), name) for name in self.readings)

    def upper(self, error: float) -> float:
        """Return an upper end of the largest number."""
        return max(reading.ends(error)[1] for reading in self.readings.values())

    def grow(self, trials: int) -> "Strongest":
        """Return the forecast of every attack."""
        return Strongest({name: reading.grow(trials) for name, reading in self.readings.items()})
