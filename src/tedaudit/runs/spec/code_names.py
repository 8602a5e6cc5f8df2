"""Which settings run somebody's code or programs: whoever did not write them should know before they do."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from tedaudit.plugins.registry import Kind, find_own, list_foreign

_PREFIX = "py:"
_GROUPS: dict[str, Kind] = {"corpus": "corpus", "mechanisms": "mechanism", "attacks": "attack"}


def list_code(settings: Mapping[str, Any], *groups: str) -> list[str]:
    """Return the names of code in the plug-ins of a spec, each once; of all kinds if none is named.

    That is what `py:` names, plug-ins of other packages, and fields that hold code by their card. None of it
    is loaded.
    """
    found = [name for group in groups or _GROUPS for name in _walk(_GROUPS[group], settings.get(group))]
    return list(dict.fromkeys(found))


def _walk(kind: Kind, value: Any) -> Iterator[str]:
    """Yield every text within a value that names code; a plug-in may have others as its parts."""
    if isinstance(value, str):
        if value.startswith(_PREFIX):
            yield value
        elif value in list_foreign(kind):
            yield f"{value} (of another package)"
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _walk(kind, part)
        yield from _read_fields(kind, value)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _walk(kind, part)


def _read_fields(kind: Kind, plugin: Mapping[str, Any]) -> Iterator[str]:
    """Yield what stands in the fields of a plug-in that hold code or a command line, by its card."""
    name = plugin.get("name")
    known = find_own(kind, name) if isinstance(name, str) else None
    for field in () if known is None else known.card.code:
        value = plugin.get(field)
        if isinstance(value, list | tuple):
            yield shlex.join(map(str, value))
        elif value:
            yield str(value)
