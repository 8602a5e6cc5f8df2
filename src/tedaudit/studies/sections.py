"""Worst pairs and records as sections of a report."""

from collections.abc import Sequence

from tedaudit.estimators.loss import DELTAS
from tedaudit.reports.losses.table import format_epsilon, format_loss
from tedaudit.reports.sections import Section
from tedaudit.studies.record_losses import RecordLoss, RecordLosses
from tedaudit.studies.records import RecordEvidence, Records
from tedaudit.studies.worst_pairs import WorstPairs


def describe_pairs(worst: WorstPairs) -> Section:
    """Return the worst pairs as a section."""
    rows = tuple(
        (
            pair.tried.label, pair.tried.epsilon.label, pair.tried.attack,
            f"{pair.bound.correct:,} / {pair.bound.trials:,}",
            f"{pair.bound.lower:.2f}", f"{pair.bound.ceiling:.2f}", pair.verdict.name, *pair.texts,
        )
        for pair in worst
    )  # fmt: skip
    remarks = (
        (
            "The pairs that the run told apart most surely, each tried again with new secrets and new noise. "
            "eps_emp is a lower bound for that pair; that any of them is too large has a probability of at "
            f"most {worst.error:.2g}. Of pairs that were not picked it says nothing."
        ),
        *worst.left_out,
    )
    headings = (
        "mechanism", "epsilon", "attack", "right / trials", "eps_emp", "ceiling", "verdict", "one text",
        "the other",
    )  # fmt: skip
    return Section("Worst pairs", remarks, headings, rows, ("one text", "the other"))


def describe_records(records: Records) -> Section:
    """Return the records at risk as a section."""
    rows = tuple(
        (
            record.name, record.label, record.epsilon.label, record.attack,
            f"{record.risk:.2f}" if record.has_enough else "too few trials", f"{record.ceiling:.2f}",
            f"{record.named_right:,} / {record.as_source:,} (from {record.rate_low:.2f})",
            f"{record.named_wrong:,} / {record.as_other:,} (to {record.false_high:.2f})", record.text,
        )
        for record in records
    )  # fmt: skip
    remarks = (
        (
            "The records that the run named most surely, each tried again beside texts drawn at random. The "
            "risk is a lower bound on the epsilon of that record: the logarithm of how many times likelier "
            "it is to be named if it is the source than if another is. That any of them is too large has a "
            f"probability of at most {records.error:.2g}. At 0 these attacks showed none in these trials."
        ),
    )
    headings = (
        "record", "mechanism", "epsilon", "attack", "risk", "ceiling", "named as the source",
        "named wrongly", "text",
    )  # fmt: skip
    return Section("Records at risk", remarks, headings, rows, ("text",))


def describe_record_losses(losses: RecordLosses) -> Section:
    """Return the records by exact loss as a section."""
    rows = tuple(_format_record(record) for record in losses)
    headings = (
        "record", "mechanism", "epsilon", f"eps at delta {DELTAS[0]:g}", "mean loss", "largest loss",
        "trials as the source", "sampled risk", "text",
    )  # fmt: skip
    reading = (
        "By the mechanism's own probabilities of everything that was drawn, over the trials of the run in "
        f"which the record was the source. Eps at delta {DELTAS[0]:g} is the least epsilon that holds on "
        "average over the texts that the plan put beside it, with an interval: if the lower end is above an "
        "epsilon, the record and one of these texts at least are further apart than (epsilon, "
        f"{DELTAS[0]:g}) allows. That any lower end of all {losses.number:,} records is too large has a "
        f"probability of at most {losses.error:.2g}, and so has that any upper end is too small; records are "
        "sorted by lower ends. Mean and largest loss are of these outputs alone: another output of the same "
        "record may lose more."
    )
    few = (
        f"{losses.too_few:,} of {losses.number:,} records have too few trials for anything to be said; "
        f"{losses.needed:,} with a record as the source are enough."
    )
    remarks = (*((reading, few) if losses.too_few else (reading,)), *losses.left_out)
    return Section("Records by exact loss", remarks, headings, rows, ("text",))


def _format_record(record: RecordLoss) -> tuple[str, ...]:
    sample, ends = record.sample, record.epsilons
    return (
        record.name, record.label, record.epsilon.label,
        format_epsilon(ends[0], sample) if sample is not None and ends else "too few trials",
        "" if sample is None else format_loss(sample.mean),
        "" if sample is None else format_loss(sample.quantile(1.0)), f"{record.trials:,}",
        "" if record.risk is None else f"{record.risk:.2f}", record.text,
    )  # fmt: skip


def describe_evidence(evidence: Sequence[RecordEvidence]) -> Section:
    """Return the records of a table of rewrites that were named most surely: evidence, and no risk."""
    rows = tuple(
        (record.name, record.label, record.epsilon.label, record.attack, f"{record.margin:.4g}", record.text)
        for record in evidence
    )
    remarks = (
        (
            "Records by how surely they were named; a negative margin means that another text was. There is "
            "one rewrite of each text, so that no rate can be measured: this ranks evidence and is no risk."
        ),
    )
    headings = ("record", "mechanism", "epsilon", "attack", "margin", "text")
    return Section("Records by evidence", remarks, headings, rows, ("text",))
