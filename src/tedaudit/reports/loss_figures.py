"""The figures of a run with losses: the sandwich, the parts that carry the loss, latent against text."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.estimators.loss import DELTAS
from tedaudit.reports.writers.figures import (
    GREY,
    STYLES,
    add_legend,
    are_alike,
    break_line,
    draw_panels,
    escape_label,
    figures_missing,
    finish_panel,
    mark_epsilons,
    mark_no_epsilon,
    save_figure,
)
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.losses import LossParts, LossRow, read_losses
from tedaudit.results.reading import read_result
from tedaudit.results.telling_losses import read_parts, rename_losses

_CHANCE = 0.5  # with two candidates


def write_loss_figures(shown: AuditResult) -> list[Path]:
    """Draw every plan that has losses into the folder `figures` of its run, and return the files."""
    if figures_missing():
        return []
    stored = read_result(shown.run, shown.alpha)  # names that were left out lead to no table
    losses = read_losses(stored)
    rows = rename_losses(losses, stored, shown)
    named = {id(old): new for old, new in zip(losses, rows, strict=True)}
    parts = [replace(part, row=named[id(part.row)]) for part in read_parts(stored, losses)]
    written = []
    for plan in dict.fromkeys(row.finding.plan for row in rows):
        own = [row for row in rows if row.finding.plan == plan]
        findings = [finding for finding in shown if finding.plan == plan]
        written += save_figure(draw_sandwich(own, findings), shown.run.figure(f"{plan}-loss"), shown.run)
        carrying = [part for part in parts if part.row.finding.plan == plan and len(part.steps) > 1]
        if carrying:
            written += save_figure(draw_parts(carrying), shown.run.figure(f"{plan}-loss-parts"), shown.run)
        latent = [row for row in own if has_latent(row) and not row.refuted]
        if latent:
            written += save_figure(
                draw_latent(latent, findings), shown.run.figure(f"{plan}-latent"), shown.run
            )
    return written


def has_latent(row: LossRow) -> bool:
    """Return whether the loss is of a vector with Gaussian noise, which a decoder turns into the text."""
    return row.supremum is not None and row.supremum.is_gaussian


def draw_latent(rows: Sequence[LossRow], findings: Sequence[Finding]) -> Any:
    """Return a figure of how often the source is named from the latent, and from the text alone."""
    labels = list(dict.fromkeys(row.finding.label for row in rows))
    attacks = list(dict.fromkeys(finding.attack for finding in findings if finding.score != LIKELIHOOD))
    with draw_panels(len(labels), (3.2, 3.2), (2.2, 0.0), share=True) as (drawn, panels):
        for panel, label in zip(panels, labels, strict=True):
            own = sorted(
                (row for row in rows if row.finding.label == label),
                key=lambda row: place_epsilon(row.finding),
            )
            places = [place_epsilon(row.finding) for row in own]
            known = [(1 + row.sample.delta(0.0)) / 2 for row in own]  # of the best adversary there is
            panel.plot(places, known, color="#000000", marker=".", label="latent, all that there is to learn")
            for number, attack in enumerate(attacks):
                mine = sorted(
                    (f for f in findings if (f.label, f.attack) == (label, attack)), key=place_epsilon
                )
                colour, marker = STYLES[number % len(STYLES)]
                rates = [finding.bound.success for finding in mine]
                panel.plot(
                    [place_epsilon(finding) for finding in mine], rates, color=colour, marker=marker,
                    markersize=4, linewidth=1, label=escape_label(attack),
                )  # fmt: skip
            panel.axhline(_CHANCE, color=GREY, linestyle=":", linewidth=1, label="chance")
            _finish(panel, own)
        panels[0].set_ylabel("right guesses")
        add_legend(drawn, panels[:1], "right upper")
    return drawn


def draw_parts(parts: Sequence[LossParts]) -> Any:
    """Return a figure with a panel per mechanism: mean losses by class if they are known, else by step."""
    labels = list(dict.fromkeys(part.row.finding.label for part in parts))
    with draw_panels(len(labels), (4.6, 3.0), (0.0, 0.4), across=2) as (drawn, panels):
        for panel, label in zip(panels, labels, strict=True):
            own = [part for part in parts if part.row.finding.label == label]
            (_draw_classes if own[0].classes else _draw_steps)(panel, own)
            panel.axhline(0.0, color=GREY, linewidth=0.8)
            panel.set_yscale("symlog", linthresh=0.01)
            finish_panel(panel, label)
            panel.legend(frameon=False, fontsize=8, title="nominal epsilon", title_fontsize=8)
    return drawn


def _draw_classes(axes: Any, parts: Sequence[LossParts]) -> None:
    names = list(dict.fromkeys(part.name for whole in parts for part in whole.classes))
    for number, whole in enumerate(parts):
        colour, marker = STYLES[number % len(STYLES)]
        by_name = {part.name: part.mean for part in whole.classes}
        shown = [by_name.get(name, math.nan) for name in names]
        label = whole.row.finding.epsilon.label
        axes.plot(names, shown, color=colour, marker=marker, markersize=5, linewidth=0.8, label=label)
    axes.tick_params(axis="x", rotation=30)
    axes.set_ylabel("mean loss of a word")


def _draw_steps(axes: Any, parts: Sequence[LossParts]) -> None:
    for number, whole in enumerate(parts):
        colour, _ = STYLES[number % len(STYLES)]
        places = range(1, len(whole.steps) + 1)
        axes.plot(places, whole.steps, color=colour, linewidth=1.2, label=whole.row.finding.epsilon.label)
    axes.set_xlabel("step")
    axes.set_ylabel("mean loss of a step")


# --- The axis of nominal epsilon that the figures of losses share.


def place_epsilon(finding: Finding) -> float:
    """Return where a setting stands on the axis; one without a finite epsilon stands at 1."""
    value = float(finding.epsilon) if finding.epsilon.is_given else 1.0
    return value if math.isfinite(value) else 1.0


def _finish(axes: Any, rows: Sequence[LossRow]) -> None:
    """Mark the epsilons that were tried, as far as there is room, and name the mechanism."""
    findings = [row.finding for row in rows]
    if any(finding.epsilon.is_given for finding in findings):
        mark_epsilons(axes, sorted(set(map(place_epsilon, findings))), r"nominal $\epsilon$")
    else:
        mark_no_epsilon(axes)
    finish_panel(axes, findings[0].label)


# --- The sandwich: what attacks showed, what an adversary could learn, and what is claimed, on one axis.
#
# One panel per mechanism, against nominal epsilon. Between an attack and the loss lies what a stronger
# attack could still find. How loose the claim is cannot be read from the loss, an average over pairs at one
# delta: a claim is for any two texts, at its own delta. What the worst of these pairs loses there, the
# slack, tells it.

_DELTA = DELTAS[0]
_LINEAR = 0.1  # up to here the axis is linear, so that 0 has a place
_SUPREMUM = f"most that a drawn pair can lose, at delta {_DELTA:g} or less"
_ACROSS = 3  # panels beside each other


def draw_sandwich(rows: Sequence[LossRow], findings: Sequence[Finding]) -> Any:
    """Return a figure of the losses of one plan beside its claims and attacks."""
    labels = list(dict.fromkeys(row.finding.label for row in rows))
    attacks = list(dict.fromkeys(finding.attack for finding in findings))
    with draw_panels(len(labels), (3.2, 2.8), (2.2, 0.6), across=_ACROSS, share=True) as (drawn, panels):
        for panel, label in zip(panels, labels, strict=True):
            own = [row for row in rows if row.finding.label == label]
            _draw_loss(panel, own)
            _draw_attacks(panel, [finding for finding in findings if finding.label == label], attacks)
            panel.set_yscale("symlog", linthresh=_LINEAR)
            _finish(panel, own)
        panels[0].set_ylim(-_LINEAR / 4, _find_top(rows, findings))  # shared by all
        for first in panels[::_ACROSS]:
            first.set_ylabel(r"$\epsilon$ of a whole text")
        add_legend(drawn, panels, "right upper")
    return drawn


def _draw_loss(axes: Any, rows: Sequence[LossRow]) -> None:
    """Draw the claim, the most that a drawn pair can lose, and the loss with its band."""
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
    axes.plot(places, points, color="#000000", marker=".", label=f"loss of the draw, at delta {_DELTA:g}")
    texts = [(place_epsilon(row.finding), text) for row in rows if (text := row.believed_text) is not None]
    if texts:
        shown = [text.epsilon_at[0].point for _, text in texts]
        axes.plot(
            [place for place, _ in texts], [value if math.isfinite(value) else math.nan for value in shown],
            color="#000000", linestyle="-.", marker=".", label=f"loss of the text, at delta {_DELTA:g}",
        )  # fmt: skip


def _remark(axes: Any, rows: Sequence[LossRow]) -> None:
    """Say at which epsilons no loss is drawn, and why."""
    endless = [row for row in rows if not row.refuted and math.isinf(row.epsilons[0].lower)]
    remarks = {"loss: infinite": endless, "loss: refuted": [row for row in rows if row.refuted]}
    told = [(words, those) for words, those in remarks.items() if those]
    for line, (words, those) in enumerate(told):
        at = "" if len(those) == len(rows) else f" at {', '.join(row.finding.epsilon.label for row in those)}"
        axes.text(0.5, 0.03 + 0.07 * line, words + at, transform=axes.transAxes, ha="center", fontsize=8)


def _get_supremum(row: LossRow) -> float:
    """Return the most that a drawn pair can lose, at the delta of the loss; infinite if it is not known."""
    return math.inf if row.supremum is None or row.refuted else row.supremum.epsilon(_DELTA)


def _draw_attacks(axes: Any, findings: Sequence[Finding], attacks: Sequence[str]) -> None:
    """Draw what each attack showed, and the ceiling of these trials."""
    for number, attack in enumerate(attacks):
        own = sorted((f for f in findings if f.attack == attack), key=place_epsilon)
        if own:
            colour, marker = STYLES[number % len(STYLES)]
            points = [(place_epsilon(finding), finding.bound.lower) for finding in own]
            broken = break_line(points, [finding.bound.ceiling for finding in own])
            axes.plot(
                *zip(*broken, strict=True), color=colour, marker=marker, markersize=4, linewidth=1,
                label=escape_label(attack),
            )  # fmt: skip
    ceilings = [finding.bound.ceiling for finding in findings]
    named: dict[str, Any] = {"color": GREY, "label": "ceiling of the trials"}
    if are_alike(ceilings):
        axes.axhline(max(ceilings), linestyle=":", linewidth=1, **named)
    else:
        axes.plot([*map(place_epsilon, findings)], ceilings, linestyle="", marker="_", markersize=9, **named)


def _find_top(rows: Sequence[LossRow], findings: Sequence[Finding]) -> float:
    """Return where the axis ends: above everything finite that is drawn."""
    claims = [row.finding.claim.total for row in rows if row.finding.claim is not None]
    losses = [row.epsilons[0].point for row in rows if not row.refuted]
    shown = [*claims, *map(_get_supremum, rows), *losses]
    shown += [finding.bound.ceiling for finding in findings]
    return 2 * max(value for value in shown if math.isfinite(value))
