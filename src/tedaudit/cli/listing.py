"""The command that lists what can be named."""

from typing import Annotated, Any, Literal

import typer

from tedaudit.cli.options import Json, print_json
from tedaudit.errors import SpecError

Kinds = Literal["mechanisms", "attacks", "corpora", "models", "experiments"]
_KIND = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}


def list_plugins(
    kind: Annotated[Kinds, typer.Argument()],
    minutes: Annotated[
        Literal["full", "zoo", "smoke"] | None,
        typer.Option(help="experiments: time those of this scale here, some seconds for each mechanism."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what can be named: mechanisms, attacks, corpora, installed models, experiments of the paper."""
    from dataclasses import asdict

    from tedaudit.cli.console import show_cards, show_models
    from tedaudit.extras import missing_extras
    from tedaudit.registry import find, names, parameters
    from tedaudit.spec.zoo_defaults import list_models

    if minutes is not None and kind != "experiments":
        raise SpecError(f"--minutes is for experiments: tedaudit ls experiments --minutes {minutes}.")
    if kind == "models":
        models = list_models()
        print_json([asdict(model) for model in models]) if as_json else show_models(models)
        return
    if kind == "experiments":
        _list_experiments(minutes, as_json=as_json)
        return
    wanted: Any = _KIND[kind]
    plugins = [find(wanted, name) for name in names(wanted)]
    if as_json:
        print_json(
            [
                {**asdict(p.card), "missing": missing_extras(p.card.needs), "parameters": list(parameters(p))}
                for p in plugins
            ]
        )
    else:
        show_cards([(p.card, [*parameters(p), *_list_variants(p)]) for p in plugins])


def _list_experiments(timed: str | None, *, as_json: bool) -> None:
    from tedaudit.cli.experiments import describe_cost, show_experiments
    from tedaudit.experiments.cost import time_experiments
    from tedaudit.experiments.definition import load, names

    experiments = [[load(name, scale) for scale in ("full", "zoo", "smoke")] for name in names()]
    minutes = {} if timed is None else time_experiments([load(name, timed) for name in names()])
    if as_json:
        print_json([describe_cost(scales, minutes, timed) for scales in experiments])
    else:
        show_experiments(experiments, minutes, timed)


def _list_variants(plugin: type) -> list[str]:
    """Return how a plug-in's variants are listed among its parameters."""
    from tedaudit.registry import variants

    return [f"variant ({', '.join(variants(plugin))})"] if variants(plugin) else []
