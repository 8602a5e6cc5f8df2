"""Which settings run somebody's code or programs: whoever did not write them should know before they do."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

_PREFIX = "py:"
_FUNCTION = "function"  # the mechanism, and its field, which names code with and without the prefix
_PROGRAMS = {"command": "program", "mldp": "python", "dpmlm-release": "python"}  # fields that name programs


def list_code(settings: Mapping[str, Any], *groups: str) -> list[str]:
    """Return the names of code in the plug-ins of a spec, each once; of all kinds if none is named."""
    found: list[str] = []
    for group in groups or ("corpus", "mechanisms", "attacks"):
        plugins = settings.get(group)
        for plugin in plugins if isinstance(plugins, list | tuple) else [plugins]:
            found += _walk(plugin)
            if isinstance(plugin, Mapping) and plugin.get("name") == _FUNCTION:
                found.append(str(plugin.get(_FUNCTION)))
            found += _list_programs(plugin)
    return list(dict.fromkeys(found))


def _list_programs(plugin: Any) -> Iterator[str]:
    """Yield the command line that a plug-in runs."""
    name = plugin.get("name") if isinstance(plugin, Mapping) else None
    program = plugin.get(_PROGRAMS[name]) if isinstance(name, str) and name in _PROGRAMS else None
    if isinstance(program, list | tuple):
        yield shlex.join(map(str, program))
    elif program:
        yield str(program)


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
