"""The axis of nominal epsilon that the figures of losses share."""

import math
from collections.abc import Sequence
from typing import Any

from tedaudit.reports.figures import escape_label, labels_with_room
from tedaudit.results.findings import Finding


def place_epsilon(finding: Finding) -> float:
    """Return where a setting stands on the axis; one without a finite epsilon stands at 1."""
    value = float(finding.epsilon) if finding.epsilon.is_given else 1.0
    return value if math.isfinite(value) else 1.0


def finish_panel(axes: Any, label: str, places: Sequence[float]) -> None:
    """Mark the epsilons that were tried, as far as there is room, and name the mechanism."""
    places = sorted(set(places))
    shown = labels_with_room(places) if len(places) > 1 else places
    axes.set_xscale("log")
    axes.set_xticks(places, [f"{place:g}" if place in shown else "" for place in places])
    axes.minorticks_off()
    axes.set_xlabel(r"nominal $\epsilon$")
    axes.set_title(escape_label(label), fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
