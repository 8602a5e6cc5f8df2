"""What a calibration found, and what it says in plain words."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from tedaudit.errors import SpecError, join_names
from tedaudit.estimators.readings import Strongest
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import Finding
from tedaudit.studies.calibrate.confirm import ATTEMPTS, Attempt, Side
from tedaudit.studies.calibrate.target import Target, TargetReach
from tedaudit.text.plain_data import PlainData


class Answer(StrEnum):
    """The kinds of answer."""

    INTERVAL = "interval"
    ABOVE = "above at the least epsilon"
    BELOW = "below at the largest epsilon"
    TOO_HIGH = "above the ceiling of the trials"
    TOO_NEAR_CHANCE = "too near to chance for the trials"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Point(PlainData):
    """An epsilon that the search visited, or that fresh trials were made at."""

    epsilon: Nominal
    reading: Strongest
    is_fresh: bool = False
    proven: Finding | None = None  # what fresh trials prove: the row with the largest eps_emp
    in_json: ClassVar[str] = (
        "epsilon, is_fresh as fresh, reading.trials, reading.attack as strongest, values, "
        "proven.eps_emp, proven.attack as eps_emp_attack, proven.bound.ceiling, "
        "proven.bound.error as eps_emp_error"
    )

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
        "label as mechanism, *target, answer, low, high, eps_emp_low, eps_emp_high, width, error, trials, "
        "attacks, limits as searched, reach.trials_needed, falling as falls, points, attempts, sentences"
    )

    def add_bounds(self, proven: Mapping[tuple[str, Nominal], Finding]) -> "EpsilonForTarget":
        """Return it with what its fresh trials prove, by mechanism and epsilon."""
        points = tuple(
            replace(point, proven=proven.get((self.label, point.epsilon))) if point.is_fresh else point
            for point in self.points
        )
        return replace(self, points=points)

    @property
    def eps_emp_low(self) -> float | None:
        """What the last fresh trials at the low end prove; None if there are none."""
        return None if (proven := self.find_proven("low")) is None else proven.eps_emp

    @property
    def eps_emp_high(self) -> float | None:
        """What the last fresh trials at the high end prove; None if there are none."""
        return None if (proven := self.find_proven("high")) is None else proven.eps_emp

    def find_proven(self, side: Side) -> Finding | None:
        """Return the row with the largest eps_emp of the last fresh trials at an end."""
        tried = [attempt.epsilon for attempt in self.attempts if attempt.side == side]
        proven = {point.epsilon: point.proven for point in self.points if point.is_fresh}
        return proven.get(tried[-1]) if tried else None

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
        """What was found, the answer itself first, and what that does not say."""
        sentences = [f"{self.label}: {_TELL[self.answer](self)}"]
        if self.eps_emp_low is not None or self.eps_emp_high is not None:
            sentences.append(_tell_proven(self))
        if self.falls:
            sentences.append(_tell_falls(self))
        if self.answer is Answer.INTERVAL:
            sentences.append(_tell_between(self))
        return tuple(sentences)


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
            raise SpecError(f"There is no single answer for '{label}'. There are: {known}.")
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


# --- The answer of a calibration in plain words: what was found, and what that does not say.


def _who(found: EpsilonForTarget) -> str:
    """Return what is measured, and by whom."""
    if found.target.is_loss:
        return f"the {found.target.measured} that the losses allow"
    if len(found.attacks) == 1:
        return f"the {found.target.measured} of {found.attacks[0]}"
    return f"the {found.target.measured} of the strongest of {join_names(found.attacks)}"


def _tell_interval(found: EpsilonForTarget) -> str:
    assert found.low is not None and found.high is not None  # noqa: S101, PT018 - by the kind of the answer
    return (
        f"between nominal epsilon {found.low.label} and {found.high.label}, {_who(found)} crosses "
        f"{found.target.phrase}; error {found.error:g}, {found.trials:,} fresh trials at each end."
    )


def _tell_above(found: EpsilonForTarget) -> str:
    return (
        f"already above {found.target.phrase} at nominal epsilon {found.limits[0].label}, the smallest "
        f"that was tried (error {found.error:g}). If that epsilon is next to nothing, it is not the noise "
        "that lets texts be told apart; `tedaudit leaks` looks for the reason."
    )


def _tell_below(found: EpsilonForTarget) -> str:
    stronger = "" if found.target.is_loss else " A stronger attack may."
    return (
        f"still below {found.target.phrase} at nominal epsilon {found.limits[1].label}, the largest that "
        f"was tried (error {found.error:g}): {_who(found)} does not reach it, or only at a larger "
        f"epsilon.{stronger}"
    )


def _tell_proven(found: EpsilonForTarget) -> str:
    """Return eps_emp at the ends, with the guesses that it comes from."""
    ends = filter(None, (found.find_proven("low"), found.find_proven("high")))
    told = [f"{one.eps_emp:.2f} at {one.epsilon.label} ({one.attack}: {one.evidence})" for one in ends]
    return f"eps_emp of the same fresh trials is {' and '.join(told)}."


def _tell_too_high(found: EpsilonForTarget) -> str:
    what = "loss were far above it" if found.target.is_loss else "guess were right"
    return (
        f"{found.target.phrase} is above the ceiling of {found.trials:,} trials: even if every {what}, they "
        f"could not show that it is reached. {_tell_needed(found)} Nothing was run."
    )


def _tell_near_chance(found: EpsilonForTarget) -> str:
    least = "no loss at all" if found.target.is_loss else "what blind guessing gives"
    return (
        f"{found.trials:,} trials cannot tell {least} from {found.target.phrase}, so they cannot show that "
        f"anything is below it. {_tell_needed(found)} Nothing was run."
    )


def _tell_needed(found: EpsilonForTarget) -> str:
    needed = found.reach.trials_needed
    return "It takes many millions of trials." if needed is None else f"It takes about {needed:,} trials."


def _tell_undecided(found: EpsilonForTarget) -> str:
    known = ""
    if found.low is not None:
        known = f" At epsilon {found.low.label} it is below the target; no epsilon was shown to be above it."
    elif found.high is not None:
        known = f" At epsilon {found.high.label} it is above the target; no epsilon was shown to be below it."
    return (
        f"{found.trials:,} fresh trials did not show where {_who(found)} crosses {found.target.phrase}, in "
        f"{ATTEMPTS} attempts between nominal epsilon {found.limits[0].label} and "
        f"{found.limits[1].label}.{known} More trials may show it."
    )


def _tell_falls(found: EpsilonForTarget) -> str:
    worst = max(found.falls, key=lambda fall: fall.before.value - fall.after.value)
    show = found.target.show
    return (
        f"The curve is not monotone: from {show(worst.before.value)} at epsilon "
        f"{worst.before.epsilon.label} it falls to {show(worst.after.value)} at {worst.after.epsilon.label}. "
        "A smaller epsilon need not be more private."
    )


def _tell_between(found: EpsilonForTarget) -> str:
    assert found.low is not None  # noqa: S101 - by the kind of the answer
    if found.falls:
        return "So all that is said is that a crossing lies between the two; there may be others elsewhere."
    searched = sum(not point.is_fresh for point in found.points)
    under = "" if found.target.is_loss else " for these attacks"
    return (
        f"No fall was seen at the {searched} epsilons visited. If the number never falls as epsilon grows, "
        f"every epsilon up to {found.low.label} stays below the target{under}; this was not proved."
    )


_TELL = {
    Answer.INTERVAL: _tell_interval,
    Answer.ABOVE: _tell_above,
    Answer.BELOW: _tell_below,
    Answer.TOO_HIGH: _tell_too_high,
    Answer.TOO_NEAR_CHANCE: _tell_near_chance,
    Answer.UNDECIDED: _tell_undecided,
}
