"""Tells worst pairs and records on fresh trials."""

from collections.abc import Sequence

from tedaudit.estimators.loss import DELTAS
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.results.telling_losses import format_epsilon
from tedaudit.results.worst_pairs import WorstPairs
from tedaudit.studies.record_losses import RecordLoss, RecordLosses
from tedaudit.studies.records import RecordEvidence, Records

_WHAT = (Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("attack", "label"))
_RECORD, _TEXT = Column("record", "label", 0), Column("text", "text", 2)
_PAIRS = (
    *_WHAT, Column("right / trials", "figures"), Column("eps_emp", "bound", 0), Column("ceiling", "bound", 3),
    Column("verdict", rank=0), Column("one text", "text", 2), Column("the other", "text", 2),
)  # fmt: skip
_RECORDS = (
    _RECORD, *_WHAT, Column("risk", "bound", 0), Column("ceiling", "bound", 3),
    Column("named as the source", "figures"), Column("named wrongly", "figures"), _TEXT,
)  # fmt: skip
_LOSSES = (
    _RECORD, *_WHAT[:2], Column(f"eps at delta {DELTAS[0]:g}", "loss", 0), Column("mean loss", "loss"),
    Column("largest loss", "loss"), Column("trials as the source", "count", 3),
    Column("sampled risk", "bound", 3), _TEXT,
)  # fmt: skip
_EVIDENCE = (_RECORD, *_WHAT, Column("margin", "figures", 0), _TEXT)


def describe_pairs(worst: WorstPairs) -> Section:
    """Return the worst pairs as a section."""
    rows = tuple(
        (
            pair.tried.label, pair.tried.epsilon.label, pair.tried.attack,
            f"{pair.bound.correct:,} / {pair.bound.trials:,}",
            pair.bound.lower, pair.bound.ceiling, pair.verdict.name, *pair.texts,
        )
        for pair in worst
    )  # fmt: skip
    reading = (
        "The pairs that the run told apart most surely, each tried again with new secrets and new noise. "
        "eps_emp is a lower bound for that pair; the probability that any of them is too large is at most "
        f"{worst.error:.2g}. It says nothing about pairs that were not picked."
    )
    marked = frozenset(number for number, pair in enumerate(worst) if pair.verdict.is_violation)
    return Section("Worst pairs", Table(_PAIRS, rows, marked), reading, worst.left_out)


def describe_records(records: Records) -> Section:
    """Return the records at risk as a section."""
    rows = tuple(
        (
            record.name, record.label, record.epsilon.label, record.attack,
            record.risk if record.has_enough else "too few trials", record.ceiling,
            f"{record.named_right:,} / {record.as_source:,} (from {record.rate_low:.2f})",
            f"{record.named_wrong:,} / {record.as_other:,} (to {record.false_high:.2f})", record.text,
        )
        for record in records
    )  # fmt: skip
    reading = (
        "The records that the run named most surely, each tried again beside texts drawn at random. The "
        "risk is a lower bound on the epsilon of that record: the logarithm of how many times likelier it "
        "is to be named if it is the source than if another text is. The probability that any of them is "
        f"too large is at most {records.error:.2g}. A risk of 0 means that these attacks showed none in "
        "these trials."
    )
    return Section("Records at risk", Table(_RECORDS, rows), reading)


def describe_record_losses(losses: RecordLosses) -> Section:
    """Return the records by exact loss as a section."""
    rows = tuple(_format_record(record) for record in losses)
    reading = (
        "Computed from the mechanism's own probabilities of everything it drew, over the trials of the "
        f"run in which the record was the source. Eps at delta {DELTAS[0]:g} is the smallest epsilon that "
        "holds on average over the texts that the plan put beside the record, with an interval: if the "
        "lower end is above some epsilon, the record and at least one of these texts are further apart "
        f"than (epsilon, {DELTAS[0]:g}) allows. The probability that any lower end of all "
        f"{losses.number:,} records is too large is at most {losses.error:.2g}, and the same holds for "
        "upper ends that are too small; records are sorted by their lower ends. Mean and largest loss are "
        "of these outputs only: another output of the same record may lose more."
    )
    few = (
        f"{losses.too_few:,} of {losses.number:,} records have too few trials to say anything; "
        f"{losses.needed:,} trials with the record as the source are enough."
    )
    sentences = (*([few] if losses.too_few else []), *losses.left_out)
    return Section("Records by exact loss", Table(_LOSSES, rows), reading, sentences)


def _format_record(record: RecordLoss) -> tuple[Cell, ...]:
    sample, ends = record.sample, record.epsilons
    return (
        record.name, record.label, record.epsilon.label,
        format_epsilon(ends[0], sample) if sample is not None and ends else "too few trials",
        None if sample is None else sample.mean, None if sample is None else sample.quantile(1.0),
        record.trials, record.risk, record.text,
    )  # fmt: skip


def describe_evidence(evidence: Sequence[RecordEvidence]) -> Section:
    """Return the records of a table of rewrites that were named most surely: evidence, and no risk."""
    rows = tuple(
        (record.name, record.label, record.epsilon.label, record.attack, f"{record.margin:.4g}", record.text)
        for record in evidence
    )
    reading = (
        "Records by how surely they were named; a negative margin means that another text was named. "
        "There is only one rewrite of each text, so no rate can be measured: the list says where to look "
        "first, and is no risk."
    )
    return Section("Records by evidence", Table(_EVIDENCE, rows), reading)
