"""Macro F1 against nominal epsilon, one panel per task, as in the paper; needs matplotlib."""

import textwrap
from collections.abc import Sequence
from typing import Any

from tedaudit.nominal import distinct_epsilons
from tedaudit.reports.writers.figures import (
    GREY,
    STYLES,
    add_legend,
    draw_panels,
    escape_label,
    finish_panel,
    mark_epsilons,
    mark_height,
)
from tedaudit.utility.results import Measurement, Task, UtilityResult, caption

_WIDTH = 4.0  # inches per panel


def figure(result: UtilityResult) -> Any:
    """Return a matplotlib figure; the dashed lines are texts not rewritten, and the most frequent class."""
    labels = list(dict.fromkeys(measured.mechanism for measured in result))
    given = [epsilon for epsilon in distinct_epsilons(m.epsilon for m in result) if epsilon.is_given]
    epsilons = [float(epsilon) for epsilon in given] or [1.0]
    with draw_panels(len(result.tasks), (_WIDTH, 4.0), (1.6, 0.0)) as (drawn, panels):
        for panel, task in zip(panels, result.tasks, strict=True):
            _draw_panel(panel, task, [m for m in result if m.task == task.name], (labels, epsilons))
        drawn.supxlabel(
            escape_label(textwrap.fill(caption(result), int(17 * drawn.get_figwidth()))),
            fontsize=7,
            color=GREY,
        )
        add_legend(drawn, panels[:1], "right center")
    return drawn


def _draw_panel(
    axes: Any, task: Task, measured: Sequence[Measurement], grid: tuple[Sequence[str], Sequence[float]]
) -> None:
    """Draw one task."""
    labels, epsilons = grid
    for number, label in enumerate(labels):
        beside = 1.03 ** (number - (len(labels) - 1) / 2)  # lines that coincide stay visible
        points = [m for m in measured if m.mechanism == label]
        _draw_line(axes, points, [epsilon * beside for epsilon in epsilons], epsilons, number)
    for name, height in (("not rewritten", task.upper.mean), ("majority class", task.lower)):
        mark_height(axes, height, name)
    error = task.upper.error
    axes.axhspan(task.upper.mean - error, task.upper.mean + error, color=GREY, alpha=0.15, linewidth=0)
    axes.set(ylim=(0, 1.08), ylabel="macro F1")
    mark_epsilons(axes, epsilons, "nominal $\\epsilon$, per the mechanism's own unit")
    axes.set_xlim(epsilons[0] / 1.6, epsilons[-1] * 1.4)
    finish_panel(axes, task.title)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_line(
    axes: Any,
    measured: Sequence[Measurement],
    places: Sequence[float],
    epsilons: Sequence[float],
    number: int,
) -> None:
    """Draw one mechanism with its standard errors; one that takes no epsilon is drawn at every place."""
    if not measured:
        return
    everywhere = not measured[0].epsilon.is_given
    points = [(x, measured[0]) for x in places] if everywhere else [
        (places[epsilons.index(m.epsilon)], m) for m in sorted(measured, key=lambda m: m.epsilon)
    ]  # fmt: skip
    colour, marker = STYLES[number % len(STYLES)]
    axes.errorbar(
        [x for x, _ in points], [m.scores.mean for _, m in points],
        yerr=[m.scores.error for _, m in points], label=escape_label(measured[0].mechanism), color=colour,
        marker=marker, markersize=5, linewidth=1.3, elinewidth=0.8, capsize=2,
        linestyle=":" if everywhere else "-",
    )  # fmt: skip
