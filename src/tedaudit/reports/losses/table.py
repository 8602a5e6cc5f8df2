"""Losses as a table: what an adversary that knows the mechanism learns, beside the claim."""

import math
from collections.abc import Sequence
from dataclasses import replace

from tedaudit.errors import shorten
from tedaudit.estimators.loss import DELTAS, EpsilonAt, LossSample, Supremum
from tedaudit.reports.section import Cell, Column, Section, Table, format_loss
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow, find_contradictions

_COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("claim"),
    Column("slack", "figures"), Column("likelihoods"),
    *(Column(f"eps at delta {delta:g}", "figures", min(2 * place, 2)) for place, delta in enumerate(DELTAS)),
    Column("median loss", "loss", 2), Column("largest loss", "loss"), Column("most possible", "loss", 0),
    Column("impossible", "figures", 2), Column("unknown", "figures", 2), Column("its text", "text", 3),
)  # fmt: skip
_LONGEST = 80  # characters of a text that are shown


def describe_losses(result: AuditResult, rows: Sequence[LossRow]) -> Section:
    """Return the losses of a run as a section, the text with the largest loss beside each."""
    texts = result.run.corpus().texts
    cells = tuple(_format(row, shorten(texts[_find_source(result, row)], _LONGEST)) for row in rows)
    return Section(
        "Loss: what an adversary that knows the mechanism learns",
        Table(_COLUMNS, cells).leave_empty_out(),
        _explain(rows),
        tuple(find_contradictions(result, rows)),
    )


def rename_losses(rows: Sequence[LossRow], result: AuditResult, shown: AuditResult) -> list[LossRow]:
    """Return the losses of a result with names as they may be shown: the same findings in the same order."""
    names = {id(old): new for old, new in zip(result, shown, strict=True)}
    return [replace(row, finding=names[id(row.finding)]) for row in rows]


def _format(row: LossRow, text: str) -> tuple[Cell, ...]:
    finding, sample = row.finding, row.sample
    named = finding.label, finding.epsilon.label, "none" if finding.claim is None else str(finding.claim)
    unknown = _count(sample.unknown, sample)
    if row.refuted:  # nothing that follows from the likelihoods is told
        figures = ("refuted",) * (len(DELTAS) + 3)  # epsilons, median, largest, most possible
        return *named, "refuted", row.refuted, *figures, "", unknown, ""
    return (
        *named, "" if row.slack is None else str(row.slack), row.doubt,
        *(format_epsilon(at, sample) for at in row.epsilons),
        sample.quantile(0.5), sample.quantile(1.0), _format_supremum(row.supremum),
        _count(row.impossible, sample), unknown, text,
    )  # fmt: skip


def _format_supremum(supremum: Supremum | None) -> str:
    """Return the most that a pair can lose; of Gaussian noise at a delta, because it has no maximum."""
    if supremum is None:
        return ""
    if supremum.is_gaussian:
        return f"{format_loss(supremum.epsilon(DELTAS[-1]))} at delta {DELTAS[-1]:g}"
    return format_loss(supremum.largest)


def _count(number: int, sample: LossSample) -> str:
    return f"{number:,} / {sample.trials:,}" if number else ""


def format_epsilon(at: EpsilonAt, sample: LossSample) -> str:
    """Return the point and both ends; if there is no upper one, how many trials it needs."""
    if math.isinf(at.lower):
        return format_loss(at.lower)
    if math.isinf(at.upper):
        missing = at.lower == at.point == 0.0
        needed = sample.trials_for_upper(at.delta)
        more = f"; {needed:,} trials for an upper end" if needed > sample.trials else ""
        return (
            f"{format_loss(at.point)} ({'above ' + format_loss(at.lower) if not missing else 'from 0'}{more})"
        )
    return f"{format_loss(at.point)} ({format_loss(at.lower)} to {format_loss(at.upper)})"


def _find_source(result: AuditResult, row: LossRow) -> int:
    return int(result.run.read_plan(row.finding.plan).source[row.worst])


def _explain(rows: Sequence[LossRow]) -> str:
    errors = sorted({row.sample.error for row in rows})
    ends = " or ".join(f"{error:g}" for error in errors)
    return (
        "The loss of a trial is ln p(output | source) - ln p(output | other text), of everything that was "
        "drawn: it has no ceiling. Eps at delta is the least epsilon that holds on average over the pairs of "
        "the plan, with an interval of which each end is wrong with probability at most "
        f"{ends} per row; of single pairs it says nothing. {_explain_slack(rows)}Most possible: the largest "
        "loss of any output, drawn or not, over the pairs of texts of these trials. Impossible: outputs that "
        "the other text cannot have had. Unknown: trials without a likelihood, such as failed rewrites, "
        f"taken for infinite.{_explain_checks(rows)}"
    )


def _explain_slack(rows: Sequence[LossRow]) -> str:
    """Return what the slack says, as far as these rows have one."""
    slacks = [row.slack for row in rows if row.slack is not None]
    if not slacks:
        return ""
    told = (
        "Slack: how many times larger the claim is, at most, than what the worst of these pairs loses at the "
        "claim's own delta; other texts may lose more. "
    )
    if any(slack.at_most is not None and slack.at_most < 1 for slack in slacks):
        told += "Below 1 an output can lose more than is claimed. "
    if any(slack.source == "average" for slack in slacks):
        told += (
            "Where a delta stands beside it, it is by the lower end of the average at that delta, and wrong "
            "as often as that. "
        )
    return told


def _explain_checks(rows: Sequence[LossRow]) -> str:
    """Return what is wrong with likelihoods, if it is."""
    told = ""
    if any(row.refuted for row in rows):
        told += (
            " Refuted: guesses were not right as often as the likelihoods promise, in the run and again on "
            "fresh trials, or an output is impossible for its own source; nothing that follows is told."
        )
    if any(row.doubt for row in rows):
        told += (
            " Failed once, not repeated: the figures of the row are to be doubted. Right likelihoods fail so "
            "once in 1,000; the same `tedaudit run` again repeats the check."
        )
    return told
