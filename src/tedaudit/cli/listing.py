"""The command that lists what can be named."""

from typing import Annotated, Any, Literal

import typer

from tedaudit.cli.options import Json, print_json

Kinds = Literal["mechanisms", "attacks", "corpora", "models", "experiments"]
_KIND = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}


def list_plugins(kind: Annotated[Kinds, typer.Argument()], as_json: Json = False) -> None:
    """List what can be named: mechanisms, attacks, corpora, installed models, experiments of the paper."""
    from dataclasses import asdict

    from tedaudit.cli.console import show_cards, show_models
    from tedaudit.extras import missing_extras
    from tedaudit.registry import find, names, parameters
    from tedaudit.spec.zoo_defaults import list_models

    if kind == "models":
        models = list_models()
        print_json([asdict(model) for model in models]) if as_json else show_models(models)
        return
    if kind == "experiments":
        _list_experiments(as_json=as_json)
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


def _list_experiments(*, as_json: bool) -> None:
    from tedaudit.cli.console import show_experiments
    from tedaudit.experiments.definition import load, names

    experiments = [[load(name, scale) for scale in ("full", "zoo", "smoke")] for name in names()]
    if as_json:
        print_json(
            [
                {**scales[0].model_dump(mode="json"), "rewrites": {e.scale: e.rewrites for e in scales}}
                for scales in experiments
            ]
        )
    else:
        show_experiments(experiments)


def _list_variants(plugin: type) -> list[str]:
    """Return how a plug-in's variants are listed among its parameters."""
    from tedaudit.registry import variants

    return [f"variant ({', '.join(variants(plugin))})"] if variants(plugin) else []
