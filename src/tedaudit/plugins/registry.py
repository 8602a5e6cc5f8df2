"""Finds plug-ins by name: one file each in this package's folders, or an entry point of another package.

Nothing is registered by hand: `mechanisms/word_rr.py` holds the class whose card is named
`word-rr`. Other packages declare an entry point in the group `tedaudit.mechanisms`,
`tedaudit.attacks` or `tedaudit.corpora`. `py:package.module:name` reaches any class or function on
the import path.
"""

import importlib
import importlib.metadata
import inspect
import json
import pkgutil
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tedaudit.errors import PluginError, SpecError, did_you_mean, join_names, quote
from tedaudit.plugins.extras import name_needs
from tedaudit.plugins.protocols import CallsUserCode, HasFingerprint, UsesModels
from tedaudit.plugins.values import Card

Kind = Literal["mechanism", "attack", "corpus"]
_FOLDERS: dict[Kind, str] = {"mechanism": "mechanisms", "attack": "attacks", "corpus": "corpora"}
_ONE: dict[Kind, str] = {"mechanism": "a mechanism", "attack": "an attack", "corpus": "a corpus"}
_VERBS: dict[Kind, str] = {"mechanism": "rewrite", "attack": "guess", "corpus": "load"}
_EXAMPLES = {"scrubadub": "scrubadub.yaml", "dpmlm-release": "dpmlm.yaml"}
"""Packages that the mechanism `command` runs, and the example that says how."""


@dataclass(frozen=True)
class Reference:
    """How to make a plug-in: its name and fields, or an object that lives in this process only."""

    kind: Kind
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    live: object | None = None

    @property
    def is_named(self) -> bool:
        """Whether another process can make it: nothing in it is an object of this one."""
        return self.live is None and not any(map(callable, self.params.values()))

    @property
    def identity(self) -> str:
        """A name that two references share only if they make the same plug-in."""
        if self.live is not None:
            return f"{self.kind} at {id(self.live)}"
        return f"{self.kind} {self.name} {sorted(self.params.items(), key=lambda item: item[0])!r}"


def names(kind: Kind) -> list[str]:
    """Return the names of all plug-ins of a kind, without importing them."""
    own, foreign = _list_own(kind), list_foreign(kind)
    twice = {name for name in own + foreign if (own + foreign).count(name) > 1}
    if twice:
        raise PluginError(
            f"Two {kind} plug-ins are named {join_names(twice)}: rename or uninstall one of them."
        )
    return sorted(own + foreign)


def list_foreign(kind: Kind) -> list[str]:
    """Return the names of the plug-ins of other packages, without importing them."""
    return [entry.name for entry in _entry_points(kind)]


def _list_own(kind: Kind) -> list[str]:
    folder = importlib.import_module(f"tedaudit.{_FOLDERS[kind]}")
    return [m.name.replace("_", "-") for m in pkgutil.iter_modules(folder.__path__) if m.name[0] != "_"]


def find_own(kind: Kind, name: str) -> Any | None:
    """Return the class of a plug-in that comes with tedaudit, or None: no code of others is imported."""
    if name not in _list_own(kind):
        return None
    module = importlib.import_module(f"tedaudit.{_FOLDERS[kind]}.{name.replace('-', '_')}")
    for value in vars(module).values():
        if inspect.isclass(value) and getattr(getattr(value, "card", None), "name", "") == name:
            return value
    raise PluginError(f"{module.__name__} holds no class whose card is named '{name}'.")


def find(kind: Kind, name: str) -> Any:
    """Return the class of a plug-in, or the object a `py:` name stands for."""
    if name.startswith("py:"):
        return import_object(name)
    if name not in names(kind):
        known = names(kind)
        if kind == "mechanism" and name in _EXAMPLES:
            raise PluginError(
                f"'{name}' is no mechanism: `command` runs that package, in an environment of its own. "
                f"examples/adapters/{_EXAMPLES[name]} says how, and docs/adapters.md what it does."
            )
        raise PluginError(
            f"There is no {kind} named '{name}'.{did_you_mean(name, known)} There are: {join_names(known)}; "
            f"your own: py:package.module:name."
        )
    for entry in _entry_points(kind):
        if entry.name == name:
            return _loaded(kind, entry)
    return find_own(kind, name)


def import_object(name: str) -> Any:
    """Return what `py:package.module:name` stands for; the current folder counts as importable."""
    module_name, _, attribute = name.removeprefix("py:").partition(":")
    if not module_name or not attribute:
        raise PluginError(f"'{name}' is not of the form py:package.module:name.")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise PluginError(
            f"'{name}': cannot import {module_name} ({error}). It must be installed or lie in {here}."
        ) from error
    except Exception as error:  # whatever the module's own code raises
        raise PluginError(
            f"'{name}': {module_name} fails when it is imported: {type(error).__name__}: {error}. "
            f"`python -c 'import {module_name}'` shows where."
        ) from error
    if not hasattr(module, attribute):
        public = [key for key in vars(module) if not key.startswith("_")]
        raise PluginError(
            f"'{name}': {module_name} has no '{attribute}'.{did_you_mean(attribute, public)} "
            f"It has: {join_names(public)}."
        )
    return getattr(module, attribute)


