"""Macro F1 against the measured target, one panel per task; needs matplotlib."""

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tedaudit.reports.writers.figures import GREY, STYLES, escape_label, figures_missing, save_figure
from tedaudit.store.directory import RunDirectory
from tedaudit.studies.calibrate.answer import Answer
from tedaudit.studies.frontier.result import Frontier, FrontierPoint
from tedaudit.utility.results import Task

_WIDTH = 4.0  # inches per panel
_NOTE = (
    "A marker is the score at the epsilon below the target, with its standard error; the thick line ends at "
    "the score at the epsilon above it. Hollow: still below the target at the largest epsilon that was tried."
)


def write_frontier_figure(found: Frontier, run: RunDirectory, name: str) -> list[Path]:
    """Draw a frontier into a run and return the files; none without matplotlib."""
    return [] if figures_missing() else save_figure(draw_frontier(found), run.figure(name), run)


def draw_frontier(found: Frontier) -> Any:
    """Return a figure; the dashed lines are texts not rewritten, and the most frequent class."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    tasks = list({point.task.name: point.task for point in found}.values())
    labels = list(dict.fromkeys(point.answer.label for point in found))
    target = found.points[0].answer.target
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        size = (1.6 + _WIDTH * len(tasks), 4.0)
        drawn = Figure(figsize=size, layout="constrained")
        panels = drawn.subplots(1, len(tasks), squeeze=False)[0]
        for panel, task in zip(panels, tasks, strict=True):
            _draw_panel(panel, task, [point for point in found if point.task is task], labels)
            panel.set_xlabel(f"target, measured by {target.measured}")
        drawn.supxlabel(textwrap.fill(_NOTE, int(17 * size[0])), fontsize=7, color=GREY)
        handles, names = panels[0].get_legend_handles_labels()
        drawn.legend(handles, names, loc="outside right center", frameon=False)
    return drawn


def _draw_panel(axes: Any, task: Task, points: Sequence[FrontierPoint], labels: Sequence[str]) -> None:
    labels_of = {point.answer.target.value: point.answer.target.label for point in points}
    targets = sorted(labels_of)
    span = (targets[-1] - targets[0]) or 1.0
    for number, label in enumerate(labels):
        aside = 0.02 * span * (number - (len(labels) - 1) / 2)  # marks that coincide stay visible
        own = [point for point in points if point.answer.label == label and point.low is not None]
        _draw_mechanism(axes, own, aside, number)
    for name, height in (("not rewritten", task.upper.mean), ("majority class", task.lower)):
        axes.axhline(height, linestyle="--", color=GREY, linewidth=1)
        axes.annotate(f"{name} {height:.2f}", (0.01, height), (0, 3), xycoords=("axes fraction", "data"),
                      textcoords="offset points", color=GREY, fontsize=8)  # fmt: skip
    axes.set(ylim=(0, 1.08), ylabel="macro F1")
    axes.set_xlim(targets[0] - 0.1 * span, targets[-1] + 0.1 * span)
    axes.set_xticks(targets, [labels_of[value].replace(" (", "\n(") for value in targets])
    axes.set_title(escape_label(task.title), fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    axes.spines[["top", "right"]].set_visible(False)


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
