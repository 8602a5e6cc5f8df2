"""The list of the paper's experiments, and what each costs."""

import re
from collections.abc import Sequence
from typing import Any

from tedaudit.cli.console import show_section
from tedaudit.paper.cost import count_guesses, count_rewrites
from tedaudit.paper.definition import Experiment
from tedaudit.results.section import Column, Section, Table


def describe_cost(scales: Sequence[Experiment]) -> dict[str, Any]:
    """Return an experiment with its cost at every scale, safe for JSON; null for what is not known."""
    return {
        **scales[0].model_dump(mode="json"),
        "rewrites": {one.scale: count_rewrites(one) for one in scales},
        "guesses": {one.scale: count_guesses(one) for one in scales},
    }


def show_experiments(experiments: Sequence[Sequence[Experiment]]) -> None:
    """Print experiments with their cost at the usual scale; the description has the room."""
    columns = (Column("id", rank=0), Column("paper", rank=0), Column("what"), Column("rewrites", rank=2))
    rows = []
    for scales in experiments:
        first = scales[0]
        usual = next(one for one in scales if one.scale == _USUAL)
        rows.append((first.id, _shorten(first.paper), first.title, _format_cost(usual)))
    show_section(Section("", Table(columns, tuple(rows)), sentences=(_COSTS,)))


_USUAL = "zoo"  # the scale of `reproduce` if none is named


def _shorten(paper: str) -> str:
    """Return the figure or table of the paper without where it stands: "figure 6", "tables 1 and 3"."""
    found = re.match(r"(figure|table)s? \d+( and \d+)?", paper)
    return found[0] if found else paper


def _format_cost(experiment: Experiment) -> str:
    rewrites, guesses = count_rewrites(experiment), count_guesses(experiment)
    if rewrites is None or guesses is None:
        return "no audit"
    return _shorten_count(rewrites) + (f" ({_shorten_count(guesses)})" if guesses != rewrites else "")


def _shorten_count(count: int) -> str:
    """Return a count in thousands or millions, to three figures."""
    size, unit = next(((size, unit) for size, unit in ((10**6, "M"), (10**3, "k")) if count >= size), (1, ""))
    return f"{count / size:.3g}{unit}"


_COSTS = (
    "Rewrites: at most, at the scale zoo, if nothing is stored yet, with the guesses in brackets if they are "
    "more; --json has all scales. Experiments of a scale share them, so that the "
    "next one takes less. No audit: a few texts are looked at, or (fig-downstream) classifiers are trained."
)