def build(reference: Reference) -> Any:
    """Return the plug-in, its fields checked by name and simple type."""
    if reference.live is not None:
        return reference.live
    plugin = find(reference.kind, reference.name)
    params = dict(reference.params)
    if reference.kind == "mechanism" and not inspect.isclass(plugin):
        function = reference.name if reference.name.startswith("py:") else plugin
        if "function" in params:  # another than the one that was asked about would run
            raise SpecError(f"'{reference.name}' is a function: it takes no `function` beside itself.")
        plugin, params = find("mechanism", "function"), {"function": function, **params}
    if not (inspect.isclass(plugin) and hasattr(plugin, _VERBS[reference.kind]) and hasattr(plugin, "card")):
        raise PluginError(
            f"'{reference.name}' is not {_ONE[reference.kind]}: it must be a class with a `card` and a "
            f"method `{_VERBS[reference.kind]}`; see CONTRIBUTING.md for one in 30 lines."
        )
    params = {**_variant(plugin, reference.name, params), **params}
    _check_parameters(plugin, reference, params)
    return plugin(**params)


def is_standard(plugin: Any) -> bool:
    """Return whether a plug-in is built in and has default settings."""
    kind = type(plugin)
    is_own = kind.__module__.startswith(tuple(f"tedaudit.{folder}." for folder in _FOLDERS.values()))
    try:
        return is_own and bool(plugin == kind())
    except TypeError:  # a field without a default
        return False


def cards(kind: Kind) -> list[Card]:
    """Return the cards of all plug-ins of a kind, in order of name."""
    return [find(kind, name).card for name in names(kind)]


def describe_card(card: Card) -> dict[str, Any]:
    """Return what a reader is shown of a card."""
    return {
        **{part: str(getattr(card, part)) for part in ("summary", "paper", "claim")},
        "departures": list(map(str, card.departures)), "sees": list(map(str, card.sees)),
        "version": card.version,
    }  # fmt: skip


def parameters(plugin: type) -> dict[str, Any]:
    """Return the fields of a plug-in with their types; those that are given by name alone come last."""
    if not is_dataclass(plugin):
        return {}
    try:
        hints = typing.get_type_hints(plugin)
    except NameError:  # types that were imported for type checkers only
        hints = {}
    parts = sorted(fields(plugin), key=lambda part: bool(part.kw_only))  # inherited ones would come first
    return {part.name: hints.get(part.name, Any) for part in parts if part.init}


def variants(plugin: type) -> Mapping[str, Mapping[str, Any]]:
    """Return the named sets of field values that a plug-in offers."""
    offered: Mapping[str, Mapping[str, Any]] = getattr(plugin, "variants", {})
    return offered


def zoo_fields(plugin: Any) -> dict[str, str]:
    """Return the fields of a plug-in that default to a model of the zoo, and which one."""
    return {part.name: part.metadata["zoo"] for part in _list_fields(plugin) if "zoo" in part.metadata}


def determinants(plugin: Any) -> dict[str, Any]:
    """Return what determines a plug-in's results: name, version, fields, and files or weights behind it."""
    known, card = describe_fields(plugin), plugin.card
    if isinstance(plugin, HasFingerprint):
        with name_needs(known["name"], card.needs):  # the first time that a model is loaded
            known.update(plugin.fingerprint())
    return known


def describe_fields(plugin: Any) -> dict[str, Any]:
    """Return name, version and fields of a plug-in.

    A field whose metadata says `incidental`, such as the device, may change between runs; one that says
    `scores_only` changes nothing that is drawn.
    """
    card: Card = plugin.card
    known: dict[str, Any] = {"name": card.name, "version": card.version}
    parts = [part for part in _list_fields(plugin) if not part.metadata.get("scores_only")]
    for key in [part.name for part in parts if part.init and not part.metadata.get("incidental")]:
        known[key] = _describe_value(getattr(plugin, key))
    return known


def describe_scoring(plugin: Any) -> dict[str, Any]:
    """Return the fields that change only what a mechanism tells of texts, if they are not at their default.

    What was stored before there was such a field stays valid; a new default needs a new version of the card.
    """
    parts = [part for part in _list_fields(plugin) if part.init and part.metadata.get("scores_only")]
    changed = [part.name for part in parts if getattr(plugin, part.name) != part.default]
    return {key: _describe_value(getattr(plugin, key)) for key in changed}


def _list_fields(plugin: Any) -> Sequence[Field[Any]]:
    return fields(plugin) if is_dataclass(plugin) else ()


def _describe_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_describe_value(item) for item in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    return describe_object(value)


