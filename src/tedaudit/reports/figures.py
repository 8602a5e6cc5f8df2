"""Figures for a paper: eps_emp against nominal epsilon, one file per plan, as PDF and PNG.

The axes are those of the TeDA paper: nominal epsilon on a logarithmic axis, eps_emp on the left, the
corresponding success rate on the right, the ceiling dashed. A marker shows the
lower bound; the bar above it ends at the upper end of this attack's success.
"""

import importlib.util
import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tedaudit.estimators.bound import epsilon_from_success
from tedaudit.nominal import distinct_epsilons
from tedaudit.reports.figure_labels import fit_labels
from tedaudit.reports.table import plans
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.store.directory import RunDirectory
from tedaudit.store.files import make_folders, write_atomically

STYLES = (
    ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"), ("#E69F00", "v"),
    ("#56B4E9", "P"), ("#000000", "X"), ("#882255", "*"),
)  # fmt: skip
"""Okabe and Ito's colours, distinguishable with any colour vision, and shapes for print in grey."""
_SUCCESSES = (
    0.5, 0.99, 0.9, 0.999, 0.9999, 0.99999, 0.1, 0.01, 0.95, 0.8, 0.7, 0.3, 0.6, 0.001,
)  # fmt: skip
GREY = "#666666"
_METADATA: dict[str, dict[str, Any]] = {"pdf": {"CreationDate": None}, "png": {"Software": None}}


def figures_missing() -> str:
    """Return how to get figures if they cannot be drawn, otherwise an empty string."""
    if importlib.util.find_spec("matplotlib") is not None:
        return ""
    return "No figures were drawn: matplotlib is not installed. pip install 'tedaudit[reports]'"


def write_figures(result: AuditResult) -> list[Path]:
    """Draw every plan of a run into its folder `figures` and return the files; none without matplotlib."""
    if figures_missing():
        return []
    written = []
    for plan in plans(result):
        drawn = figure([finding for finding in result if finding.plan == plan])
        written += save_figure(drawn, result.run.figure(plan), result.run)
    return written


def save_figure(
    drawn: Any,
    target: Path,
    run: RunDirectory | None = None,
    write: Callable[[Path, bytes], None] = write_atomically,
) -> list[Path]:
    """Save a figure as PDF and PNG, without time stamps, and return the files.

    One of a run shows names as they may be shown there.
    """
    fit_labels(drawn)
    contents = {}
    for kind, metadata in _METADATA.items():
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=kind, dpi=200, metadata=metadata)
        contents[target.with_name(f"{target.name}.{kind}")] = buffer.getvalue()
    if run is not None:
        run.files.write(contents, redacted=run.files.is_redacted)
        return list(contents)
    make_folders(target.parent, None)
    for path, content in contents.items():
        write(path, content)
    return list(contents)


def figure(findings: Sequence[Finding], axis: str = "", bound: str = r"$\epsilon_{\mathrm{emp}}$") -> Any:
    """Return a matplotlib figure of the findings of one plan, one panel per attack.

    `axis` is the label of the x-axis if the findings' epsilons are not the nominal ones, `bound` what their
    bounds are called.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    attacks = list(dict.fromkeys(finding.attack for finding in findings))
    labels = list(dict.fromkeys(finding.label for finding in findings))
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(1.6 + 4.0 * len(attacks), 3.6), layout="constrained")
        panels = drawn.subplots(1, len(attacks), sharey=True, squeeze=False)[0]
        for panel, attack in zip(panels, attacks, strict=True):
            _draw_panel(panel, [finding for finding in findings if finding.attack == attack], labels)
            if axis:
                _mark_decades(panel, axis)
        panels[0].set_ylabel(f"{bound} (lower bound)")
        _add_success_axis(panels[-1], findings[0].bound.candidates)
        handles = {label: mark for panel in panels for mark, label in zip(*_read_legend(panel), strict=True)}
        if len(handles) > 1:
            drawn.legend(handles.values(), handles.keys(), loc="outside right center", frameon=False)
    return drawn


def _read_legend(panel: Any) -> tuple[list[Any], list[str]]:
    handles, labels = panel.get_legend_handles_labels()
    return handles, labels


def _draw_panel(axes: Any, findings: Sequence[Finding], labels: Sequence[str]) -> None:
    """Draw one attack."""
    epsilons = epsilon_grid(findings)
    ceiling = max(finding.bound.ceiling for finding in findings)
    top = axis_top(ceiling)
    for number, label in enumerate(labels):
        beside = 1.03 ** (number - (len(labels) - 1) / 2)  # lines that coincide stay visible
        _draw_line(axes, [f for f in findings if f.label == label], epsilons, beside, number)
    axes.axhline(ceiling, linestyle="--", color=GREY, linewidth=1)
    axes.annotate(f"ceiling {ceiling:.2f}", (0.01, ceiling), (0, 3), xycoords=("axes fraction", "data"),
                  textcoords="offset points", color=GREY, fontsize=8)  # fmt: skip
    axes.set(
        xscale="log", ylim=(-0.04 * top, top), xlabel="nominal $\\epsilon$, per the mechanism's own unit"
    )
    labelled = labels_with_room(epsilons)
    axes.set_xticks(epsilons, [f"{epsilon:g}" if epsilon in labelled else "" for epsilon in epsilons])
    room = max(1.4, (epsilons[-1] / epsilons[0]) ** 0.28)  # for the word at the ceiling
    axes.set_xlim(epsilons[0] / room, epsilons[-1] * 1.4)
    axes.minorticks_off()
    bound = findings[0].bound
    axes.set_title(
        escape_label(f"{findings[0].attack}, k = {bound.candidates:,}, {bound.trials:,} trials"), fontsize=9
    )
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
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
    lower = [bound.lower for _, bound in points]
    # an infinite upper end is cut off at the top of the figure
    # if the most certain guesses prove more than all of them, there is no bar
    above = [max(0.0, min(bound.upper, 10 * bound.ceiling + 10) - bound.lower) for _, bound in points]
    axes.errorbar(
        [x for x, _ in points], lower, yerr=[[0.0] * len(points), above],
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


def labels_with_room(epsilons: Sequence[float], share: float = 0.13) -> list[float]:
    """Return the epsilons whose labels have room on a logarithmic axis; the last one always has."""
    width = math.log(epsilons[-1] / epsilons[0])
    labelled_epsilons = [epsilons[-1]]
    for epsilon in epsilons[:-1]:
        if all(abs(math.log(epsilon / other)) > share * width for other in labelled_epsilons):
            labelled_epsilons.append(epsilon)
    return sorted(labelled_epsilons)


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


def escape_label(text: str) -> str:
    """Return a label that matplotlib shows literally: without mathematics, never hidden for an underscore."""
    shown = text.replace("\\", "\\\\").replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown
