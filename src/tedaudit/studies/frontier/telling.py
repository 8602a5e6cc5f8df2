"""Tells a frontier: scores at equal measured privacy."""

from tedaudit.reports.section import Column, Section, Table
from tedaudit.studies.calibrate.answer import Answer
from tedaudit.studies.frontier.result import Frontier, FrontierPoint, range_over_ends
from tedaudit.utility.results import Scores, caption

_COLUMNS = (
    Column("task", "task", 0), Column("measured by", rank=3), Column("target", "figures", 0),
    Column("mechanism", "label", 0), Column("epsilon below", "figures"),
    Column("macro F1 there", "figures", 0), Column("epsilon above", "figures"),
    Column("macro F1 at that", "figures", 0), Column("answer", rank=2),
)  # fmt: skip


def describe_frontier(found: Frontier) -> Section:
    """Return the scores at equal measured privacy, with what they do and do not say."""
    told = []
    if found.utility is None:
        told.append("No mechanism has an epsilon that could be scored; see Epsilon for a target.")
    else:
        told.append(caption(found.utility))
        told += [
            f"{task.title}: {task.upper.mean:.3f} if texts are not rewritten, {task.lower:.3f} for the most "
            "frequent class."
            for task in found.utility.tasks
        ]
    told += [
        f"{first.task.title} at {first.answer.target.phrase}: "
        f"{point.answer.label} less {first.answer.label} {change}{_tell_range(first, point)}."
        for first, point, change in found.differences
    ]
    table = Table(_COLUMNS, tuple(map(_format, found)))
    return Section("Utility at equal measured privacy", table, _explain(found), tuple(told))


def _explain(found: Frontier) -> str:
    """Return how to read it; it quotes nothing."""
    is_loss = any(answer.target.is_loss for answer in found.calibrated)
    who = "by the losses of their likelihoods" if is_loss else "by the attacks of this calibration"
    return (
        "Each mechanism was asked for the epsilon at which it reaches the same target, measured "
        f"{who} on these texts: at the epsilon below, fresh trials showed that it is under the target, at "
        "the epsilon above that it is over it. Scores were measured at both; at the target itself the score "
        "lies between if it moves one way with epsilon. Equal measured privacy is not equal privacy: what "
        "measures more may tell the mechanisms apart. An empty epsilon means that none was confirmed. "
        "Differences are at the epsilons below, with approximate 95 % intervals, each by itself; whose "
        "epsilon lies closer to the target has an advantage there, so the range over both ends is told too."
    )


def _tell_range(first: FrontierPoint, point: FrontierPoint) -> str:
    ends = range_over_ends(first, point)
    return "" if ends is None else f"; over both ends {ends[0]:+.3f} to {ends[1]:+.3f}"


def _format(point: FrontierPoint) -> tuple[str, ...]:
    answer = point.answer
    above = answer.high if answer.answer is Answer.INTERVAL else None
    return (
        point.task.title, answer.target.measured, answer.target.label, answer.label,
        "" if answer.low is None else answer.low.label, _show(point.low),
        "" if above is None else above.label, _show(point.high), str(answer.answer),
    )  # fmt: skip


def _show(scores: Scores | None) -> str:
    return "" if scores is None else f"{scores.mean:.3f} (standard error {scores.error:.3f})"
