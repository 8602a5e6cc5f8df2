"""Which models are here or can be fetched, what uses them, and which an audit takes from the zoo."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

from tedaudit.models.adapters import is_adapter
from tedaudit.models.catalogue import ENTRIES, list_got
from tedaudit.models.catalogue import PREFIX as GOT
from tedaudit.models.zoo import PREFIX, is_default, list_folders
from tedaudit.plugins.registry import Kind, find, names, zoo_fields
from tedaudit.runs.spec.model import AuditSpec, PluginSpec
from tedaudit.trials.candidates import SAMPLING

_KINDS: tuple[Kind, ...] = ("mechanism", "attack")


@dataclass(frozen=True)
class KnownModel:
    """A model that can be named: its size, what uses it unless another is named, and where it is."""

    name: str
    bytes: int
    used_by: tuple[str, ...]
    folder: str
    """Empty: it is not here, and `get` fetches it."""
    summary: str = ""
    licence: str = ""
    get: str = ""


def list_models() -> list[KnownModel]:
    """Return the models of the zoo, those that were fetched, and those that can be, in order of name."""
    uses = _list_uses()
    zoo = [
        KnownModel(
            name=PREFIX + name,
            bytes=_count_bytes(folder),
            used_by=tuple(uses.get(PREFIX + name, ())),
            folder=str(folder),
            summary=_describe_adapter(name, folder),
        )
        for name, folder in list_folders().items()
    ]
    got, told = list_got(), {name: entry for entry in ENTRIES.values() for name in entry.references}
    mine = [
        KnownModel(
            name, _count_bytes(folder), tuple(uses.get(name, ())), str(folder),
            *((told[name].summary, told[name].licence) if name in told else ()),
        )
        for name, folder in got.items()
    ]  # fmt: skip
    there = [
        KnownModel(
            name=GOT + entry.name,
            bytes=entry.made,
            used_by=tuple(use for name in entry.references for use in uses.get(name, ())),
            folder="",
            summary=entry.summary,
            licence=entry.licence,
            get=f"tedaudit models get {entry.name}",
        )
        for entry in ENTRIES.values()
        if not got.keys() & set(entry.references)
    ]
    return [*zoo, *mine, *there]


def _describe_adapter(name: str, folder: Path) -> str:
    return f"An adapter; laid over its base by: tedaudit models get {name}" if is_adapter(folder) else ""


def _list_uses() -> dict[str, list[str]]:
    """Return which settings name a model by default, by model."""
    uses: dict[str, list[str]] = {PREFIX + "encoder": [SAMPLING]}
    for kind in _KINDS:
        for plugin in names(kind):
            found = find(kind, plugin)
            taken = {key: PREFIX + model for key, model in zoo_fields(found).items()}
            for part in fields(found) if is_dataclass(found) else ():
                if isinstance(part.default, str) and part.default.startswith(GOT):
                    taken[part.name] = part.default
            for key, model in taken.items():
                uses.setdefault(model, []).append(f"{plugin} ({key})")
    return uses


def _count_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def list_defaults(spec: AuditSpec) -> dict[str, str]:
    """Return what an audit takes from the zoo because the spec names no other, by plug-in and field."""
    if not is_default():
        return {}
    taken = {SAMPLING: spec.encoder} if "encoder" not in spec.model_fields_set else {}
    named: list[tuple[Kind, PluginSpec]] = [("mechanism", plugin) for plugin in spec.mechanisms]
    named += [("attack", plugin) for plugin in spec.attacks]
    return taken | plugin_defaults(named)


def plugin_defaults(named: Sequence[tuple[Kind, PluginSpec]]) -> dict[str, str]:
    """Return what plug-ins take from the zoo because no other model is named for them."""
    taken: dict[str, str] = {}
    for kind, plugin in named if is_default() else ():
        if plugin.live is not None:  # an object has its fields already
            continue
        for key, model in zoo_fields(find(kind, plugin.name)).items():
            if key not in plugin.params:
                taken[f"{plugin.title} ({key})"] = PREFIX + model
    return taken