def model_uses(user: str, plugin: Any, known: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the checkpoints behind a plug-in's results: resolved names, with checksums from `known`."""
    if not isinstance(plugin, UsesModels):
        return []
    return [
        {
            "used_by": user, "part": use.part, "model": use.name,
            "checksum": use.checksum or str(known.get(use.part, "")),
        }
        for use in plugin.models()
    ]  # fmt: skip


def is_foreign(plugin: Any) -> bool:
    """Return whether a plug-in runs code of others, whose calls may depend on each other."""
    return isinstance(plugin, CallsUserCode) or not type(plugin).__module__.startswith("tedaudit.")


def describe_object(value: object) -> str:
    """Return how an object is written down, so that it can be found again if that is possible."""
    name = str(getattr(value, "__qualname__", ""))
    module = getattr(value, "__module__", None) or "builtins"
    if not name or "<" in name or "." in name or module == "__main__":
        return name or type(value).__qualname__
    return f"py:{module}:{name}"


def _entry_points(kind: Kind) -> list[importlib.metadata.EntryPoint]:
    return list_entry_points(f"tedaudit.{_FOLDERS[kind]}")


def _loaded(kind: Kind, entry: importlib.metadata.EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:  # whatever another package's code raises
        raise PluginError(
            f"The {kind} '{entry.name}' stands for {entry.value}, which cannot be loaded: "
            f"{type(error).__name__}: {error}. Fix, update or uninstall the package that declares it."
        ) from error


def _variant(plugin: type, name: str, params: dict[str, Any]) -> Mapping[str, Any]:
    """Take `variant` out of the parameters and return the field values that it stands for."""
    offered = variants(plugin)
    if not offered or "variant" not in params:
        return {}
    wanted = str(params.pop("variant"))
    if wanted not in offered:
        raise SpecError(
            f"'{name}' has no variant '{wanted}'.{did_you_mean(wanted, offered)} It has: "
            f"{join_names(offered)}."
        )
    return offered[wanted]


def _check_parameters(plugin: type, reference: Reference, params: Mapping[str, Any]) -> None:
    name, allowed = reference.name, parameters(plugin)
    meanings = f" `tedaudit ls {_FOLDERS[reference.kind]} {name}` says what each means." if allowed else ""
    for key, value in params.items():
        if key not in allowed:
            raise SpecError(
                f"'{name}' has no parameter '{key}'.{did_you_mean(key, allowed)} "
                f"It takes: {join_names(allowed) if allowed else 'none'}.{meanings}"
            )
        if not _fits(value, allowed[key]):
            wanted = _wanted(allowed[key])
            raise SpecError(f"'{name}': parameter '{key}' is {quote(value)}; it must be {wanted}.{meanings}")
    missing = {f.name for f in _list_fields(plugin) if f.init and not _has_default(f)} - set(params)
    if missing:
        raise SpecError(
            f"'{name}' needs a value for: {join_names(missing)}. It takes: {join_names(allowed)}.{meanings}"
        )


def _has_default(part: Any) -> bool:
    return part.default is not MISSING or part.default_factory is not MISSING


def _wanted(hint: Any) -> str:
    if typing.get_origin(hint) is Literal:
        return f"one of: {join_names(map(str, typing.get_args(hint)))}"
    return f"of type {hint.__name__ if inspect.isclass(hint) else hint}"


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value from a file fits a field's type, as far as simple types go."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if typing.get_origin(hint) in (tuple, list):
        parts = [part for part in typing.get_args(hint) if part is not ...]
        return isinstance(value, list | tuple) and all(any(_fits(v, p) for p in parts) for v in value)
    if hint in (int, float):
        return isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
    return isinstance(value, hint) if hint in (str, bool, types.NoneType) else True


# --- What installed packages declare, read once: it takes as long as the work of a tiny audit.


def list_entry_points(group: str) -> list[importlib.metadata.EntryPoint]:
    """Return the entry points of a group; a package that came or went since the last call is noticed."""
    return list(_read(tuple((folder, _find_change(folder)) for folder in sys.path)).select(group=group))


@lru_cache(maxsize=1)
def _read(_folders: tuple[tuple[str, int], ...]) -> Any:
    return importlib.metadata.entry_points()


def _find_change(folder: str) -> int:
    """Return when something was last put into a folder or taken out of it; 0 if there is no folder."""
    try:
        return Path(folder).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def explain_difference(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """Return what differs between a plug-in of another place and ours, with both values; "" if nothing."""
    spelled = [
        {name: json.dumps(known[name], sort_keys=True, default=str) for name in known}
        for known in (there, here)
    ]
    differing = [
        f"{name}: {' there, '.join(quote(known.get(name, '(nothing)')) for known in (there, here))} here"
        for name in sorted({*there, *here})
        if spelled[0].get(name) != spelled[1].get(name)
    ]
    return "; ".join(differing)
