"""The figures of a run with losses: the sandwich, the parts that carry the loss, latent against text."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.reports.figures import (
    GREY,
    STYLES,
    escape_label,
    figures_missing,
    save_figure,
)
from tedaudit.reports.losses.axes import finish_panel, place_epsilon
from tedaudit.reports.losses.parts import draw_parts, read_parts
from tedaudit.reports.losses.sandwich import draw_sandwich
from tedaudit.reports.losses.table import rename_losses
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.losses import LossRow, read_losses
from tedaudit.results.reading import read_result

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
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(row.finding.label for row in rows))
    attacks = list(dict.fromkeys(finding.attack for finding in findings if finding.score != LIKELIHOOD))
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(2.2 + 3.2 * len(labels), 3.2), layout="constrained")
        panels = drawn.subplots(1, len(labels), sharey=True, squeeze=False).ravel()
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
            finish_panel(panel, label, places)
        panels[0].set_ylabel("right guesses")
        marks, names = panels[0].get_legend_handles_labels()
        drawn.legend(marks, names, loc="outside right upper", frameon=False)
    return drawn
