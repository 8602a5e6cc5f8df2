"""What differs between runs, attacks or mechanisms: findings side by side, from the tables alone.

Two findings on one plan met the same candidates, the same secrets and the same noise keys, so they
are compared trial by trial. On different plans they are compared by an interval of each, and that
is said. A difference is always the second side less the first, which is the reference. It is one of
success rates, or of the epsilons that these stand for; eps_emp is never subtracted, because it has the
error that the rows of its own run share.

Where the first side is what was released and the second what is to be, the answer is one of three: worse, no
worse than by a margin, or not told. Where the first side is right so often that no difference of the size of
the margin could show, nothing is compared, and that is the answer.
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
    Standing,
    compare_release,
    mcnemar,
    paired_counts,
    paired_epsilon_interval,
    paired_interval,
    rank_agreement,
    separate_intervals,
    smoothed_success,
    trials_within,
)
from tedaudit.plugins.nominal import NO_EPSILON, Nominal, distinct_epsilons
from tedaudit.results.findings import Finding
from tedaudit.results.lineups import (
    Axis,
    LineUp,
    OpenedRun,
    Side,
    difference_of_plans,
    line_ups,
    list_sides,
    open_runs,
    put_first,
)
from tedaudit.runs.directory import RunDirectory
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
MARGIN = 0.05
"""How much more often an attack may be right on what is called no worse, if nobody says."""
_NAMED = 3  # findings without another beside them that are named


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
class Answer(PlainData):
    """Whether the second side is worse, with the reason."""

    standing: Standing
    reason: str
    at_ceiling: bool = False  # the first side is right so often that nothing is compared

    def __str__(self) -> str:
        return self.standing.value


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
    answer: Answer | None = None  # None: attacks are compared, and none of them was released
    in_json: ClassVar[str] = (
        "plan, epsilon, first, second, is_paired as paired, unpaired as unpaired_because, counts, any_time, "
        "success as success_difference, epsilon_span as epsilon_difference, p, differs, "
        "answer.standing as answer, answer.reason as answer_because"
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
    margin: float = MARGIN
    missing: tuple[str, ...] = ()  # findings of what was released that have nothing beside them
    in_json: ClassVar[str] = (
        "by, alpha, margin, scale, answer.standing as answer, answer.reason as answer_because, runs, "
        "references, comparisons, agreements, notes"
    )

    @property
    def answer(self) -> Answer | None:
        """Whether anything is worse, by all rows together; None if attacks are compared.

        Rows at the ceiling say nothing, if the same outputs are compared under the same attack in another
        plan. Findings that have nothing beside them are not told.
        """
        return None if self.by == "attack" else _answer_together(self.comparisons, self.missing, self.margin)

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
    margin: float = MARGIN,
) -> Compared:
    """Compare the members of an axis with one of them, or with `against`; no model is loaded.

    Rows that differ come first, then the largest differences: of success rates, or of epsilon if some sides
    had different numbers of candidates, unless a scale is asked for. `margin` is how much more often an
    attack may be right on what is no worse.
    """
    alpha, margin = check_alpha(alpha), check_margin(margin)
    opened = open_runs(runs)
    axis: Axis = by or ("run" if len(runs) > 1 else "attack")
    groups, references = choose_reference(line_ups(opened, axis), axis, against)
    compared = [_compare_sides(group, first, second, alpha) for group, first, second in _pairs(groups)]
    share = alpha / len(compared)
    told = (replace(comparison, differs=_differs(comparison, share)) for comparison in compared)
    rows = tuple(
        told if axis == "attack" else (replace(row, answer=_answer(row, margin, alpha)) for row in told)
    )
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
    missing = () if axis == "attack" else tuple(_find_missing(opened, axis, rows, references[0].member))
    return Compared(
        by=axis,
        alpha=alpha,
        runs=about,
        comparisons=ordered,
        agreements=agreements,
        notes=notes,
        opened=tuple(opened),
        references=references,
        scale=shown,
        margin=margin,
        missing=missing,
    )


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
        return Comparison(
            plan=group.plan,
            epsilon=group.epsilon,
            first=first,
            second=second,
            counts=None,
            unpaired=reason,
            success=success,
            epsilon_span=span,
            p=None,
        )
    outcomes = [side.run.outcomes(side.finding) for side in (first, second)]
    trials = min(map(len, outcomes))
    counts = paired_counts(outcomes[0][:trials], outcomes[1][:trials])
    any_time = first.any_time or second.any_time
    interval = confidence_sequence if any_time else clopper_pearson
    ends = paired_interval(counts, alpha, interval)
    success = Span((counts.second_only - counts.first_only) / trials, *ends)
    span = _compare_epsilons(counts, (first, second), alpha, interval)
    p = mcnemar(counts, any_time=any_time)
    return Comparison(
        plan=group.plan,
        epsilon=group.epsilon,
        first=first,
        second=second,
        counts=counts,
        unpaired="",
        success=success,
        epsilon_span=span,
        p=p,
    )


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


# --- Worse, no worse than by a margin, or not told.


def check_margin(margin: float) -> float:
    """Return a margin, or say what it must be."""
    if 0 < margin < 1:
        return margin
    raise SpecError(
        f"margin is {margin}; it must be between 0 and 1, such as {MARGIN}: how much more often an attack "
        "may be right on what is no worse."
    )


def _answer(row: Comparison, margin: float, alpha: float) -> Answer:
    """Return what one comparison says.

    "Worse" has half of alpha for all comparisons together, and "no worse" half of alpha for each.
    """
    obstacle = _why_not_comparable(row)
    if obstacle or row.success is None:
        return Answer(Standing.NOT_TOLD, obstacle)
    first, seen = _describe_success(row)
    is_larger = row.differs and row.success.value > 0
    standing = compare_release(first, row.success.high, margin, is_larger=is_larger)
    if standing is None:
        why = _explain_ceiling(row, 1 - first, margin)
        return Answer(Standing.NOT_TOLD, f"{seen}; {why}", at_ceiling=True)
    if standing is Standing.WORSE:
        return Answer(standing, seen)
    most = f"{seen}; the difference is at most {row.success.high:+.4f}"
    if standing is Standing.NO_WORSE:
        return Answer(standing, f"{most}, within the margin of {margin:g}")
    return Answer(
        Standing.NOT_TOLD, f"{most}, above the margin of {margin:g}; {_count_more(row, margin, alpha)}"
    )


def _why_not_comparable(row: Comparison) -> str:
    """Return why a difference would say nothing of the sides, or nothing."""
    for place, side in (("reference", row.first), ("other side", row.second)):
        if not side.finding.tells:
            return f"of the {place}: {side.finding.unfit or 'most rewrites failed'}"
    if row.first.run.corpus["fingerprint"] != row.second.run.corpus["fingerprint"]:
        return "the texts differ, and a difference would be of the texts too"
    return "the numbers of candidates differ" if row.success is None else ""


def _describe_success(row: Comparison) -> tuple[float, str]:
    """Return the success on the first side, and that on both in words."""
    if row.counts is not None:
        both, trials = row.counts.both, row.counts.trials
        right = (both + row.counts.first_only, both + row.counts.second_only)
        return right[
            0
        ] / trials, f"right in {right[1]:,} of {trials:,} trials, on the reference in {right[0]:,}"
    old, new = row.first.finding.bound, row.second.finding.bound
    said = f"right in {new.correct:,} of {new.trials:,} trials"
    return old.success, f"{said}, on the reference in {old.correct:,} of {old.trials:,}"


def _explain_ceiling(row: Comparison, room: float, margin: float) -> str:
    """Return that nothing is compared at the ceiling, and what could be."""
    ways = [] if row.first.is_every_text_a_candidate else ["candidates that are harder to tell apart (k all)"]
    ways += ["a smaller margin"] if room > 0 else []
    why = "it cannot be right more often, so nothing is compared"
    if room > 0:
        why = f"at most {room:.4g} more often is possible, so nothing is compared at the margin of {margin:g}"
    return f"{why}: take {' or '.join(ways)}" if ways else why


def _count_more(row: Comparison, margin: float, alpha: float) -> str:
    """Return how many trials would tell, as far as that is known."""
    interval = confidence_sequence if row.any_time else clopper_pearson
    enough = None if row.counts is None else trials_within(row.counts, margin, alpha, interval)
    if enough is None:
        return "more trials are needed"
    return f"about {float(f'{enough:.2g}'):,.0f} trials like these would tell"


def _find_missing(
    opened: Sequence[OpenedRun], axis: Axis, rows: Sequence[Comparison], reference: str
) -> Iterator[str]:
    """Yield the findings of the reference that some other member has nothing beside."""
    sides = list(list_sides(opened, axis))
    beside = {(row.second.member, row.first.run.number, id(row.first.finding)) for row in rows}
    others = {side.member for side in sides} - {reference}
    for side in sides:
        keys = {(other, side.run.number, id(side.finding)) for other in others}
        if side.member == reference and not keys <= beside:
            yield _name_finding(side.finding)


def _name_finding(finding: Finding) -> str:
    at = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
    return f"{finding.label}{at} under {finding.attack} ({finding.plan})"


def _answer_together(rows: Sequence[Comparison], missing: Sequence[str], margin: float) -> Answer:
    """Return what all comparisons say together."""
    groups: dict[tuple[Any, ...], list[tuple[str, Answer]]] = {}
    for row in rows:
        if row.answer is not None:
            finding = row.first.finding
            key = (row.second.member, finding.label, row.second.finding.label, row.epsilon, finding.attack)
            groups.setdefault(key, []).append((_name_finding(row.second.finding), row.answer))
    told = [
        named
        for group in groups.values()
        for named in [(name, answer) for name, answer in group if not answer.at_ceiling] or group
    ]
    aside = len(rows) - len(told)
    for standing in (Standing.WORSE, Standing.NOT_TOLD):
        if standing is Standing.NOT_TOLD and missing:
            named = join_names(missing[:_NAMED]) + (" and more" if len(missing) > _NAMED else "")
            lone = "a finding" if len(missing) == 1 else f"{len(missing)} findings"
            return Answer(standing, f"because nothing stands beside {lone} of the reference: {named}")
        alike = [(name, answer) for name, answer in told if answer.standing is standing]
        if alike:
            name, first = alike[0]
            reason = f"in {len(alike)} of {_count(told)}. {name}: {first.reason}"
            return Answer(standing, reason, all(answer.at_ceiling for _, answer in alike))
    at_ceiling = f", {aside} at the ceiling aside" if aside else ""
    return Answer(Standing.NO_WORSE, f"than by {margin:g} in any of {_count(told)}{at_ceiling}")


def _count(comparisons: Sequence[Any]) -> str:
    return f"{len(comparisons):,} comparison{'s' * (len(comparisons) != 1)}"


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
                    yield Agreement(
                        plan=plan,
                        epsilon=epsilon,
                        within=within,
                        first=member,
                        second=rival,
                        mechanisms=len(values),
                        tau=tau,
                    )


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
    yield from dict.fromkeys(
        _note_failures(row) for row in rows if row.counts is not None and _fail_apart(row)
    )
    if any(row.any_time for row in rows):
        yield (
            "a run does not have all of its trials, or was extended after its results had been seen: its "
            "p-values and intervals are those valid at every look"
        )
    for why in dict.fromkeys(row.unpaired for row in rows if row.unpaired):
        yield f"some differences are unpaired, from an interval of each side: {why}"


def _fail_apart(row: Comparison) -> bool:
    first, second = (side.finding.counts.failed for side in (row.first, row.second))
    return first != second


def _note_failures(row: Comparison) -> str:
    """Return how many rewrites failed on either side: to most attacks each is a trial lost."""
    sides = [
        f"{side.finding.counts.failed:,} of {side.finding.counts.trials:,} ({side.run.name})"
        for side in (row.first, row.second)
    ]
    return f"{row.second.finding.label}: rewrites failed, which give nothing away: {' and '.join(sides)}"
