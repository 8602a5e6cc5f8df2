"""What differs between runs, attacks or mechanisms: findings side by side, from the tables alone.

Two findings on one plan met the same candidates, the same secrets and the same noise keys, so they
are compared trial by trial. On different plans they are compared by an interval of each, and that
is said. A difference is always the second side less the first, which is the reference.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tedaudit.errors import SpecError, did_you_mean, listed
from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.bound import checked_alpha
from tedaudit.estimators.paired import (
    PairedCounts,
    epsilon_bootstrap,
    mcnemar,
    paired_counts,
    paired_interval,
    rank_agreement,
    separate_intervals,
    smoothed_success,
)
from tedaudit.results.lineups import (
    Axis,
    LineUp,
    Opened,
    Side,
    difference_of_plans,
    line_ups,
    open_runs,
    with_reference,
)
from tedaudit.seeding import derive, uniforms
from tedaudit.store.directory import RunDirectory, epsilon_name

_DRAWS = 4000  # of the bootstrap: at alpha = 0.01 an end is the 20th from outside


@dataclass(frozen=True, slots=True)
class Span:
    """A difference with its interval; an end may be infinite."""

    value: float
    low: float
    high: float

    @property
    def excludes_zero(self) -> bool:
        """Whether the sides differ by this interval."""
        return self.low > 0 or self.high < 0

    def to_dict(self) -> dict[str, float | None]:
        """Return the numbers safe for JSON; an infinite one is None."""
        return {name: value if math.isfinite(value) else None for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two findings side by side."""

    plan: str
    epsilon: float  # infinite: neither mechanism takes one
    first: Side
    second: Side
    counts: PairedCounts | None  # on the trials that both have; None: not the same trials
    unpaired: str  # why not
    success: Span | None  # None where the sides had different numbers of candidates
    epsilon_emp: Span
    p: float | None  # McNemar's; None where it is unpaired
    differs: bool = False  # at an error of alpha for all comparisons together

    @property
    def any_time(self) -> bool:
        """Whether test and intervals are those valid at every look."""
        return self.first.any_time or self.second.any_time

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison safe for JSON."""
        return {
            "plan": self.plan,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "paired": self.counts is not None,
            "unpaired_because": self.unpaired or None,
            "counts": None if self.counts is None else asdict(self.counts),
            "any_time": self.any_time,
            "success_difference": None if self.success is None else self.success.to_dict(),
            "epsilon_difference": self.epsilon_emp.to_dict(),
            "p": self.p,
            "differs": self.differs,
        }


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two runs or two attacks rank the mechanisms alike at one epsilon."""

    plan: str
    epsilon: float
    within: str  # what both have in common: the attack, or the run
    first: str
    second: str
    mechanisms: int
    tau: float | None  # None where one of them ranks all alike

    def to_dict(self) -> dict[str, Any]:
        """Return it safe for JSON."""
        return {**asdict(self), "epsilon": None if math.isinf(self.epsilon) else self.epsilon}


@dataclass(frozen=True, slots=True)
class Compared:
    """Everything that was compared."""

    by: Axis
    alpha: float
    runs: tuple[dict[str, Any], ...]
    comparisons: tuple[Comparison, ...]
    agreements: tuple[Agreement, ...]
    notes: tuple[str, ...]
    opened: tuple[Opened, ...] = ()  # the runs themselves, for a chart of all their findings

    @property
    def corpora(self) -> list[dict[str, Any]]:
        """The corpora that were audited, each once."""
        return list({run["corpus"]["fingerprint"]: run["corpus"] for run in self.runs}.values())

    def to_dict(self) -> dict[str, Any]:
        """Return it safe for JSON."""
        return {
            "by": self.by, "alpha": self.alpha, "runs": list(self.runs),
            "comparisons": [one.to_dict() for one in self.comparisons],
            "agreements": [one.to_dict() for one in self.agreements], "notes": list(self.notes),
        }  # fmt: skip


def compare(
    runs: Sequence[RunDirectory], by: Axis | None = None, against: str | None = None, alpha: float = 0.01
) -> Compared:
    """Compare the members of an axis with the first one, or with `against`; no model is loaded."""
    alpha = checked_alpha(alpha)
    opened = open_runs(runs)
    axis: Axis = by or ("run" if len(runs) > 1 else "attack")
    groups = _referenced(line_ups(opened, axis), axis, against)
    compared = [_compared(group, one, two, alpha) for group, one, two in _pairs(groups)]
    rows = tuple(replace(one, differs=_differs(one, alpha / len(compared))) for one in compared)
    agreements = () if axis == "mechanism" else tuple(_agreements(groups))
    about = tuple(
        {
            "name": run.name, "written": run.manifest.get("written", ""), "version": run.version,
            "corpus": run.corpus,
        }
        for run in opened
    )  # fmt: skip
    notes = tuple(_notes(opened, rows))
    return Compared(axis, alpha, about, rows, agreements, notes, tuple(opened))


def _referenced(groups: Sequence[LineUp], axis: Axis, against: str | None) -> list[LineUp]:
    """Return the line-ups with the reference first; those that lack it are left out."""
    if against is None:
        return list(groups)
    names = {side.member for group in groups for side in group.sides}
    if against not in names:
        raise SpecError(
            f"There is no {axis} '{against}' to compare with.{did_you_mean(against, names)} "
            f"Side by side stand: {listed(names)}."
        )
    return [with_reference(one, against) for one in groups if against in {side.member for side in one.sides}]


def _pairs(groups: Sequence[LineUp]) -> Iterator[tuple[LineUp, Side, Side]]:
    """Yield what is compared; two mechanisms that take no epsilon are compared once, not at every one."""
    done = set()
    for group in groups:
        first = group.sides[0]
        for second in group.sides[1:]:
            both = math.isinf(first.finding.epsilon) and math.isinf(second.finding.epsilon)
            mark = (group.plan, group.within, first.finding, second.finding)
            if second.member != first.member and not (both and mark in done):
                yield (replace(group, epsilon=math.inf) if both else group), first, second
                done.add(mark)


