"""Records by exact loss: what an adversary that knows the mechanism learns of each, beside the sampled risk.

Losses of a run's trials with a record v as the source are a sample of their own. Over the other candidates
that such trials have, delta_v(eps) = E[(1 - e^(eps - L))_+], and eps_v(d) is the least eps at which it is at
most d. If its lower end is above some epsilon, then v and at least one of these candidates are further apart
than (epsilon, d) allows, with v as the source and to whoever sees all that is drawn. Ends are by order
statistics, and each of them holds for all texts of the corpus and all settings together, whichever are looked
at: so records may be sorted by lower ends, and by nothing else. The largest loss is exact for its output, and
no limit for another.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators.loss import DELTAS, EpsilonAt, LossSample, can_show
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow, read_losses, read_margins
from tedaudit.studies.records import Record, ToldRecord, name_records
from tedaudit.text.plain_data import PlainData, pick


@dataclass(frozen=True)
class RecordLoss(ToldRecord):
    """The losses of the trials in which one text was the source, under one plan, mechanism and epsilon."""

    plan: str
    label: str
    epsilon: Nominal
    position: int
    name: str  # the corpus's own id, or the position
    text: str
    trials: int  # with the record as the source
    sample: LossSample | None  # None if no loss is known
    enough: bool  # whether so many trials could have shown anything
    risk: float | None = None  # by fresh trials, if the record was tried again and these were enough
    in_json: ClassVar[str] = (
        "name as id, plan, label as mechanism, epsilon, position, text, trials as as_source, unknown, "
        "enough as enough_trials, sample.mean, largest, risk as sampled_risk, epsilons as epsilon_at"
    )

    @cached_property
    def epsilons(self) -> tuple[EpsilonAt, ...]:
        """Epsilon at the usual deltas, with ends that hold for all records together; none if too few."""
        if self.sample is None or not self.enough:
            return ()
        return tuple(map(self.sample.epsilon_at, DELTAS))

    @cached_property
    def lower(self) -> float:
        """The lower end at the largest usual delta, which is all that records may be sorted by."""
        return 0.0 if self.sample is None or not self.enough else self.sample.epsilon_lower(DELTAS[0])

    @property
    def unknown(self) -> int:
        """Trials whose loss is not known."""
        return self.trials if self.sample is None else self.sample.unknown

    @property
    def largest(self) -> float | None:
        """The largest loss that occurred; None if no loss is known."""
        return None if self.sample is None else self.sample.quantile(1.0)


@dataclass(frozen=True)
class RecordLosses(PlainData):
    """Records of every setting with likelihoods, the largest lower end first."""

    records: tuple[RecordLoss, ...]
    error: float  # of each end, for all texts and settings together
    number: int  # of records: every text of the corpus, in every setting
    too_few: int  # of them that have too few trials
    needed: int  # trials with a record as the source that are enough, as is any larger number
    left_out: tuple[str, ...] = ()  # settings whose likelihoods the trials refute
    in_json: ClassVar[str] = "error, number, too_few, needed as trials_needed, left_out"

    def __iter__(self) -> Iterator[RecordLoss]:
        return iter(self.records)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the records safe for JSON."""
        return pick(self) | {"records": [record.to_dict(redact=redact) for record in self.records]}


def find_record_losses(
    result: AuditResult, count: int, tried: Sequence[Record] = (), id_column: str = ""
) -> RecordLosses | None:
    """Return the records of a run that lose most, and those that were tried again; None without likelihoods.

    Each end has the error of a setting's losses, shared by all texts of the corpus and all settings.
    """
    if count < 1:
        raise SpecError(f"{count} records were asked for; it must be 1 or more.")
    names, told = name_records(result, id_column), read_losses(result)
    if not told:
        return None
    rows = [row for row in told if not row.refuted]
    left_out = tuple(f"{_name(row)}: {row.refuted}" for row in told if row.refuted)
    if not rows:
        return RecordLosses(
            records=(), error=told[0].sample.error, number=0, too_few=0, needed=0, left_out=left_out
        )
    number = len(rows) * len(result.run.corpus().texts)
    risks = {(r.label, r.epsilon, r.position): r.risk if r.has_enough else None for r in tried}
    found, too_few = [], 0
    for row in rows:
        records = _split(result, row, row.sample.error / number, names)
        too_few += sum(not record.enough for record in records)
        found += _choose(records, count, risks)
    found.sort(key=lambda record: (-record.lower, not record.enough, record.position))
    error = max(row.sample.error for row in rows)
    needed = _find_needed(min(row.sample.error for row in rows) / number)
    return RecordLosses(
        records=tuple(found), error=error, number=number, too_few=too_few, needed=needed, left_out=left_out
    )


def _name(row: LossRow) -> str:
    finding = row.finding
    return f"{finding.label} at {finding.epsilon.phrase}" if finding.epsilon.is_given else finding.label


def _split(result: AuditResult, row: LossRow, error: float, names: Sequence[str]) -> list[RecordLoss]:
    """Return the losses of a setting by source, for every text of the corpus."""
    finding, texts = row.finding, result.run.corpus().texts
    losses, numbers = read_margins(result, finding)
    source = result.run.read_plan(finding.plan).source[: finding.bound.trials]
    times = np.bincount(source, minlength=len(texts))
    known = np.bincount(source[numbers], minlength=len(texts))
    parts = np.split(losses[np.argsort(source[numbers], kind="stable")], np.cumsum(known)[:-1])
    records = []
    for position, (part, trials) in enumerate(zip(parts, times.tolist(), strict=True)):
        sample = LossSample(part, error, trials - len(part)) if len(part) else None
        is_enough = sample is not None and _is_enough(trials, error)
        records.append(
            RecordLoss(
                plan=finding.plan,
                label=finding.label,
                epsilon=finding.epsilon,
                position=position,
                name=names[position],
                text=texts[position],
                trials=trials,
                sample=sample,
                enough=is_enough,
            )
        )
    return records


def _choose(
    records: Sequence[RecordLoss], count: int, risks: Mapping[tuple[str, Nominal, int], float | None]
) -> list[RecordLoss]:
    """Return the records with the largest lower ends, and those that were tried again, with their risk."""
    able = sorted((record for record in records if record.enough), key=lambda r: (-r.lower, r.position))
    shown = {record.position for record in able[:count]}
    keys = {record.position: (record.label, record.epsilon, record.position) for record in records}
    return [
        replace(record, risk=risks.get(keys[record.position]))
        for record in records
        if record.position in shown or keys[record.position] in risks
    ]


@lru_cache(maxsize=1 << 12)
def _is_enough(trials: int, error: float) -> bool:
    return can_show(trials, DELTAS[0], error)


def _find_needed(error: float) -> int:
    """Return a number of trials that is enough, as is every larger one: not every larger one is better."""
    lacking, number = 0, 1
    while number < max(64, 4 * lacking):
        if not _is_enough(number, error):
            lacking = number
        number += 1
    return lacking + 1
