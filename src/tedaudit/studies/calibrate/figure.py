"""The curve of a calibration: what was measured against nominal epsilon, with the target and the interval."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tedaudit.reports.writers.figures import GREY, STYLES, escape_label, figures_missing, save_figure
from tedaudit.store.directory import RunDirectory
from tedaudit.studies.calibrate.result import Calibrated, EpsilonForTarget

_ACROSS = 3  # panels beside each other
_ERROR = 0.005  # of each end of a bar


def write_curves(calibrated: Calibrated, run: RunDirectory, name: str) -> list[Path]:
    """Draw the curves of all mechanisms into a run and return the files; none without matplotlib."""
    return [] if figures_missing() else save_figure(draw_curves(calibrated), run.figure(name), run)


def draw_curves(calibrated: Calibrated) -> Any:
    """Return a figure with one panel per mechanism: points, targets, and intervals shaded."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(answer.label for answer in calibrated))
    across = min(_ACROSS, len(labels))
    down = -(-len(labels) // across)
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(1.0 + 3.4 * across, 0.6 + 2.8 * down), layout="constrained")
        panels = drawn.subplots(down, across, sharey=True, squeeze=False).ravel()
        for panel, label in zip(panels, labels, strict=False):
            _draw_panel(panel, label, [answer for answer in calibrated if answer.label == label])
        for panel in panels[len(labels) :]:
            panel.remove()
        for first in panels[: len(labels) : across]:
            first.set_ylabel(_name_axis(calibrated.answers[0]))
        handles, names = panels[0].get_legend_handles_labels()
        drawn.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return drawn


def _name_axis(answer: EpsilonForTarget) -> str:
    target = answer.target
    return f"$\\epsilon$ at $\\delta$ = {target.delta:g}" if target.is_loss else "success rate"


def _draw_panel(axes: Any, label: str, answers: Sequence[EpsilonForTarget]) -> None:
    for number, answer in enumerate(answers):
        colour, _ = STYLES[number % len(STYLES)]
        axes.axhline(answer.target.level, color=colour, linestyle="--", linewidth=1)
        if answer.low is not None and answer.high is not None:
            axes.axvspan(answer.low, answer.high, color=colour, alpha=0.25, linewidth=0)
    _draw_points(axes, answers, fresh=False)
    _draw_points(axes, answers, fresh=True)
    axes.set_xscale("log")
    if answers[0].target.is_loss:
        axes.set_yscale("symlog", linthresh=0.1)
        axes.set_ylim(bottom=-0.02)
    axes.set_xlabel(r"nominal $\epsilon$, per the mechanism's own unit")
    axes.set_title(escape_label(label), fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)


def _draw_points(axes: Any, answers: Sequence[EpsilonForTarget], *, fresh: bool) -> None:
    """Draw the points of the search, or those of fresh trials, with the ends of an interval for each."""
    seen = {
        (point.epsilon, 0 if not fresh else number): point
        for number, answer in enumerate(answers)
        for point in answer.points
        if point.is_fresh == fresh
    }
    points = [seen[key] for key in sorted(seen)]
    if not points:
        return
    top = max(4 * answer.target.level for answer in answers) + 1  # an infinite end is cut off above
    values = [min(point.value, top) for point in points]
    ends = [(point.reading.lower_of_any(_ERROR), min(point.reading.upper(_ERROR), top)) for point in points]
    bars = [
        [max(0.0, value - low) for value, (low, _) in zip(values, ends, strict=True)],
        [max(0.0, high - value) for value, (_, high) in zip(values, ends, strict=True)],
    ]
    axes.errorbar(
        [float(point.epsilon) for point in points], values, yerr=bars, color="#000000" if fresh else GREY,
        marker="D" if fresh else "o", markersize=4 if fresh else 3, linewidth=0 if fresh else 1,
        elinewidth=0.8, capsize=2 if fresh else 0, label="fresh trials" if fresh else "search",
    )  # fmt: skip
