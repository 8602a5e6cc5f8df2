"""Losses as a table: what an adversary that knows the mechanism learns, beside the claim."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from tedaudit.errors import shorten
from tedaudit.estimators.likelihood_check import RESOLVED
from tedaudit.estimators.loss import DELTAS, EpsilonAt, LossSample, Supremum
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossPart, LossParts, LossRow, TextLoss, find_contradictions, find_parts
from tedaudit.results.section import Cell, Column, Section, Table, format_loss
from tedaudit.runs.pieces import read_pieces

_COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("claim"),
    Column("slack", "figures"), Column("likelihoods"),
    Column(f"text: eps at delta {DELTAS[0]:g}", "figures", 2), Column("losses of texts", rank=3),
    *(Column(f"eps at delta {delta:g}", "figures", min(2 * place, 2)) for place, delta in enumerate(DELTAS)),
    Column("median loss", "loss", 2), Column("largest loss", "loss"), Column("most possible", "loss", 0),
    Column("impossible", "figures", 2), Column("unknown", "figures", 2), Column("its text", "text", 3),
)  # fmt: skip
_LONGEST = 80  # characters of a text that are shown


def tell_losses(result: AuditResult, rows: Sequence[LossRow]) -> Section:
    """Return the losses of a run as a section, the text with the largest loss beside each."""
    texts = result.run.corpus().texts if result.has_texts else None
    cells = tuple(
        _format(row, "" if texts is None else shorten(texts[_find_source(result, row)], _LONGEST))
        for row in rows
    )
    return Section(
        "Loss: what an adversary that knows the mechanism learns",
        Table(_COLUMNS, cells).leave_empty_out(),
        _explain(rows),
        tuple(find_contradictions(result, rows)),
    )


def rename_losses(rows: Sequence[LossRow], result: AuditResult, shown: AuditResult) -> list[LossRow]:
    """Return the losses of a result with names as they may be shown: the same findings in the same order."""
    names = {id(old): new for old, new in zip(result, shown, strict=True)}
    texts = [row.text and replace(row.text, finding=names[id(row.text.finding)]) for row in rows]
    return [
        replace(row, finding=names[id(row.finding)], text=text) for row, text in zip(rows, texts, strict=True)
    ]


def _format(row: LossRow, text: str) -> tuple[Cell, ...]:
    finding, sample = row.finding, row.sample
    named = finding.label, finding.epsilon.label, "none" if finding.claim is None else str(finding.claim)
    unknown = _count(sample.unknown, sample)
    if row.refuted:  # nothing that follows from the likelihoods is told
        figures = ("refuted",) * (len(DELTAS) + 3)  # epsilons, median, largest, most possible
        return *named, "refuted", row.refuted, *_format_text(row.text), *figures, "", unknown, ""
    return (
        *named, "" if row.slack is None else str(row.slack), row.doubt, *_format_text(row.text),
        *(format_epsilon(at, sample) for at in row.epsilons),
        sample.quantile(0.5), sample.quantile(1.0), _format_supremum(row.supremum),
        _count(row.impossible, sample), unknown, text,
    )  # fmt: skip


def _format_text(text: TextLoss | None) -> tuple[str, str]:
    """Return what the text alone loses, and how well that is known."""
    if text is None:
        return "", ""
    if text.refuted:
        return "refuted", text.refuted
    at = text.epsilon_at[0]
    if text.exact:
        return format_epsilon(at, text.high), "exact"
    known = f"{text.resolved:.0%} to {RESOLVED:g}, median {text.width:.2g}"
    ends = f"{format_loss(at.lower)} to {format_loss(at.upper_known)}"
    return "; ".join([ends, *_tell_unknown(at, text.high)]), known


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
    told, needed = [format_ends(at)], sample.trials_for_upper(at.delta)
    if math.isinf(at.upper_known) and needed > sample.trials:
        told.append(f"{needed:,} trials for an upper end")
    told += _tell_unknown(at, sample)
    return f"{format_loss(at.point)} ({'; '.join(told)})"


def format_ends(at: EpsilonAt, write: Callable[[float], str] = format_loss) -> str:
    """Return both ends, or the lower one alone, as they are if outputs of unknown loss tell nothing."""
    if math.isinf(at.upper_known):
        return f"above {write(at.lower)}" if at.lower > 0 else "from 0"
    return f"{write(at.lower)} to {write(at.upper_known)}"


def _tell_unknown(at: EpsilonAt, sample: LossSample) -> list[str]:
    """Return what outputs of unknown loss may add, if there are any."""
    if not sample.unknown:
        return []
    share = f"{sample.unknown:,} of {sample.trials:,} unknown"
    if math.isinf(at.upper):
        return [f"{share}, which may tell more"]
    return [f"up to {format_loss(at.upper)} with {share}"]


def _find_source(result: AuditResult, row: LossRow) -> int:
    return int(result.run.read_plan(row.finding.plan).source[row.worst])


def _explain(rows: Sequence[LossRow]) -> str:
    errors = sorted({row.sample.error for row in rows})
    ends = " or ".join(f"{error:g}" for error in errors)
    return (
        "The loss of a trial is ln p(output | source) - ln p(output | other text), of everything that was "
        "drawn: it has no ceiling. Eps at delta is the least epsilon that holds on average over the pairs of "
        "the plan, with an interval of which each end is wrong with probability at most "
        f"{ends} per row. It is no mean: unless it is 0, at least a share delta of outputs loses more. Of "
        f"single pairs it says nothing. {_explain_slack(rows)}Most possible: the largest loss of any output, "
        "drawn or not, between the two texts of any pair of these trials; other pairs of the same texts may "
        "lose more. Impossible: outputs that the other text cannot have had."
        f"{_explain_unknown(rows)}{_explain_texts(rows)}{_explain_checks(rows)}"
    )


def _explain_unknown(rows: Sequence[LossRow]) -> str:
    """Return how trials without a likelihood count, if there are any."""
    if not any(row.sample.unknown or (row.text is not None and row.text.high.unknown) for row in rows):
        return ""
    return (
        " Unknown: trials without a likelihood, such as failed rewrites. Whether a rewrite fails may depend "
        "on its text, so that they may tell more than all others: a number and the interval behind it are as "
        "if they told nothing, and what they can add stands after it."
    )


def _explain_texts(rows: Sequence[LossRow]) -> str:
    """Return what the loss of a text is, if there is one."""
    texts = [row.text for row in rows if row.text is not None and not row.text.refuted]
    if not texts:
        return ""
    told = (
        " Text: the same for whoever knows the mechanism and reads the text alone, whatever was drawn for "
        "it; on average it loses no more."
    )
    if not all(text.exact for text in texts):
        told += (
            " Where not all draws that give a text are added up, its loss lies between two ends: told are "
            "the share of trials in which they are close, and the median gap; the upper one counts."
        )
    return told


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
        told += "Below 1 one of these pairs loses more than is claimed. "
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


# --- Where the loss lies: by the class of the word that stood in a slot, and by step.


def read_parts(result: AuditResult, rows: Sequence[LossRow]) -> list[LossParts]:
    """Return the parts of every setting that has them, in the order of the losses."""
    pieces = read_pieces(result.run)
    believed = [row for row in rows if not row.refuted]
    found = [find_parts(result, row, pieces.get(row.finding.label)) for row in believed]
    return [parts for parts in found if parts is not None]


def tell_parts(parts: Sequence[LossParts]) -> list[Section]:
    """Return the parts as sections: by word, and by step."""
    by_class = [part for part in parts if part.classes]
    by_step = [part for part in parts if not part.classes and len(part.steps) > 1]
    sections = []
    if by_class:
        sections.append(
            _tabulate("Which words carry the loss", _BY_CLASS, [(part, part.classes) for part in by_class])
        )
    if by_step:
        sections.append(
            _tabulate("Which steps carry the loss", _BY_STEP, [(part, part.spans) for part in by_step])
        )
    return sections


_BY_CLASS = (
    "The mean loss of a slot by the word of the source that stood there, and in brackets its share of the "
    "whole loss. A loss beyond the end of a text tells its length. Outputs that the other text cannot have "
    "had are left out."
)
_BY_STEP = (
    "The mean loss of a drawn part by its place, counted from 1, and in brackets the share of the whole "
    "loss. A part is what the mechanism draws at a time, such as a token. Outputs that the other text cannot "
    "have had are left out."
)


def _tabulate(title: str, reading: str, rows: Sequence[tuple[LossParts, Sequence[LossPart]]]) -> Section:
    names = list(dict.fromkeys(part.name for _, parts in rows for part in parts))
    cells: list[tuple[Cell, ...]] = []
    for whole, parts in rows:
        by_name = {part.name: part for part in parts}
        finding = whole.row.finding
        known = [by_name.get(name) for name in names]
        shown = ["" if part is None else _format_part(part) for part in known]
        cells.append((finding.label, finding.epsilon.label, whole.trials, *shown))
    columns = (
        Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("trials", "count", 3),
        *(Column(name, "figures") for name in names),
    )  # fmt: skip
    return Section(title, Table(columns, tuple(cells)), reading)


def _format_part(part: LossPart) -> str:
    return f"{part.mean:.3g}" + ("" if part.share is None else f" ({part.share:.0%})")
