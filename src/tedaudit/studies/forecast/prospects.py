"""What the trials of an audit could show, known before any data: ceilings, claims in reach, power.

All rows of the run share one error, as they will when it is judged: those of this audit with every guess
taken for right, and those that the run directory has besides. The code that judges decides what is in reach.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators import Choices, epsilon_from_success, find_estimator
from tedaudit.estimators.multiplicity import look_error
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Claim
from tedaudit.results.family import Family
from tedaudit.results.reading import read_result
from tedaudit.results.row import Certain, Row
from tedaudit.runs.jobs import Job
from tedaudit.runs.looks import Look, earlier_looks, find_look
from tedaudit.runs.planner import Seen
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.schedule import open_schedules
from tedaudit.runs.spec.model import ORIGINALS
from tedaudit.text.plain_data import PlainData

_MOST = 100_000_000  # trials that an audit may have
Setting = tuple[str, str, Nominal, str]  # plan, mechanism, epsilon and attack


@dataclass(frozen=True, slots=True)
class Goals:
    """What trials should be enough for: a ceiling of eps_emp, a success rate to be told from a claim."""

    ceiling: float | None = None
    success: float | None = None

    def __post_init__(self) -> None:
        if self.ceiling is not None and not 0 < self.ceiling < math.inf:
            raise SpecError(f"ceiling is {self.ceiling}; it must be a number above 0, such as 5.")
        if self.success is not None and not 0 < self.success < 1:
            raise SpecError(f"success is {self.success}; it must lie between 0 and 1, such as 0.75.")


@dataclass(frozen=True, slots=True)
class Prospect(PlainData):
    """What the trials of one plan could show of a mechanism at an epsilon, under any of its attacks.

    Without a claim, what is told from chance.
    """

    plan: str
    label: str
    epsilon: Nominal
    claim: Claim | None
    ceiling: float  # of eps_emp
    teda_ceiling: float  # of the paper's bound
    in_reach: bool | None  # None: nothing is promised for a whole text
    trials_needed: int | None  # of a new run, if the claim is out of reach and any number is enough
    detectable: float | None  # the least success rate that is told from the claim with probability 0.8
    detectable_epsilon: float | None
    trials_for_ceiling: int | None = None  # if one was asked for
    trials_for_teda_ceiling: int | None = None
    trials_for_success: int | None = None  # if one was asked for, and it is more than the claim allows
    in_json: ClassVar[str] = (
        "plan, label as mechanism, epsilon, claim, ceiling, teda_ceiling, in_reach, trials_needed, "
        "detectable as detectable_success, detectable_epsilon, trials_for_ceiling, trials_for_teda_ceiling, "
        "trials_for_success"
    )


@dataclass(frozen=True)
class Outlook:
    """All rows that a run would have, judged as they will be; the first ones are of this audit."""

    settings: tuple[Setting, ...]
    family: Family
    rewrites: tuple[int, ...]  # that are seen of a secret, of each setting

    def foresee(self, goals: Goals) -> tuple[Prospect, ...]:
        """Return what can be shown for every plan, mechanism and epsilon of the audit, by its best row."""
        reach = self.family.find_reach()
        near = dict(zip(reach.tested, reach.within.tolist(), strict=True))
        best: dict[tuple[str, str, Nominal], int] = {}
        for i, (plan, label, epsilon, _) in enumerate(self.settings):
            known = best.setdefault((plan, label, epsilon), i)
            if (near.get(i, False), self._ceiling(i)) > (near.get(known, False), self._ceiling(known)):
                best[plan, label, epsilon] = i
        share = reach.share(self.family.error)
        return tuple(self._describe(i, near.get(i), share, goals) for i in best.values())

    def limit_in_reach(self, limit: float) -> int:
        """Return how many rows of the audit could show a bound above a limit, at the error of all rows."""
        return sum(self._ceiling(i) > limit * n for i, n in enumerate(self.rewrites))

    def _find_trials(self, row: Row, epsilon: float, error: float) -> int | None:
        return row.fresh_trials((epsilon, row.slack), error, self.family.alpha / 2)

    def _ceiling(self, number: int) -> float:
        row = self.family.rows[number]
        return 0.0 if row.unfit else row.bound(self.family.row_error).ceiling

    def _describe(self, number: int, within: bool | None, share: float, goals: Goals) -> Prospect:
        plan, label, epsilon, _ = self.settings[number]
        row, family = self.family.rows[number], self.family
        is_told = within or row.target is None  # a claim out of reach is told from nothing
        aim = row.target or (0.0, row.slack)
        error = share if within else family.row_error
        success = _find_detectable(row, aim, error) if is_told else None
        teda = row.bound_at(family.alpha)
        needed = family.trials_in_reach(row) if within is False else None
        new = look_error(family.alpha / 2, 1)  # what all rows of a new run have together
        joint = new / len(family.rows)
        test = joint if row.target is None else new / sum(other.target is not None for other in family.rows)
        return Prospect(
            plan=plan,
            label=label,
            epsilon=epsilon,
            claim=row.claim,
            ceiling=self._ceiling(number),
            teda_ceiling=teda.ceiling,
            in_reach=within,
            trials_needed=needed,
            detectable=success,
            detectable_epsilon=None
            if success is None
            else epsilon_from_success(success, row.counts.candidates, row.slack),
            trials_for_ceiling=None
            if goals.ceiling is None
            else self._find_trials(row, goals.ceiling, joint),
            trials_for_teda_ceiling=None
            if goals.ceiling is None
            else row.trials_to_show(goals.ceiling, row.slack, teda.error),
            trials_for_success=None
            if goals.success is None
            else _trials_to_detect(row, aim, goals.success, test),
        )


def make_outlook(audit: PreparedAudit) -> Outlook:
    """Return the rows that a run would have, every guess right, and the look that it would be."""
    planned = [
        ((seen.name, job.label, epsilon, attack), _plan_row(job, epsilon, attack, seen, audit), seen.rewrites)
        for job in audit.jobs
        if not (job.planned.series and job.label == ORIGINALS)  # a measure, which has no bound
        for epsilon in job.epsilons
        for attack in job.attacks
        for seen in job.planned.series
        or (Seen(rewrites=1, name=job.plan_name, key=job.plan_key, plan=job.plan),)
    ]
    settings = tuple(setting for setting, _, _ in planned)
    others: list[Row] = []
    look = Look()
    if audit.store.exists():
        others = list(_read_others(audit, set(settings)))
        is_more = any(rows for schedule in open_schedules(audit) for _, _, rows in schedule.count_gaps())
        look = Look(len(earlier_looks(audit.store)) + 1) if is_more else find_look(audit.store)
    rows = (*(row for _, row, _ in planned), *others)
    family = Family(audit.spec.alpha, rows, replace(look, noted=True))
    return Outlook(settings, family, tuple(number for _, _, number in planned))


def _read_others(audit: PreparedAudit, settings: set[Setting]) -> Iterator[Row]:
    """Yield the rows that the run directory has besides: they share the error too."""
    for finding in read_result(audit.store, audit.spec.alpha, audit.spec.delta):
        if (*finding.setting, finding.attack) not in settings and finding.row is not None:
            yield finding.row


def _plan_row(job: Job, epsilon: Nominal, attack: str, seen: Seen, audit: PreparedAudit) -> Row:
    """Return a row as it will be read from a complete table, with every guess right."""
    info, rounds, plan = audit.plans[seen.name], job.planned.rounds, seen.plan
    estimator, claim = find_estimator(info["estimator"]), job.claims[epsilon]
    start = _find_fresh(job, epsilon, attack) // rounds
    is_seen = start >= len(plan)
    fresh = plan if is_seen else plan.rows(start, len(plan))
    number = len(fresh)
    choices = Choices(fresh.secret, np.ones(number, dtype=np.bool_), np.zeros(number, dtype=np.bool_))
    counts = estimator.count(fresh, choices, info["k"])
    looks = [look // rounds - start for look in job.planned.looks if look // rounds > start]
    looked_before = any(look < number for look in looks)
    unfit = "it is judged on fresh trials only, and there are none" if is_seen else ""
    together = claim and claim.repeat(seen.rewrites)
    row = Row(
        estimator=estimator,
        counts=counts,
        claim=together,
        any_time=looked_before,
        unfit=unfit,
        delta=audit.spec.delta,
    )
    certain = Certain(plan=fresh, choices=choices, margin=np.zeros(number, dtype=np.float32), looks=looks)
    return replace(row, parts=certain.count(row, audit.spec.alpha / 2))


def _find_fresh(job: Job, epsilon: Nominal, attack: str) -> int:
    """Return from which row on an attack is judged: one's own that is added after a look, on fresh trials."""
    definition = job.guesses_at(epsilon, attack)
    folder = definition.folder
    about = folder.info().about if folder.exists() and folder.has_parts() else definition.about
    return int(about.get("seen_before", 0))


def _find_detectable(row: Row, aim: tuple[float, float], error: float) -> float | None:
    return row.estimator.detectable(row.counts, *aim, error / row.shares, any_time=row.any_time)


def _trials_to_detect(row: Row, aim: tuple[float, float], success: float, error: float) -> int | None:
    """Return trials of a new run in which a success rate is told from the claim with probability 0.8.

    No more than a few of them are too many: counts are whole numbers, so that power does not rise steadily.
    """
    fresh = replace(row, any_time=False)

    def is_enough(trials: int) -> bool:
        least = _find_detectable(replace(fresh, counts=row.counts.all_right(trials)), aim, error)
        return least is not None and least <= success

    return _find_least(is_enough)


def _find_least(is_enough: Callable[[int], bool]) -> int | None:
    """Return a number that is enough although half of it, or one less, is not; None if none is."""
    low, high = 0, 1
    while not is_enough(high):
        if high == _MOST:
            return None
        low, high = high, min(2 * high, _MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
