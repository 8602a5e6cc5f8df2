"""Worst records: which texts are named most surely if they are the source, judged on fresh trials.

For a record v the adversary says "v" or something else: TPR = P(v named | v rewritten), FPR = P(v named | v a
candidate, another rewritten). Under (epsilon, delta)-LDP TPR <= e^epsilon FPR + delta, so the risk
ln((TPR_low - delta) / FPR_high) is a lower bound on the epsilon of that record. All records that are judged
share the error of one look, half for each end. Point estimates are never sorted: few appearances would win.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tedaudit.errors import SpecError, did_you_mean
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.multiplicity import look_error
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.redaction import redact_label
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.fresh import FreshTrials, Study, choose_targets, read_pilot
from tedaudit.text.plain_data import PlainData, pick
from tedaudit.text.readers import join_columns

_ID = "id"  # the column of a corpus that names its records


class ToldRecord(PlainData):
    """What is told of one text, which may be kept out of it."""

    __slots__ = ()

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the record safe for JSON; `redact` leaves out the text and long labels."""
        told = pick(self)
        if redact:
            names = ("id", "plan", "mechanism", "attack")
            told |= {name: redact_label(told[name]) for name in names if name in told} | {"text": None}
        return told


@dataclass(frozen=True, slots=True)
class Record(ToldRecord):
    """A text at risk: how often it was named if it was rewritten, and if another was."""

    label: str
    epsilon: Nominal
    attack: str
    position: int
    name: str  # the corpus's own id, or the position
    text: str
    named_right: int
    as_source: int
    named_wrong: int
    as_other: int
    rate_low: float  # lower end of the rate of being named rightly
    false_high: float  # upper end of the rate of being named wrongly
    risk: float  # lower bound on epsilon
    ceiling: float  # what the risk would be had every guess been right
    in_json: ClassVar[str] = (
        "name as id, label as mechanism, epsilon, attack, position, text, named_right, as_source, "
        "named_wrong, as_other, rate_low, false_high, risk, ceiling, has_enough as enough_trials"
    )

    @property
    def has_enough(self) -> bool:
        """Whether these trials could have shown any risk."""
        return self.ceiling > 0


@dataclass(frozen=True, slots=True)
class Records(PlainData):
    """All records that were tried again, the largest risk first."""

    records: tuple[Record, ...]
    error: float

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the records safe for JSON."""
        return {"error": self.error, "records": [record.to_dict(redact=redact) for record in self.records]}


@dataclass(frozen=True, slots=True)
class RecordEvidence(ToldRecord):
    """A text of a table of rewrites: evidence, and no risk, since there is one rewrite of it."""

    label: str
    epsilon: Nominal
    attack: str
    position: int
    name: str
    text: str
    margin: float  # negative if another text was named
    in_json: ClassVar[str] = "name as id, label as mechanism, epsilon, attack, position, text, margin"


def find_records(result: AuditResult, study: Study, count: int, trials: int, id_column: str = "") -> Records:
    """Pick the records with the most evidence in a run, and measure the risk of each on fresh trials."""
    if count < 1 or trials < 1:
        raise SpecError(
            f"{count} records with {trials} trials each were asked for; both numbers must be 1 or more."
        )
    names, targets = name_records(result, id_column), choose_targets(result, study.attacks)
    if not targets:
        raise SpecError(
            "No mechanism of this run can be tried again: a table has only one rewrite of each text."
        )
    measured: list[tuple[Finding, int, tuple[int, int, int, int]]] = []
    for finding in targets:
        positions = pick_records(result, finding, count)
        sets = _pair_with_others(positions, trials, len(result.run.corpus().texts), study)
        fresh = study.run(finding, sets, len(sets))
        measured += [(finding, position, _count(fresh, position)) for position in positions]
    error = look_error(result.alpha / 2, study.note(result.run).number)
    texts = result.run.corpus().texts
    records = [
        _judge(finding, position, counts, error / len(measured), (names[position], texts[position]))
        for finding, position, counts in measured
    ]
    records.sort(key=lambda record: (-record.risk, -record.rate_low, record.position))
    return Records(tuple(records), error)


def pick_records(result: AuditResult, finding: Finding, count: int) -> list[int]:
    """Return the positions of the texts with the most evidence, on average, when they were rewritten."""
    pilot = read_pilot(result, finding)
    size = len(result.run.corpus().texts)
    times = np.bincount(pilot.source, minlength=size)
    sums = np.bincount(pilot.source, weights=pilot.evidence, minlength=size)
    means = np.where(times > 0, sums / np.maximum(times, 1), -np.inf)
    order = np.argsort(-means, kind="stable")[:count]
    return [int(position) for position in order if times[position]]


def rank_evidence(result: AuditResult, count: int, id_column: str = "") -> list[RecordEvidence]:
    """Return the texts of a table of rewrites that were named most surely."""
    names = name_records(result, id_column)
    plans, texts = result.run.manifest()["plans"], result.run.corpus().texts
    ranked = []
    for finding in result:
        if plans[finding.plan]["mechanism"] is None:
            continue
        pilot = read_pilot(result, finding)
        for row in np.argsort(-pilot.evidence, kind="stable")[:count].tolist():
            position = int(pilot.source[row])
            ranked.append(
                RecordEvidence(
                    label=finding.label,
                    epsilon=finding.epsilon,
                    attack=finding.attack,
                    position=position,
                    name=names[position],
                    text=texts[position],
                    margin=float(pilot.evidence[row]),
                )
            )
    return ranked


def name_records(result: AuditResult, id_column: str = "") -> list[str]:
    """Return the names of a run's texts: a column, else that called `id`, else their positions from 0."""
    split = result.run.corpus().splits["train"]
    columns: Mapping[str, Any] = split.columns
    if id_column and id_column not in columns:
        raise SpecError(
            f"The texts of this run have no column '{id_column}'.{did_you_mean(id_column, columns)} They "
            f"have: {join_columns(columns) or 'none'}. Name the column of ids with --id (id_column)."
        )
    column = id_column or _ID
    return list(map(str, columns[column])) if column in columns else list(map(str, range(len(split))))


