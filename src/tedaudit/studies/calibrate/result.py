"""What a calibration found, and what it says in plain words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from tedaudit.errors import SpecError, join_names
from tedaudit.estimators.readings import Strongest
from tedaudit.nominal import Nominal
from tedaudit.studies.calibrate.answer import Answer
from tedaudit.studies.calibrate.confirm import Attempt
from tedaudit.studies.calibrate.target import Target, TargetReach
from tedaudit.studies.calibrate.words import describe
from tedaudit.text.plain_data import PlainData


@dataclass(frozen=True)
class Point(PlainData):
    """An epsilon that the search visited, or that fresh trials were made at."""

    epsilon: Nominal
    reading: Strongest
    is_fresh: bool = False
    in_json: ClassVar[str] = "epsilon, is_fresh as fresh, reading.trials, reading.attack as strongest, values"

    @property
    def value(self) -> float:
        """The number of the strongest attack."""
        return self.reading.value

    @property
    def values(self) -> dict[str, float]:
        """The number of every attack."""
        return {name: reading.value for name, reading in self.reading.readings.items()}


@dataclass(frozen=True)
class Fall:
    """Two visited epsilons, the larger of which has clearly the smaller number."""

    before: Point
    after: Point


@dataclass(frozen=True)
class EpsilonForTarget(PlainData):
    """Which nominal epsilons of one mechanism reach a target on these texts, under these attacks.

    At `low` the number is below the target and at `high` above it, each confirmed by fresh trials or None;
    all of it is wrong with probability at most `error`.
    """

    label: str
    target: Target
    answer: Answer
    low: Nominal | None
    high: Nominal | None
    error: float
    trials: int
    attacks: tuple[str, ...]
    limits: tuple[Nominal, Nominal]  # the least and the largest epsilon of the search
    points: tuple[Point, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    falls: tuple[Fall, ...] = ()
    reach: TargetReach = field(default_factory=TargetReach)
    in_json: ClassVar[str] = (
        "label as mechanism, *target, answer, low, high, width, error, trials, attacks, limits as searched, "
        "reach.trials_needed, falling as falls, points, attempts, sentences"
    )

    @property
    def level(self) -> float:
        """The confidence: one less the error."""
        return 1 - self.error

    @property
    def width(self) -> float | None:
        """The natural logarithm of high over low; None without an interval."""
        return None if self.low is None or self.high is None else math.log(self.high / self.low)

    @property
    def falling(self) -> list[tuple[Nominal, Nominal]]:
        """The two epsilons of each fall."""
        return [(fall.before.epsilon, fall.after.epsilon) for fall in self.falls]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, and what that does not say."""
        return describe(self)


@dataclass(frozen=True)
class Calibrated(PlainData):
    """The answers for all mechanisms and targets of one calibration, and the run that they come from."""

    folder: Path
    corpus: str
    answers: tuple[EpsilonForTarget, ...]
    keeper: object = field(default=None, repr=False, compare=False)
    """Keeps a temporary run directory alive as long as the result."""
    in_json: ClassVar[str] = "folder, corpus, answers"

    def __iter__(self) -> Iterator[EpsilonForTarget]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    def of(self, label: str, target: float | None = None) -> EpsilonForTarget:
        """Return the answer for a mechanism; name the target too if there are several."""
        found = [a for a in self.answers if a.label == label and target in (None, a.target.value)]
        if len(found) != 1:
            known = join_names([f"{a.label} at {a.target.value:g}" for a in self.answers])
            raise SpecError(f"There is not one answer for '{label}' alone. There are: {known}.")
        return found[0]


def list_points(
    explored: Mapping[Nominal, Strongest], fresh: Mapping[Nominal, Strongest]
) -> tuple[Point, ...]:
    """Return all points by epsilon, those of the search before fresh ones."""
    points: Sequence[Point] = [
        *(Point(epsilon, reading) for epsilon, reading in explored.items()),
        *(Point(epsilon, reading, is_fresh=True) for epsilon, reading in fresh.items()),
    ]
    return tuple(sorted(points, key=lambda point: (point.epsilon, point.is_fresh)))
