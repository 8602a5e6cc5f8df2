"""What differs between runs, attacks or mechanisms: findings side by side, from the tables alone.

Two findings on one plan met the same candidates, the same secrets and the same noise keys, so they
are compared trial by trial. On different plans they are compared by an interval of each, and that
is said. A difference is always the second side less the first, which is the reference. It is one of
success rates, or of the epsilons that these stand for; eps_emp is never subtracted, because it has the
error that the rows of its own run share.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.bound import Interval, check_alpha
from tedaudit.estimators.paired import (
    PairedCounts,
    mcnemar,
    paired_counts,
    paired_epsilon_interval,
    paired_interval,
    rank_agreement,
    separate_intervals,
    smoothed_success,
)
from tedaudit.nominal import NO_EPSILON, Nominal, distinct_epsilons
from tedaudit.results.lineups import (
    Axis,
    LineUp,
    OpenedRun,
    Side,
    difference_of_plans,
    line_ups,
    open_runs,
    put_first,
)
from tedaudit.store.directory import RunDirectory
from tedaudit.text.plain_data import PlainData, pick

# --- Which run, mechanism or attack the others are compared with, if none is named.
#
# The choice looks at what was tried and never at how it came out: a reference that was picked by its
# results would make differences out of luck.


@dataclass(frozen=True, slots=True)
class Baseline:
    """What others are compared with, and in how many settings; `named` if somebody asked for it."""

    member: str
    settings: int
    named: bool = False


def choose_reference(
    groups: Sequence[LineUp], axis: Axis, against: str | None
) -> tuple[list[LineUp], tuple[Baseline, ...]]:
    """Return the line-ups with the reference first, and what it is.

    It is the member of most line-ups; of equals, the first by run, then by name. Line-ups that lack it have
    one of their own, by the same rule. If one is named, line-ups without it are left out.
    """
    if against is not None:
        return _take_named(groups, axis, against)
    left, references = list(groups), []
    ordered: dict[int, LineUp] = {}
    while left:
        member = _find_commonest(left)
        own = [group for group in left if _has(group, member)]
        ordered |= {id(group): put_first(group, member) for group in own}
        references.append(Baseline(member, len(own)))
        left = [group for group in left if not _has(group, member)]
    return [ordered[id(group)] for group in groups], tuple(references)


def _take_named(
    groups: Sequence[LineUp], axis: Axis, against: str
) -> tuple[list[LineUp], tuple[Baseline, ...]]:
    names = {side.member for group in groups for side in group.sides}
    if against not in names:
        raise SpecError(
            f"There is no {axis} '{against}' to compare with.{did_you_mean(against, names)} "
            f"There are: {join_names(names)}."
        )
    own = [put_first(group, against) for group in groups if _has(group, against)]
    return own, (Baseline(against, len(own), named=True),)


def _find_commonest(groups: Sequence[LineUp]) -> str:
    settings: dict[str, int] = {}
    first: dict[str, int] = {}
    for group in groups:
        for side in group.sides:
            first[side.member] = min(first.get(side.member, side.run.number), side.run.number)
        for member in {side.member for side in group.sides}:
            settings[member] = settings.get(member, 0) + 1
    return min(settings, key=lambda member: (-settings[member], first[member], member))


def _has(group: LineUp, member: str) -> bool:
    return any(side.member == member for side in group.sides)


DifferenceScale = Literal["success", "epsilon"]


@dataclass(frozen=True, slots=True)
class Span(PlainData):
    """A difference with its interval; an end may be infinite."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the sides differ by this interval."""
        return self.low > 0 or self.high < 0

    @property
    def endless(self) -> bool:
        """Whether an end is infinite: that side was never wrong."""
        return math.isinf(self.low) or math.isinf(self.high)


