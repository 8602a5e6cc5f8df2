"""What a frontier found: for each target and mechanism, the scores at the epsilons that reach it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from tedaudit.plugins.nominal import Nominal
from tedaudit.studies.calibrate.result import Answer, Calibrated, EpsilonForTarget
from tedaudit.studies.utility.results import Change, Measurement, Scores, Task, UtilityResult, compare_scores
from tedaudit.text.plain_data import PlainData, pick


@dataclass(frozen=True)
class FrontierPoint(PlainData):
    """One mechanism at one target on one task.

    `low` has the scores at the epsilon that was confirmed to be below the target, `high` those at the one
    above it; None if there is no such epsilon.
    """

    answer: EpsilonForTarget
    task: Task
    low: Scores | None
    high: Scores | None
    in_json: ClassVar[str] = (
        "task.name as task, task.role, *answer.target, answer.label as mechanism, answer.answer, answer.low, "
        "answer.high, answer.eps_emp_low, answer.eps_emp_high, low as score_low, high as score_high"
    )


@dataclass(frozen=True)
class Frontier(PlainData):
    """Mechanisms calibrated to the same targets, and what classifiers learn from their rewrites there."""

    calibrated: Calibrated
    utility: UtilityResult | None  # None if no mechanism has an epsilon that could be scored
    points: tuple[FrontierPoint, ...]
    keeper: object = field(default=None, repr=False, compare=False)
    in_json: ClassVar[str] = "calibrated as calibration, utility, points"

    def __iter__(self) -> Iterator[FrontierPoint]:
        return iter(self.points)

    @property
    def differences(self) -> list[tuple[FrontierPoint, FrontierPoint, Change]]:
        """Each mechanism against the first one that has a score there, at the low ends of equal targets."""
        found = []
        for first in self._find_firsts():
            for point in self.points:
                same = (point.task, point.answer.target) == (first.task, first.answer.target)
                if not same or point is first or point.low is None or first.low is None:
                    continue
                change = compare_scores(first.low, point.low)
                if change is not None:
                    found.append((first, point, change))
        return found

    def _find_firsts(self) -> list[FrontierPoint]:
        firsts: dict[tuple[str, float], FrontierPoint] = {}
        for point in self.points:
            if point.low is not None:
                firsts.setdefault((point.task.name, point.answer.target.value), point)
        return list(firsts.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the frontier safe for JSON."""
        differences = [
            {
                **pick(point, "task.name as task, answer.target.value as target, answer.label as mechanism"),
                "against": first.answer.label, **pick(change, "value as difference, low, high"),
                "over_both_ends": range_over_ends(first, point),
            }
            for first, point, change in self.differences
        ]  # fmt: skip
        return pick(self) | {"differences": differences}


def range_over_ends(first: FrontierPoint, point: FrontierPoint) -> tuple[float, float] | None:
    """Return the least and the largest difference, wherever between its ends each has the target.

    A score may fall with epsilon, so that each end of one is held against each end of the other. None if an
    end has no score.
    """
    if first.low is None or first.high is None or point.low is None or point.high is None:
        return None
    ends = [own.mean - its.mean for own in (point.low, point.high) for its in (first.low, first.high)]
    return min(ends), max(ends)


def list_scored(answer: EpsilonForTarget) -> list[Nominal]:
    """Return the epsilons at which an answer is worth scoring: those at or just around the target.

    One that is above the target at the least epsilon has none.
    """
    ends = [answer.low, answer.high] if answer.answer is Answer.INTERVAL else [answer.low]
    return [end for end in ends if end is not None]


def place_scores(calibrated: Calibrated, utility: UtilityResult | None) -> tuple[FrontierPoint, ...]:
    """Return a point for every task, target and mechanism; without a study there is none."""
    if utility is None:
        return ()
    measured = {(m.mechanism, m.epsilon, m.task): m for m in utility}

    def find(answer: EpsilonForTarget, task: Task, end: Nominal | None) -> Scores | None:
        found: Measurement | None = None
        if end is not None and end in list_scored(answer):
            found = measured.get((answer.label, end, task.name))
        return None if found is None else found.scores

    return tuple(
        FrontierPoint(
            answer=answer, task=task, low=find(answer, task, answer.low), high=find(answer, task, answer.high)
        )
        for task in utility.tasks
        for answer in calibrated
    )
