"""Figures for a paper: eps_emp against nominal epsilon, one file per plan, as PDF and PNG.

The axes are those of the TeDA paper: nominal epsilon on a logarithmic axis, eps_emp on the left, the
corresponding success rate on the right, the ceiling dashed. A marker shows the
lower bound; the bar above it ends at the upper end of this attack's success. Points of unequal trials have
ceilings of their own, and are not joined.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tedaudit.estimators.bound import epsilon_from_success
from tedaudit.plugins.nominal import distinct_epsilons
from tedaudit.reports.writers.figures import (
    STYLES,
    add_legend,
    break_line,
    draw_panels,
    escape_label,
    figures_missing,
    finish_panel,
    mark_ceilings,
    mark_epsilons,
    mark_no_epsilon,
    save_figure,
)
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.telling_audit import plans

_SUCCESSES = (
    0.5, 0.99, 0.9, 0.999, 0.9999, 0.99999, 0.1, 0.01, 0.95, 0.8, 0.7, 0.3, 0.6, 0.001,
)  # fmt: skip


def write_figures(result: AuditResult) -> list[Path]:
    """Draw every plan of a run into its folder `figures` and return the files; none without matplotlib."""
    if figures_missing():
        return []
    written = []
    for plan in plans(result):
        drawn = figure([finding for finding in result if finding.plan == plan])
        written += save_figure(drawn, result.run.figure(plan), result.run)
    return written


def figure(findings: Sequence[Finding], axis: str = "", bound: str = r"$\epsilon_{\mathrm{emp}}$") -> Any:
    """Return a matplotlib figure of the findings of one plan, one panel per attack.

    `axis` is the label of the x-axis if the findings' epsilons are not the nominal ones, `bound` what their
    bounds are called.
    """
    attacks = list(dict.fromkeys(finding.attack for finding in findings))
    labels = list(dict.fromkeys(finding.label for finding in findings))
    with draw_panels(len(attacks), (4.0, 3.6), (1.6, 0.0), share=True) as (drawn, panels):
        for panel, attack in zip(panels, attacks, strict=True):
            _draw_panel(panel, [finding for finding in findings if finding.attack == attack], labels)
            if axis:
                _mark_decades(panel, axis)
        panels[0].set_ylabel(f"{bound} (lower bound)")
        _add_success_axis(panels[-1], findings[0].bound.candidates)
        if len(labels) > 1:
            add_legend(drawn, panels, "right center")
    return drawn


def _draw_panel(axes: Any, findings: Sequence[Finding], labels: Sequence[str]) -> None:
    """Draw one attack."""
    epsilons = epsilon_grid(findings)
    top = axis_top(max(finding.bound.ceiling for finding in findings))
    ceilings = []
    for number, label in enumerate(labels):
        beside = 1.03 ** (number - (len(labels) - 1) / 2)  # lines that coincide stay visible
        own = [finding for finding in findings if finding.label == label]
        _draw_line(axes, own, epsilons, beside, number)
        ceilings += [(at * beside, one.bound.ceiling) for one in own for at in find_places(one, epsilons)]
    mark_ceilings(axes, ceilings)
    axes.set(ylim=(-0.04 * top, top))
    if any(finding.epsilon.is_given for finding in findings):
        mark_epsilons(axes, epsilons, "nominal $\\epsilon$, per the mechanism's own unit")
    else:
        mark_no_epsilon(axes)
    room = max(1.4, (epsilons[-1] / epsilons[0]) ** 0.28)  # for the word at the ceiling
    axes.set_xlim(epsilons[0] / room, epsilons[-1] * 1.4)
    trials = sorted({finding.bound.trials for finding in findings})
    amount = f"{trials[0]:,}" if len(trials) == 1 else f"{trials[0]:,} to {trials[-1]:,}"
    finish_panel(axes, f"{findings[0].attack}, k = {findings[0].bound.candidates:,}, {amount} trials")
    axes.spines["top"].set_visible(False)


def _mark_decades(axes: Any, label: str) -> None:
    """Mark powers of ten, for epsilons that are not round numbers."""
    low, high = axes.get_xlim()
    axes.set_xlabel(label)
    powers = [10.0**n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    if len(powers) > 1:
        axes.set_xticks(powers, [f"{power:,g}" if power < 1e6 else f"{power:.0e}" for power in powers])


def _draw_line(
    axes: Any, findings: Sequence[Finding], epsilons: Sequence[float], beside: float, n: int
) -> None:
    """Draw one mechanism: its lower bounds, and bars to the upper end of the attack's success."""
    if not findings:
        return
    colour, marker = STYLES[n % len(STYLES)]
    points = [(at * beside, finding.bound) for finding in findings for at in find_places(finding, epsilons)]
    points.sort(key=lambda point: point[0])
    # an infinite upper end is cut off at the top of the figure
    # if the most certain guesses prove more than all of them, there is no bar
    drawn = [
        (x, bound.lower, max(0.0, min(bound.upper, 10 * bound.ceiling + 10) - bound.lower))
        for x, bound in points
    ]
    places, lower, above = zip(*break_line(drawn, [bound.ceiling for _, bound in points]), strict=True)
    axes.errorbar(
        places, lower, yerr=[[0.0] * len(places), above],
        label=escape_label(findings[0].label), color=colour, marker=marker, markersize=5, linewidth=1.3,
        elinewidth=0.8, capsize=2, linestyle="-" if findings[0].epsilon.is_given else ":",
    )  # fmt: skip


def _add_success_axis(axes: Any, candidates: int) -> None:
    """Add an axis on the right with the success rates that correspond to eps_emp."""
    marks = success_marks(candidates, axes.get_ylim()[1])
    other = axes.secondary_yaxis("right")
    other.set_yticks([at for _, at in marks], [name for name, _ in marks])
    other.set_ylabel("success rate")


def success_marks(candidates: int, top: float) -> list[tuple[str, float]]:
    """Return success rates and the eps_emp of each, with room for every label.

    Blind guessing is at 0; the others are tried in the order in which they help a reader.
    """
    marks = [(f"{1 / candidates:.2g}", 0.0)]
    for success in _SUCCESSES:
        at = epsilon_from_success(success, candidates)
        if at <= top and all(abs(at - other) > 0.065 * top for _, other in marks):
            marks.append((f"{success:g}", at))
    return sorted(marks, key=lambda mark: mark[1])


def axis_top(ceiling: float) -> float:
    """Return where the axis of eps_emp ends: a little above the ceiling."""
    return ceiling * 1.12 + 0.3


def epsilon_grid(findings: Sequence[Finding]) -> list[float]:
    """Return the epsilons of the axis; if no mechanism takes one, a single place to draw them at."""
    epsilons = distinct_epsilons(finding.epsilon for finding in findings)
    return [float(epsilon) for epsilon in epsilons if epsilon.is_given] or [1.0]


def find_places(finding: Finding, epsilons: Sequence[float]) -> Sequence[float]:
    """Return where a finding is drawn: at every epsilon if the mechanism takes none."""
    return [finding.epsilon] if finding.epsilon.is_given else epsilons
