"""Worst pairs and records as sections of a report."""

from collections.abc import Sequence

from tedaudit.reports.sections import Section
from tedaudit.studies.records import Evidence, Records
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


def describe_evidence(evidence: Sequence[Evidence]) -> Section:
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
