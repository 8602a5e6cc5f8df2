"""Ends that fresh trials confirm: what is said of them is wrong with probability at most the error.

Whatever chose the ends, the trials here are new. Half of the error belongs to each end. If the number is not
below the target at an end called `low`, an attempt there confirms it with at most its own share of the error,
and attempt j has 1 / (j (j + 1)) of it, so all attempts together have that half. Where an end moves to was
fixed before the first fresh trial was made, so attempts may share candidates, secrets and noise: a sum of
probabilities needs no independence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tedaudit.estimators.readings import Strongest
from tedaudit.plugins.nominal import Nominal
from tedaudit.studies.calibrate.search import Ends, Grid, epsilon_at
from tedaudit.studies.calibrate.target import Target, attempt_error
from tedaudit.text.plain_data import PlainData

Side = Literal["low", "high"]
ATTEMPTS = 12  # at each end


@dataclass(frozen=True, slots=True)
class Attempt(PlainData):
    """Fresh trials at one epsilon: whether they show that the number is below, or above, the target."""

    side: Side
    number: int
    epsilon: Nominal
    attack: str  # whose end it is
    trials: int
    value: float
    end: float  # the upper end of a low side, the lower end of a high one
    error: float
    confirmed: bool


@dataclass
class Confirmation:
    """The two ends of one mechanism and target, and every attempt at them."""

    target: Target
    grid: Grid
    error: float
    ends: Ends
    attempts: list[Attempt] = field(default_factory=list)
    _places: dict[Side, int | None] = field(init=False)

    def __post_init__(self) -> None:
        self._places = {"low": self.ends.low, "high": self.ends.high}

    def list_wanted(self) -> list[int]:
        """Return the places at which fresh trials are needed."""
        return sorted({place for side in ("low", "high") if (place := self._get_place(side)) is not None})

    def take(self, seen: Mapping[int, Strongest]) -> None:
        """Judge fresh trials; an end that they do not confirm moves one step out, if there is room."""
        for side in ("low", "high"):
            place = self._get_place(side)
            if place is None:
                continue
            made = self._judge(side, place, seen[place])
            self.attempts.append(made)
            if not made.confirmed:
                self._places[side] = self._move_out(side, place, made.number)

    def find_confirmed(self, side: Side) -> Nominal | None:
        """Return the epsilon that fresh trials confirmed as an end, if they did."""
        return next((made.epsilon for made in self.attempts if made.side == side and made.confirmed), None)

    def _get_place(self, side: Side) -> int | None:
        """Return the place where the next attempt at a side is made; None if there is no more to do."""
        return None if self.find_confirmed(side) is not None else self._places[side]

    def _judge(self, side: Side, place: int, seen: Strongest) -> Attempt:
        number = 1 + sum(made.side == side for made in self.attempts)
        share = attempt_error(self.error, number)
        if side == "low":
            end = seen.upper(share)
            confirmed, attack, value = end < self.target.level, seen.attack, seen.value
        else:
            attack = self.ends.attack
            end, value = seen.lower(share, attack), seen.readings[attack].value
            confirmed = end > self.target.level
        return Attempt(
            side=side,
            number=number,
            epsilon=epsilon_at(place),
            attack=attack,
            trials=seen.trials,
            value=value,
            end=end,
            error=share,
            confirmed=confirmed,
        )

    def _move_out(self, side: Side, place: int, attempt: int) -> int | None:
        low, high = self.ends.strides
        moved = max(self.grid.low, place - low) if side == "low" else min(self.grid.high, place + high)
        return None if moved == place or attempt >= ATTEMPTS else moved
