"""The list of the paper's experiments: what each costs, and, if they were timed, how long it takes here."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.cli.console import show_section
from tedaudit.experiments.cost import Minutes, count_guesses, count_rewrites
from tedaudit.experiments.definition import Experiment
from tedaudit.forecast.telling import format_minutes
from tedaudit.reports.section import Column, Section, Table


def describe_cost(
    scales: Sequence[Experiment], minutes: Mapping[str, Minutes], timed: str | None
) -> dict[str, Any]:
    """Return an experiment with its cost at every scale, safe for JSON; null for what is not known."""
    first = scales[0]
    found = minutes.get(first.id)
    told = {} if found is None else {timed: {"minutes": found.value, "untimed": list(found.untimed)}}
    return {
        **first.model_dump(mode="json"),
        "rewrites": {one.scale: count_rewrites(one) for one in scales},
        "guesses": {one.scale: count_guesses(one) for one in scales},
        "timed_here": told,
    }


def show_experiments(
    experiments: Sequence[Sequence[Experiment]], minutes: Mapping[str, Minutes], timed: str | None
) -> None:
    """Print experiments with their cost at the usual scale; the description has the room."""
    timings = [f"minutes at {timed}"] if timed else []
    timed_columns = (Column(name, rank=1) for name in timings)
    named = (Column("id", rank=0), Column("paper", rank=0), Column("what"))
    columns = (*named, Column("rewrites", rank=2), *timed_columns)
    rows = []
    for scales in experiments:
        first = scales[0]
        told = [_format_minutes(minutes.get(first.id))] if timed else []
        usual = next(one for one in scales if one.scale == _USUAL)
        rows.append((first.id, _shorten(first.paper), first.title, _format_cost(usual), *told))
    show_section(Section("", Table(columns, tuple(rows)), sentences=tuple(_explain(minutes, timed))))


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


def _format_minutes(found: Minutes | None) -> str:
    if found is None:
        return "not timed"
    return format_minutes(found.value) + (" and more" if found.untimed else "")


_COSTS = (
    "Rewrites: at most, at the scale zoo, if nothing is stored yet, with the guesses in brackets if they are "
    "more; --json has all scales. Experiments of a scale share them, so that the "
    "next one takes less. No audit: a few texts are looked at, or (fig-downstream) classifiers are trained."
)
_MINUTES = (
    "Minutes: rows times the seconds of a few rewrites and guesses that were timed just now, on this machine "
    "and on texts of the demo corpus, by one process. They are rough: longer texts take longer, larger "
    "batches less, and candidate sets are not in them."
)


def _explain(minutes: Mapping[str, Minutes], timed: str | None) -> list[str]:
    """Return what the numbers are, and where the minutes come from."""
    if timed is None:
        return [_COSTS, "Minutes depend on the machine: --minutes zoo times a few of each kind here."]
    untimed = sorted({name for found in minutes.values() for name in found.untimed})
    more = [f"And more: without {', '.join(untimed)}, which could not be timed."] if untimed else []
    return [_COSTS, _MINUTES, *more]
