"""Says under every table which variant of a mechanism, and which model, its numbers come from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Outcome, Table
from tedaudit.plugins.abilities import UsesModels
from tedaudit.plugins.registry import Kind, build, variants
from tedaudit.spec.model import PluginSpec

_NO_VARIANT = "without variants"
_OWN = "settings of its own"


def name_models(outcome: Outcome, experiment: Experiment) -> Outcome:
    """Return an outcome whose tables say which variants and models are behind them."""
    also = experiment.options.get("also", {})
    mechanisms = _describe_all("mechanism", [*experiment.mechanisms, *also.get("mechanisms", [])])
    attacks = _describe_all("attack", [*experiment.attacks, *also.get("attacks", [])])
    tables = tuple(
        replace(table, caption=_write_caption(table, mechanisms, attacks)) for table in outcome.tables
    )
    return replace(outcome, tables=tables)


def variant_of(plugin: Any) -> str:
    """Return the variant whose values a plug-in's fields have, or that it has none of them."""
    offered = variants(type(plugin))
    fitting = [
        name for name, values in offered.items() if all(getattr(plugin, k) == v for k, v in values.items())
    ]
    return fitting[0] if fitting else _OWN if offered else _NO_VARIANT


def _describe_all(kind: Kind, given: Sequence[Any]) -> dict[str, tuple[str, str]]:
    """Return variant and models of plug-ins by their title."""
    specs = [PluginSpec.model_validate(_drop_epsilons(plugin)) for plugin in given]
    return {spec.title: _describe(build(spec.reference(kind))) for spec in specs}


def _drop_epsilons(given: Any) -> Any:
    """Return a plug-in's settings without the epsilons of its own, which are no field of it."""
    return {k: v for k, v in given.items() if k != "epsilons"} if isinstance(given, Mapping) else given


def _describe(plugin: Any) -> tuple[str, str]:
    uses = plugin.models() if isinstance(plugin, UsesModels) else []
    return variant_of(plugin), ", ".join(dict.fromkeys(use.name for use in uses))


def _write_caption(
    table: Table, mechanisms: Mapping[str, tuple[str, str]], attacks: Mapping[str, tuple[str, str]]
) -> str:
    """Return one line: mechanisms by variant with their models, then attacks with theirs."""
    by_variant: dict[str, list[str]] = {}
    for title, (variant, models) in _find_named(table, mechanisms).items():
        by_variant.setdefault(variant, []).append(_join(title, models))
    parts = [f"{variant}: {', '.join(named)}" for variant, named in by_variant.items()]
    of_attacks = [_join(title, models) for title, (_, models) in _find_named(table, attacks).items()]
    return "; ".join([*parts, *([f"attacks: {', '.join(of_attacks)}"] if of_attacks else [])])


def _find_named(table: Table, described: Mapping[str, tuple[str, str]]) -> Mapping[str, tuple[str, str]]:
    """Return the plug-ins that a table speaks of; all of them if it names none."""
    cells = {part for row in table.rows for cell in row if isinstance(cell, str) for part in cell.split(", ")}
    cells.add(table.title.partition(": ")[0])  # a table may be of one mechanism
    named = {title: about for title, about in described.items() if title in cells}
    return named or described


def _join(title: str, models: str) -> str:
    return f"{title} ({models})" if models else title
