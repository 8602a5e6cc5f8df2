"""Which models of the zoo are installed, what uses them, and which an audit takes by default."""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.inference.zoo import PREFIX, is_default, list_folders
from tedaudit.plans.candidates import SAMPLING
from tedaudit.plugins.registry import Kind, find, names, zoo_fields
from tedaudit.spec.model import AuditSpec, PluginSpec

_KINDS: tuple[Kind, ...] = ("mechanism", "attack")


@dataclass(frozen=True)
class InstalledModel:
    """A model of the zoo: how to name it, its size, where it is used unless another is named."""

    name: str
    bytes: int
    used_by: tuple[str, ...]
    folder: str


def list_models() -> list[InstalledModel]:
    """Return the models of the zoo in order of name."""
    uses: dict[str, list[str]] = {"encoder": [SAMPLING]}
    for kind in _KINDS:
        for plugin in names(kind):
            for key, model in zoo_fields(find(kind, plugin)).items():
                uses.setdefault(model, []).append(f"{plugin} ({key})")
    return [
        InstalledModel(
            PREFIX + name,
            sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
            tuple(uses.get(name, ())),
            str(folder),
        )
        for name, folder in list_folders().items()
    ]


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