@dataclass(frozen=True, slots=True)
class Comparison(PlainData):
    """Two findings side by side."""

    plan: str
    epsilon: Nominal
    first: Side
    second: Side
    counts: PairedCounts | None  # on the trials that both have; None: not the same trials
    unpaired: str  # why not
    success: Span | None  # None if the sides had different numbers of candidates
    epsilon_span: Span  # of the epsilons that the success rates stand for; eps_emp is never subtracted
    p: float | None  # McNemar's; None if it is unpaired
    differs: bool = False  # at an error of alpha for all comparisons together
    in_json: ClassVar[str] = (
        "plan, epsilon, first, second, is_paired as paired, unpaired as unpaired_because, counts, any_time, "
        "success as success_difference, epsilon_span as epsilon_difference, p, differs"
    )

    @property
    def is_paired(self) -> bool:
        """Whether both sides met the same trials."""
        return self.counts is not None

    @property
    def any_time(self) -> bool:
        """Whether test and intervals are those valid at every look."""
        return self.first.any_time or self.second.any_time

    def size(self, scale: DifferenceScale) -> float:
        """Return how large the difference is; 0 if it has none on this scale."""
        span = self.success if scale == "success" else self.epsilon_span
        return 0.0 if span is None else abs(span.value)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison safe for JSON."""
        return pick(self) | {"unpaired_because": self.unpaired or None}


@dataclass(frozen=True, slots=True)
class Agreement(PlainData):
    """Whether two runs or two attacks rank the mechanisms alike at one epsilon."""

    plan: str
    epsilon: Nominal
    within: str  # what both have in common: the attack, or the run
    first: str
    second: str
    mechanisms: int
    tau: float | None  # None if one of them ranks all alike


@dataclass(frozen=True, slots=True)
class Compared(PlainData):
    """Everything that was compared."""

    by: Axis
    alpha: float
    runs: tuple[dict[str, Any], ...]
    comparisons: tuple[Comparison, ...]
    agreements: tuple[Agreement, ...]
    notes: tuple[str, ...]
    opened: tuple[OpenedRun, ...] = ()  # the runs themselves, for a chart of all their findings
    references: tuple[Baseline, ...] = ()  # what others are compared with, the one in most settings first
    scale: DifferenceScale = "success"  # in which differences are shown and sorted
    in_json: ClassVar[str] = "by, alpha, scale, runs, references, comparisons, agreements, notes"

    @property
    def corpora(self) -> list[dict[str, Any]]:
        """The corpora that were audited, each once."""
        return list({run["corpus"]["fingerprint"]: run["corpus"] for run in self.runs}.values())


def compare_runs(
    runs: Sequence[RunDirectory],
    by: Axis | None = None,
    against: str | None = None,
    alpha: float = 0.01,
    scale: DifferenceScale | None = None,
) -> Compared:
    """Compare the members of an axis with one of them, or with `against`; no model is loaded.

    Rows that differ come first, then the largest differences: of success rates, or of epsilon if some sides
    had different numbers of candidates, unless a scale is asked for.
    """
    alpha = check_alpha(alpha)
    opened = open_runs(runs)
    axis: Axis = by or ("run" if len(runs) > 1 else "attack")
    groups, references = choose_reference(line_ups(opened, axis), axis, against)
    compared = [_compare_sides(group, first, second, alpha) for group, first, second in _pairs(groups)]
    share = alpha / len(compared)
    rows = tuple(replace(comparison, differs=_differs(comparison, share)) for comparison in compared)
    agreements = () if axis == "mechanism" else tuple(_agreements(groups))
    about = tuple(
        {
            "name": run.name, "written": run.manifest.get("written", ""), "version": run.version,
            "corpus": run.corpus,
        }
        for run in opened
    )  # fmt: skip
    notes = tuple(_notes(opened, rows))
    shown = scale or ("success" if all(row.success is not None for row in rows) else "epsilon")
    ordered = tuple(sorted(rows, key=lambda row: (not row.differs, -row.size(shown))))
    return Compared(axis, alpha, about, ordered, agreements, notes, tuple(opened), references, shown)


def _pairs(groups: Sequence[LineUp]) -> Iterator[tuple[LineUp, Side, Side]]:
    """Yield what is compared; two mechanisms that take no epsilon are compared once, not at every one."""
    compared = set()
    for group in groups:
        first = group.sides[0]
        for second in group.sides[1:]:
            neither = not first.finding.epsilon.is_given and not second.finding.epsilon.is_given
            pair = (group.plan, group.within, first.finding, second.finding)
            if second.member != first.member and not (neither and pair in compared):
                yield (replace(group, epsilon=NO_EPSILON) if neither else group), first, second
                compared.add(pair)


def _compare_sides(group: LineUp, first: Side, second: Side, alpha: float) -> Comparison:
    reason = difference_of_plans(first, second)
    if reason:
        success, span = _compare_separately(first, second, alpha)
        return Comparison(group.plan, group.epsilon, first, second, None, reason, success, span, None)
    outcomes = [side.run.outcomes(side.finding) for side in (first, second)]
    trials = min(map(len, outcomes))
    counts = paired_counts(outcomes[0][:trials], outcomes[1][:trials])
    any_time = first.any_time or second.any_time
    interval = confidence_sequence if any_time else clopper_pearson
    ends = paired_interval(counts, alpha, interval)
    success = Span((counts.second_only - counts.first_only) / trials, *ends)
    span = _compare_epsilons(counts, (first, second), alpha, interval)
    p = mcnemar(counts, any_time=any_time)
    return Comparison(group.plan, group.epsilon, first, second, counts, "", success, span, p)


def _compare_epsilons(
    counts: PairedCounts, sides: tuple[Side, Side], alpha: float, interval: Interval
) -> Span:
    """Return the difference of epsilons on the trials that both have."""
    first, second = sides
    value = _point(second, counts.both + counts.second_only, counts.trials) - _point(
        first, counts.both + counts.first_only, counts.trials
    )
    scales = (first.scale, second.scale)
    return Span(value, *paired_epsilon_interval(counts, scales, alpha, interval))


def _compare_separately(first: Side, second: Side, alpha: float) -> tuple[Span | None, Span]:
    """Return the differences of findings on other trials: the interval of each, half of alpha to each."""
    bounds = [side.finding.bound for side in (first, second)]
    ranges = [
        (confidence_sequence if side.any_time else clopper_pearson)(bound.correct, bound.trials, alpha / 2)
        for side, bound in zip((first, second), bounds, strict=True)
    ]
    points = [_point(side, side.finding.bound.correct, side.finding.bound.trials) for side in (first, second)]
    span = Span(points[1] - points[0], *_epsilon_ends(first, second, ranges))
    if first.scale.candidates != second.scale.candidates:
        return None, span
    return Span(bounds[1].success - bounds[0].success, *separate_intervals(*ranges)), span


def _point(side: Side, right: int, trials: int) -> float:
    return side.scale.epsilon(float(smoothed_success(right, trials)))


def _epsilon_ends(first: Side, second: Side, ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    ends = [
        (side.scale.epsilon(low), side.scale.epsilon(high))
        for side, (low, high) in zip((first, second), ranges, strict=True)
    ]
    return separate_intervals(*ends)


def _differs(comparison: Comparison, share: float) -> bool:
    """Return whether the sides differ at this comparison's share of alpha."""
    if comparison.p is not None:
        return comparison.p <= share
    success, span = _compare_separately(comparison.first, comparison.second, share)
    return (success or span).excludes_zero