def _compared(group: LineUp, first: Side, second: Side, alpha: float) -> Comparison:
    why = difference_of_plans(first, second)
    if why:
        success, epsilon = _separately(first, second, alpha)
        return Comparison(group.plan, group.epsilon, first, second, None, why, success, epsilon, None)
    rights = [side.run.rights(side.finding) for side in (first, second)]
    trials = min(map(len, rights))
    counts = paired_counts(rights[0][:trials], rights[1][:trials])
    any_time = first.any_time or second.any_time
    ends = paired_interval(counts, alpha, confidence_sequence if any_time else clopper_pearson)
    success = Span((counts.second_only - counts.first_only) / trials, *ends)
    epsilon = _epsilon(counts, first, second, alpha)
    p = mcnemar(counts, any_time=any_time)
    return Comparison(group.plan, group.epsilon, first, second, counts, "", success, epsilon, p)


def _epsilon(counts: PairedCounts, first: Side, second: Side, alpha: float) -> Span:
    """Return the difference of epsilons on the trials that both have."""
    rights = (counts.both + counts.first_only, counts.both + counts.second_only)
    value = _point(second, rights[1], counts.trials) - _point(first, rights[0], counts.trials)
    if first.any_time or second.any_time:  # a bootstrap knows nothing of other looks
        ranges = [confidence_sequence(right, counts.trials, alpha / 2) for right in rights]
        return Span(value, *_epsilon_ends(first, second, ranges))
    where = [(s.run.name, s.finding.plan, s.finding.label, epsilon_name(s.finding.epsilon), s.finding.attack)
             for s in (first, second)]  # fmt: skip
    coins = uniforms([derive(0, "compare", *where[0], *where[1])], 3 * _DRAWS)[0].reshape(_DRAWS, 3)
    return Span(value, *epsilon_bootstrap(counts, (first.scale, second.scale), alpha, coins))


def _separately(first: Side, second: Side, alpha: float) -> tuple[Span | None, Span]:
    """Return the differences of findings on other trials: the interval of each, half of alpha to each."""
    bounds = [side.finding.bound for side in (first, second)]
    ranges = [
        (confidence_sequence if side.any_time else clopper_pearson)(bound.correct, bound.trials, alpha / 2)
        for side, bound in zip((first, second), bounds, strict=True)
    ]
    points = [_point(side, side.finding.bound.correct, side.finding.bound.trials) for side in (first, second)]
    epsilon = Span(points[1] - points[0], *_epsilon_ends(first, second, ranges))
    if first.scale.candidates != second.scale.candidates:
        return None, epsilon
    return Span(bounds[1].success - bounds[0].success, *separate_intervals(*ranges)), epsilon


def _point(side: Side, right: int, trials: int) -> float:
    return side.scale.epsilon(float(smoothed_success(right, trials)))


def _epsilon_ends(first: Side, second: Side, ranges: Sequence[tuple[float, float]]) -> tuple[float, float]:
    one, two = (
        (side.scale.epsilon(low), side.scale.epsilon(high))
        for side, (low, high) in zip((first, second), ranges, strict=True)
    )
    return separate_intervals(one, two)


def _differs(one: Comparison, share: float) -> bool:
    """Return whether the sides differ at this comparison's share of alpha."""
    if one.p is not None:
        return one.p <= share
    success, epsilon = _separately(one.first, one.second, share)
    return (success or epsilon).excludes_zero


def _agreements(groups: Sequence[LineUp]) -> Iterator[Agreement]:
    """Yield Kendall's tau of eps_emp over the mechanisms; one without an epsilon is ranked at every one."""
    places = {(group.plan, group.within) for group in groups}
    for plan, within in sorted(places):
        mine = [group for group in groups if (group.plan, group.within) == (plan, within)]
        epsilons = sorted({group.epsilon for group in mine if not math.isinf(group.epsilon)})
        for epsilon in epsilons or [math.inf]:
            ranked: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for group in (group for group in mine if group.epsilon in (epsilon, math.inf)):
                first = group.sides[0]
                for other in group.sides[1:]:
                    both = (first.finding.bound.lower, other.finding.bound.lower)
                    ranked.setdefault((first.member, other.member), []).append(both)
            for (one, two), values in ranked.items():
                if len(values) > 1:
                    tau = rank_agreement(*zip(*values, strict=True))
                    yield Agreement(plan, epsilon, within, one, two, len(values), tau)


def _notes(opened: Sequence[Opened], rows: Sequence[Comparison]) -> Iterator[str]:
    """Yield what a reader must know before believing a number."""
    used = {(side.run.number, side.finding) for row in rows for side in (row.first, row.second)}
    for run in opened:
        pairs = {f.plan.partition("@")[0] for f in run.result if run.estimator(f) == "baseline"}
        if pairs:
            yield (
                f"{run.name}: {listed(pairs)} is not compared: a trial of the baseline estimator is a pair "
                "of guesses, and neither right nor wrong as a whole"
            )
        alone = [f for f in run.result if run.estimator(f) != "baseline" and (run.number, f) not in used]
        if alone:
            yield f"{run.name}: {len(alone)} of {len(run.result.findings)} findings have nothing beside them"
    if any(row.any_time for row in rows):
        yield (
            "a run is not finished, or was extended after its results had been seen: its p-values and "
            "intervals are those valid at every look"
        )
    for why in dict.fromkeys(row.unpaired for row in rows if row.unpaired):
        yield f"some differences are unpaired, from an interval of each side: {why}"
