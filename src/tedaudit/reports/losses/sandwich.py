"""The sandwich: what attacks showed, what an adversary could learn, and what is claimed, on one axis.

One panel per mechanism, against nominal epsilon. Between an attack and the loss lies what a stronger attack
could still find. How loose the claim is cannot be read from the loss, an average over pairs at one delta: a
claim is for any two texts, at its own delta. What the worst of these pairs loses there, the slack, tells it.
"""

import math
from collections.abc import Sequence
from typing import Any

from tedaudit.estimators.loss import DELTAS
from tedaudit.reports.figures import GREY, STYLES, escape_label
from tedaudit.reports.losses.axes import finish_panel, place_epsilon
from tedaudit.results.findings import Finding
from tedaudit.results.losses import LossRow

_DELTA = DELTAS[0]
_LINEAR = 0.1  # up to here the axis is linear, so that 0 has a place
_SUPREMUM = f"most that a pair can lose, at delta {_DELTA:g} or less"
_ACROSS = 3  # panels beside each other


def draw_sandwich(rows: Sequence[LossRow], findings: Sequence[Finding]) -> Any:
    """Return a figure of the losses of one plan beside its claims and attacks."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(row.finding.label for row in rows))
    attacks = list(dict.fromkeys(finding.attack for finding in findings))
    across = min(_ACROSS, len(labels))
    down = math.ceil(len(labels) / across)
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(2.2 + 3.2 * across, 0.6 + 2.8 * down), layout="constrained")
        panels = drawn.subplots(down, across, sharey=True, squeeze=False).ravel()
        for panel, label in zip(panels, labels, strict=False):
            _draw_loss(panel, [row for row in rows if row.finding.label == label])
            _draw_attacks(panel, [finding for finding in findings if finding.label == label], attacks)
            panel.set_yscale("symlog", linthresh=_LINEAR)
            finish_panel(
                panel, label, [place_epsilon(row.finding) for row in rows if row.finding.label == label]
            )
        for panel in panels[len(labels) :]:
            panel.remove()
        panels[0].set_ylim(-_LINEAR / 4, _find_top(rows, findings))  # shared by all
        for first in panels[: len(labels) : across]:
            first.set_ylabel(r"$\epsilon$ of a whole text")
        handles = {
            name: mark
            for panel in panels[: len(labels)]
            for mark, name in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        drawn.legend(handles.values(), handles.keys(), loc="outside right upper", frameon=False)
    return drawn


def _draw_loss(axes: Any, rows: Sequence[LossRow]) -> None:
    """Draw the claim, the most that a pair can lose, and the loss with its band."""
    places = [place_epsilon(row.finding) for row in rows]
    claims = [math.inf if row.finding.claim is None else row.finding.claim.total for row in rows]
    if any(map(math.isfinite, claims)):
        shown = [claim if math.isfinite(claim) else math.nan for claim in claims]
        axes.plot(places, shown, color=GREY, linestyle="--", marker="_", label="claim")
    suprema = [_get_supremum(row) for row in rows]
    if any(map(math.isfinite, suprema)):
        shown = [value if math.isfinite(value) else math.nan for value in suprema]
        axes.plot(places, shown, color="#000000", linestyle=":", marker="_", label=_SUPREMUM)
    believed = [row for row in rows if not row.refuted]
    places = [place_epsilon(row.finding) for row in believed]
    found = [row.epsilons[0] for row in believed]
    top = 10 * max([1.0, *(at.lower for at in found if math.isfinite(at.lower))])
    ends = [min(at.upper, top) for at in found]  # an infinite end is cut off far above
    axes.fill_between(places, [at.lower for at in found], ends, color="#000000", alpha=0.15, linewidth=0)
    _remark(axes, rows)
    points = [at.point if math.isfinite(at.point) else math.nan for at in found]
    axes.plot(places, points, color="#000000", marker=".", label=f"loss, at delta {_DELTA:g}")


def _remark(axes: Any, rows: Sequence[LossRow]) -> None:
    """Say at which epsilons no loss is drawn, and why."""
    endless = [row for row in rows if not row.refuted and math.isinf(row.epsilons[0].lower)]
    remarks = {"loss: infinite": endless, "loss: refuted": [row for row in rows if row.refuted]}
    told = [(words, those) for words, those in remarks.items() if those]
    for line, (words, those) in enumerate(told):
        at = "" if len(those) == len(rows) else f" at {', '.join(row.finding.epsilon.label for row in those)}"
        axes.text(0.5, 0.03 + 0.07 * line, words + at, transform=axes.transAxes, ha="center", fontsize=8)


def _get_supremum(row: LossRow) -> float:
    """Return the most that two texts can lose, at the delta of the loss; infinite if it is not known."""
    return math.inf if row.supremum is None or row.refuted else row.supremum.epsilon(_DELTA)


def _draw_attacks(axes: Any, findings: Sequence[Finding], attacks: Sequence[str]) -> None:
    """Draw what each attack showed, and the ceiling of these trials."""
    for number, attack in enumerate(attacks):
        own = sorted((f for f in findings if f.attack == attack), key=place_epsilon)
        if own:
            colour, marker = STYLES[number % len(STYLES)]
            axes.plot(
                [place_epsilon(finding) for finding in own], [finding.bound.lower for finding in own],
                color=colour, marker=marker, markersize=4, linewidth=1, label=escape_label(attack),
            )  # fmt: skip
    ceiling = max(finding.bound.ceiling for finding in findings)
    axes.axhline(ceiling, color=GREY, linestyle=":", linewidth=1, label="ceiling of the trials")


def _find_top(rows: Sequence[LossRow], findings: Sequence[Finding]) -> float:
    """Return where the axis ends: above everything finite that is drawn."""
    claims = [row.finding.claim.total for row in rows if row.finding.claim is not None]
    losses = [row.epsilons[0].point for row in rows if not row.refuted]
    shown = [*claims, *map(_get_supremum, rows), *losses]
    shown += [finding.bound.ceiling for finding in findings]
    return 2 * max(value for value in shown if math.isfinite(value))