def _agreements(groups: Sequence[LineUp]) -> Iterator[Agreement]:
    """Yield Kendall's tau of eps_emp over the mechanisms; one without an epsilon is ranked at every one."""
    places = {(group.plan, group.within) for group in groups}
    for plan, within in sorted(places):
        own = [group for group in groups if (group.plan, group.within) == (plan, within)]
        for epsilon in distinct_epsilons(group.epsilon for group in own):
            ranked: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for group in (group for group in own if group.epsilon.covers(epsilon)):
                first = group.sides[0]
                for other in group.sides[1:]:
                    bounds = (first.finding.eps_emp, other.finding.eps_emp)
                    ranked.setdefault((first.member, other.member), []).append(bounds)
            for (member, rival), values in ranked.items():
                if len(values) > 1:
                    tau = rank_agreement(*zip(*values, strict=True))
                    yield Agreement(plan, epsilon, within, member, rival, len(values), tau)


def _notes(opened: Sequence[OpenedRun], rows: Sequence[Comparison]) -> Iterator[str]:
    """Yield what a reader must know before believing a number."""
    used = {(side.run.number, side.finding) for row in rows for side in (row.first, row.second)}
    for run in opened:
        if not run.result.finished:
            yield f"{run.name}: {run.result.unfinished}"
        several = {f.plan_base for f in run.result if not f.one_guess_per_trial}
        if several:
            yield (
                f"{run.name}: {join_names(several)} is not compared: a trial of its estimator has several "
                "guesses, and is neither right nor wrong as a whole"
            )
        alone = [f for f in run.result if f.one_guess_per_trial and (run.number, f) not in used]
        if alone:
            yield f"{run.name}: {len(alone)} of {len(run.result.findings)} findings have nothing beside them"
    if any(row.any_time for row in rows):
        yield (
            "a run does not have all of its trials, or was extended after its results had been seen: its "
            "p-values and intervals are those valid at every look"
        )
    for why in dict.fromkeys(row.unpaired for row in rows if row.unpaired):
        yield f"some differences are unpaired, from an interval of each side: {why}"
