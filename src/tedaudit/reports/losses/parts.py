"""Where the loss lies: by the class of the word that stood in a slot, and by step; as tables and a figure."""

import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

from tedaudit.errors import TedauditError
from tedaudit.plugins.abilities import PricesPieces
from tedaudit.plugins.registry import build
from tedaudit.reports.figures import GREY, STYLES, escape_label
from tedaudit.reports.section import Cell, Column, Section, Table
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import Cut, LossPart, LossParts, LossRow, find_parts
from tedaudit.spec.model import MechanismSpec

_OWN_CODE = ":"  # in a name: code that a report must not run


def read_parts(result: AuditResult, rows: Sequence[LossRow]) -> list[LossParts]:
    """Return the parts of every setting that has them, in the order of the losses."""
    cuts = _find_cuts(result.run.manifest()["spec"], {row.finding.label for row in rows})
    believed = [row for row in rows if not row.refuted]
    found = [find_parts(result, row, cuts.get(row.finding.label)) for row in believed]
    return [parts for parts in found if parts is not None]


def describe_parts(parts: Sequence[LossParts]) -> list[Section]:
    """Return the parts as sections: by word, and by step."""
    by_class = [part for part in parts if part.classes]
    by_step = [part for part in parts if not part.classes and len(part.steps) > 1]
    sections = []
    if by_class:
        sections.append(
            _tabulate("Which words carry the loss", _BY_CLASS, [(part, part.classes) for part in by_class])
        )
    if by_step:
        sections.append(
            _tabulate("Which steps carry the loss", _BY_STEP, [(part, part.spans) for part in by_step])
        )
    return sections


_BY_CLASS = (
    "The mean loss of a slot by the word of the source that stood there, and in brackets its share of the "
    "whole loss. A loss beyond the end of a text tells its length. Outputs that the other text cannot have "
    "had are left out."
)
_BY_STEP = (
    "The mean loss of a drawn part by its place, counted from 1, and in brackets the share of the whole "
    "loss. A part is what the mechanism draws at a time, such as a token. Outputs that the other text cannot "
    "have had are left out."
)


def _tabulate(title: str, reading: str, rows: Sequence[tuple[LossParts, Sequence[LossPart]]]) -> Section:
    names = list(dict.fromkeys(part.name for _, parts in rows for part in parts))
    cells: list[tuple[Cell, ...]] = []
    for whole, parts in rows:
        by_name = {part.name: part for part in parts}
        finding = whole.row.finding
        known = [by_name.get(name) for name in names]
        shown = ["" if part is None else _format(part) for part in known]
        cells.append((finding.label, finding.epsilon.label, whole.trials, *shown))
    columns = (
        Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("trials", "count", 3),
        *(Column(name, "figures") for name in names),
    )  # fmt: skip
    return Section(title, Table(columns, tuple(cells)), reading)


def _format(part: LossPart) -> str:
    return f"{part.mean:.3g}" + ("" if part.share is None else f" ({part.share:.0%})")


def _find_cuts(spec: Mapping[str, Any], labels: Container[str]) -> dict[str, Cut]:
    """Return how mechanisms with losses cut a text whose terms follow its pieces; no `py:` code is run."""
    cuts: dict[str, Cut] = {}
    for given in spec.get("mechanisms", []):
        named = MechanismSpec.model_validate(given)
        if named.title not in labels or _OWN_CODE in named.name:
            continue
        try:
            mechanism = build(named.reference("mechanism"))
        except TedauditError:  # made by a version that had other settings
            continue
        if isinstance(mechanism, PricesPieces) and mechanism.terms_are_pieces:
            cuts[named.title] = mechanism.pieces
    return cuts


def draw_parts(parts: Sequence[LossParts]) -> Any:
    """Return a figure with a panel per mechanism: mean losses by class if they are known, else by step."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(part.row.finding.label for part in parts))
    across = min(2, len(labels))
    down = math.ceil(len(labels) / across)
    with rc_context({"pdf.fonttype": 42, "font.size": 9}):
        drawn = Figure(figsize=(4.6 * across, 0.4 + 3.0 * down), layout="constrained")
        panels = drawn.subplots(down, across, squeeze=False).ravel()
        for panel, label in zip(panels, labels, strict=False):
            own = [part for part in parts if part.row.finding.label == label]
            (_draw_classes if own[0].classes else _draw_steps)(panel, own)
            panel.set_title(escape_label(label), fontsize=9)
            panel.axhline(0.0, color=GREY, linewidth=0.8)
            panel.set_yscale("symlog", linthresh=0.01)
            panel.grid(axis="y", color="#dddddd", linewidth=0.5)
            panel.legend(frameon=False, fontsize=8, title="nominal epsilon", title_fontsize=8)
        for panel in panels[len(labels) :]:
            panel.remove()
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
