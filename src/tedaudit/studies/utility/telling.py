"""Tells a study of utility: the scores as a table, how they change with epsilon, and the figure."""

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tedaudit.plugins.nominal import distinct_epsilons
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
from tedaudit.results.section import Cell, Column, Section, Table
from tedaudit.studies.utility.classifiers import name_classes
from tedaudit.studies.utility.results import Measurement, Scores, Task, UtilityResult, caption, compare_scores

_COLUMNS = (
    Column("task", "task", 0), Column("mechanism", "label", 0), Column("epsilon", "figures", 0),
    Column("macro F1", "figures", 0), Column("std", "figures"), Column("test error", "figures"),
    Column("failed rewrites", "figures", 2),
)  # fmt: skip


_PRIVATE = (
    Column("column", "label", 0), Column("mechanism", "label", 0), Column("epsilon", "figures", 0),
    Column("right", "figures", 0), Column("most frequent class", "figures", 2),
    Column("gain", "figures", 0), Column("pairs right", "figures"), Column("eps_emp", "bound", 0),
    Column("ceiling", "bound", 3),
)  # fmt: skip


def tell(result: UtilityResult) -> tuple[Section, ...]:
    """Return the scores, and what was guessed of private columns if anything was."""
    guessed = _tell_private(result)
    return (_tell_scores(result),) if guessed is None else (_tell_scores(result), guessed)


def _tell_private(result: UtilityResult) -> Section | None:
    """Return what rewrites of test texts tell of private columns: the gain, and the game of matched pairs."""
    measured = [(m, m.guessed) for m in result if m.guessed is not None]
    rows = []
    for m, guessed in measured:
        bound, sure = guessed.bound, guessed.surest
        pairs = f"{bound.correct:,} / {bound.trials:,}"
        pairs += "" if sure is None else f"; surest {sure.right:,} / {sure.size:,}"
        gain = f"{100 * guessed.gain[0]:+.1f} to {100 * guessed.gain[1]:+.1f}"
        blind = f"{guessed.frequent:,}"
        rows.append(
            (m.task, m.mechanism, m.epsilon.label, f"{guessed.right:,} / {guessed.asked:,}", blind, gain,
             pairs, bound.lower, bound.ceiling)
        )  # fmt: skip
    if not rows:
        return None
    error = sum(guessed.error for _, guessed in measured)
    told = (
        f"Guessed from rewrites of test texts by {result.classifier}, which learnt from rewrites of training "
        "texts. Gain: right guesses beyond those of the best blind guess, in percentage points, for this "
        "classifier and texts drawn as these were. Pairs: test texts of different values are matched by "
        "length and by the other columns of the study, a coin decides which of the two is rewritten, and the "
        "classifier says which. eps_emp is a lower bound on the epsilon of a mechanism with fresh noise for "
        "every text, at the delta of its claim if it has one. The probability that any of the "
        f"{len(rows)} bounds is too high is at most {error:.2g}; the same holds for the lower ends of all "
        "gains, and for the upper ones. Another classifier may guess more."
    )
    return Section("Private columns", Table(_PRIVATE, tuple(rows)), sentences=(told,))


def _tell_scores(result: UtilityResult) -> Section:
    """Return the scores: per task the upper line, the mechanisms, the lower line."""
    rows: list[tuple[str, ...]] = []
    for task in result.tasks:
        rows.append((task.title, "(not rewritten)", "", *_show_scores(task.upper), ""))
        for measured in (m for m in result if m.task == task.name):
            epsilon = measured.epsilon.label
            failed = f"{measured.failed:,} of {measured.rewrites:,}"
            rows.append((task.title, measured.mechanism, epsilon, *_show_scores(measured.scores), failed))
        rows.append((task.title, "(majority class)", "", f"{task.lower:.3f}", "", "", ""))
    told = (caption(result), *tell_lacks(result))
    return Section(f"Utility {result.name}", Table(_COLUMNS, tuple(rows)), sentences=told)


def tell_lacks(result: UtilityResult) -> list[str]:
    """Return what nobody could learn: columns that are left out, and classes of the others."""
    columns = [f"Left out: {one}." for one in result.not_learnt]
    return columns + [
        f"'{task.name}': no training text, and so never predicted right: {name_classes(task.unseen)}."
        for task in result.tasks
        if task.unseen
    ]


def _show_scores(scores: Scores) -> tuple[str, str, str]:
    error = "" if scores.test_error is None else f"{scores.test_error:.3f}"
    return f"{scores.mean:.3f}", f"{scores.spread:.3f}", error


def describe_changes(result: UtilityResult) -> list[str]:
    """Return in words how scores change from the smallest epsilon to the largest, with intervals."""
    notes = []
    for task in result.tasks:
        own = [m for m in result if m.task == task.name and m.epsilon.is_given]
        for label in dict.fromkeys(m.mechanism for m in own):
            line = sorted((m for m in own if m.mechanism == label), key=lambda m: m.epsilon)
            change = compare_scores(line[0].scores, line[-1].scores)
            if len(line) > 1 and change is not None:
                span = f"from epsilon {line[0].epsilon.label} to {line[-1].epsilon.label}"
                notes.append(f"{task.title}, {label}: {change.told} {span}, {change}")
    return notes


_CHANGES = (
    *_COLUMNS[:3],
    *(Column(f"change from the {before}{part}", "number") for before in ("smallest epsilon", "epsilon before")
      for part in ("", ": lower end", ": upper end")),
)  # fmt: skip


def tabulate_changes(result: UtilityResult) -> Section:
    """Return how scores change with epsilon, with 95% intervals."""
    rows: list[tuple[Cell, ...]] = []
    for task in result.tasks:
        own = [m for m in result if m.task == task.name and m.epsilon.is_given]
        for label in dict.fromkeys(m.mechanism for m in own):
            line = sorted((m for m in own if m.mechanism == label), key=lambda m: m.epsilon)
            for before, after in pairwise(line):
                changes = [compare_scores(first.scores, after.scores) for first in (line[0], before)]
                told = [cell for c in changes if c is not None for cell in (c.value, c.low, c.high)]
                if told:
                    rows.append((task.title, label, after.epsilon.label, *told))
    return Section("changes of macro F1 (95% intervals)", Table(_CHANGES, tuple(rows)))


# --- The figure: macro F1 against nominal epsilon, one panel per task, as in the paper; needs matplotlib.

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
    frame_panel(axes, task)
    error = task.upper.error
    axes.axhspan(task.upper.mean - error, task.upper.mean + error, color=GREY, alpha=0.15, linewidth=0)
    mark_epsilons(axes, epsilons, "nominal $\\epsilon$, per the mechanism's own unit")
    axes.set_xlim(epsilons[0] / 1.6, epsilons[-1] * 1.4)


def frame_panel(axes: Any, task: Task) -> None:
    """Draw what every panel of a task has: its title, and the lines between which its scores lie."""
    for name, height in (("not rewritten", task.upper.mean), ("majority class", task.lower)):
        mark_height(axes, height, name)
    axes.set(ylim=(0, 1.08), ylabel="macro F1")
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