def _pair_with_others(positions: list[int], trials: int, size: int, study: Study) -> list[tuple[int, int]]:
    """Return a pair for every trial of every record: the record, and another text drawn at random."""
    sets = []
    for position in positions:
        coins = uniforms([derive(study.spec.seed, "others", study.name, position)], trials)[0]
        others = np.minimum((coins * (size - 1)).astype(np.int64), size - 2)
        others += others >= position
        sets += [(position, int(other)) for other in others]
    return sets


def _count(fresh: FreshTrials, position: int) -> tuple[int, int, int, int]:
    """Return how often a record was named among how many trials: as the source, and as the other text.

    Each record is the first of its own sets; another record's sets may hold it too and are not counted.
    """
    candidates = fresh.plan.candidates
    assert candidates is not None  # noqa: S101 - sets were given
    own = candidates[:, 0] == position
    named, is_source = own & (fresh.choices.choice == 0), own & (fresh.plan.secret == 0)
    return (
        int((named & is_source).sum()), int(is_source.sum()),
        int((named & ~is_source).sum()), int((own & ~is_source).sum()),
    )  # fmt: skip


def _judge(
    finding: Finding, position: int, counts: tuple[int, int, int, int], error: float, about: tuple[str, str]
) -> Record:
    """Return a record with its risk; `error` is that of this record, half for each end."""
    right, sources, wrong, others = counts
    low, high, risk = measure_risk(counts, finding.bound.delta, error)
    _, _, ceiling = measure_risk((sources, sources, 0, others), finding.bound.delta, error)
    return Record(
        finding.label, finding.epsilon, finding.attack, position, *about, right, sources, wrong, others, low,
        high, risk, ceiling,
    )  # fmt: skip


def measure_risk(counts: tuple[int, int, int, int], delta: float, error: float) -> tuple[float, float, float]:
    """Return the lower end of TPR, the upper end of FPR and the risk; counts are named and all, for each."""
    right, sources, wrong, others = counts
    if not sources or not others:
        return 0.0, 1.0, 0.0
    low, _ = clopper_pearson(right, sources, error)
    _, high = clopper_pearson(wrong, others, error)
    return low, high, max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
