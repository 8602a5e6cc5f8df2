"""Which settings run somebody's code or programs: whoever did not write them should know before they do."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from tedaudit.errors import TedauditError
from tedaudit.plugins.registry import Kind, find

_PREFIX = "py:"
_GROUPS: dict[str, Kind] = {"corpus": "corpus", "mechanisms": "mechanism", "attacks": "attack"}


def list_code(settings: Mapping[str, Any], *groups: str) -> list[str]:
    """Return the names of code in the plug-ins of a spec, each once; of all kinds if none is named."""
    found: list[str] = []
    for group in groups or _GROUPS:
        plugins = settings.get(group)
        for plugin in plugins if isinstance(plugins, list | tuple) else [plugins]:
            found += _walk(plugin)
            if isinstance(plugin, Mapping):
                found += _read_fields(_GROUPS[group], plugin)
    return list(dict.fromkeys(found))


def _read_fields(kind: Kind, plugin: Mapping[str, Any]) -> Iterator[str]:
    """Yield what stands in the fields of a plug-in that hold code or a command line, by its card."""
    name = plugin.get("name")
    if not isinstance(name, str) or name.startswith(_PREFIX):  # code of others is named, and not loaded
        return
    try:
        fields = find(kind, name).card.code
    except (TedauditError, AttributeError):  # what is wrong with it is said when it is built
        return
    for value in (plugin.get(field) for field in fields):
        if isinstance(value, list | tuple):
            yield shlex.join(map(str, value))
        elif value:
            yield str(value)


def _walk(value: Any) -> Iterator[str]:
    """Yield every text within a value that names code."""
    if isinstance(value, str):
        if value.startswith(_PREFIX):
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _walk(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _walk(part)
