"""Tells a frontier: scores at equal measured privacy, and the figure."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tedaudit.reports.writers.figures import (
    GREY,
    STYLES,
    add_legend,
    draw_panels,
    escape_label,
    figures_missing,
    save_figure,
)
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.runs.directory import RunDirectory
from tedaudit.studies.calibrate.result import Answer
from tedaudit.studies.frontier.result import Frontier, FrontierPoint, range_over_ends
from tedaudit.studies.utility.results import Scores, Task, caption
from tedaudit.studies.utility.telling import frame_panel, tell_lacks

_COLUMNS = (
    Column("task", "task", 0), Column("measured by", rank=3), Column("target", "figures", 0),
    Column("mechanism", "label", 0), Column("epsilon below", "figures"), Column("eps_emp there", "bound", 2),
    Column("macro F1 there", "figures", 0), Column("epsilon above", "figures"),
    Column("eps_emp at that", "bound", 2), Column("macro F1 at that", "figures", 0), Column("answer", rank=2),
)  # fmt: skip


def tell(found: Frontier) -> tuple[Section]:
    """Return the scores at equal measured privacy, with what they do and do not say."""
    told = []
    if found.utility is None:
        told.append(
            "No mechanism has an epsilon that could be scored; see the section 'Epsilon for a target'."
        )
    else:
        told.append(caption(found.utility))
        told += [
            f"{task.title}: {task.upper.mean:.3f} if texts are not rewritten, {task.lower:.3f} for the most "
            "frequent class."
            for task in found.utility.tasks
        ]
        told += tell_lacks(found.utility)
    told += [
        f"{first.task.title} at {first.answer.target.phrase}: {point.answer.label} minus "
        f"{first.answer.label} {change}{_tell_range(first, point)}."
        for first, point, change in found.differences
    ]
    table = Table(_COLUMNS, tuple(map(_format, found)))
    return (Section("Utility at equal measured privacy", table, _explain(found), tuple(told), leads=True),)


def _explain(found: Frontier) -> str:
    """Return how to read it; it quotes nothing."""
    is_loss = any(answer.target.is_loss for answer in found.calibrated)
    who = "by the losses of their likelihoods" if is_loss else "by the attacks of this calibration"
    return (
        f"Each mechanism was asked for the epsilon at which it reaches the same target, measured {who} on "
        "these texts: at the epsilon below, fresh trials showed that it is under the target, and at the "
        "epsilon above, that it is over it. Scores were measured at both; if the score moves in one "
        "direction as epsilon grows, the score at the target lies between the two. Equal measured privacy "
        "is not equal privacy: a stronger measurement may tell the mechanisms apart. An empty epsilon "
        "means that none was confirmed. Differences are taken at the epsilons below, with approximate 95% "
        "intervals for each alone; a mechanism whose epsilon lies closer to the target has an advantage "
        "there, so the range over both ends is given too. eps_emp is a lower bound from the same fresh "
        "trials, and not what the mechanisms were made equal by."
    )


def _tell_range(first: FrontierPoint, point: FrontierPoint) -> str:
    ends = range_over_ends(first, point)
    return "" if ends is None else f"; over both ends {ends[0]:+.3f} to {ends[1]:+.3f}"


def _format(point: FrontierPoint) -> tuple[Cell, ...]:
    answer = point.answer
    above = answer.high if answer.answer is Answer.INTERVAL else None
    return (
        point.task.title, answer.target.measured, answer.target.label, answer.label,
        "" if answer.low is None else answer.low.label, None if answer.low is None else answer.eps_emp_low,
        _show(point.low), "" if above is None else above.label,
        None if above is None else answer.eps_emp_high, _show(point.high), str(answer.answer),
    )  # fmt: skip


def _show(scores: Scores | None) -> str:
    return "" if scores is None else f"{scores.mean:.3f} (standard error {scores.error:.3f})"


# --- The figure: macro F1 against the measured target, one panel per task; needs matplotlib.

_WIDTH = 4.0  # inches per panel
_NOTE = (
    "A marker is the score at the epsilon below the target, with its standard error; the thick line ends "
    "at the score at the epsilon above it. Hollow markers: still below the target at the largest epsilon "
    "that was tried."
)


def write_frontier_figure(found: Frontier, run: RunDirectory, name: str) -> list[Path]:
    """Draw a frontier into a run and return the files; none without matplotlib."""
    return [] if figures_missing() else save_figure(draw_frontier(found), run.figure(name), run)


def draw_frontier(found: Frontier) -> Any:
    """Return a figure; the dashed lines are texts not rewritten, and the most frequent class."""
    tasks = list({point.task.name: point.task for point in found}.values())
    labels = list(dict.fromkeys(point.answer.label for point in found))
    target = found.points[0].answer.target
    with draw_panels(len(tasks), (_WIDTH, 4.0), (1.6, 0.0)) as (drawn, panels):
        for panel, task in zip(panels, tasks, strict=True):
            _draw_panel(panel, task, [point for point in found if point.task is task], labels)
            panel.set_xlabel(f"target, measured by {target.measured}")
        drawn.supxlabel(textwrap.fill(_NOTE, int(17 * drawn.get_figwidth())), fontsize=7, color=GREY)
        add_legend(drawn, panels[:1], "right center")
    return drawn


def _draw_panel(axes: Any, task: Task, points: Sequence[FrontierPoint], labels: Sequence[str]) -> None:
    labels_of = {point.answer.target.value: point.answer.target.label for point in points}
    targets = sorted(labels_of)
    span = (targets[-1] - targets[0]) or 1.0
    for number, label in enumerate(labels):
        aside = 0.02 * span * (number - (len(labels) - 1) / 2)  # marks that coincide stay visible
        own = [point for point in points if point.answer.label == label and point.low is not None]
        _draw_mechanism(axes, own, aside, number)
    frame_panel(axes, task)
    axes.set_xlim(targets[0] - 0.1 * span, targets[-1] + 0.1 * span)
    axes.set_xticks(targets, [labels_of[value].replace(" (", "\n(") for value in targets])


def _draw_mechanism(axes: Any, points: Sequence[FrontierPoint], aside: float, number: int) -> None:
    """Draw one mechanism: a line through its low ends, and a thick line from each to its high end."""
    colour, marker = STYLES[number % len(STYLES)]
    shown = sorted(points, key=lambda point: point.answer.target.value)
    places = [point.answer.target.value + aside for point in shown]
    for x, point in zip(places, shown, strict=True):
        assert point.low is not None  # noqa: S101 - those without a score are left out
        if point.high is not None:
            axes.plot([x, x], [point.low.mean, point.high.mean], color=colour, alpha=0.4, linewidth=4)
        hollow = point.answer.answer is Answer.BELOW
        axes.errorbar(
            [x], [point.low.mean], yerr=[point.low.error], color=colour, marker=marker, markersize=5,
            markerfacecolor="white" if hollow else colour, elinewidth=0.8, capsize=2,
        )  # fmt: skip
    if shown:
        heights = [point.low.mean for point in shown if point.low is not None]
        label = escape_label(shown[0].answer.label)
        axes.plot(places, heights, color=colour, linewidth=1, marker=marker, markersize=0, label=label)
