"""Tells what a plug-in can be set to: every field with its type, its default and what it means.

The meaning of a field is the string below it in the class, where readers of the code, editors and the
documentation find it:

    slots: int = 16
    \"\"\"How many words are released, whatever the text has.\"\"\"

It is read from the source, so that it costs nothing until somebody asks. A field that a class inherits, or
gives another default, keeps the meaning it has in the base class unless it is told anew.
"""

import ast
import inspect
import json
import re
import types
import typing
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any, Literal

from tedaudit.plugins.registry import parameters

_PLAIN = re.compile(r"[A-Za-z][\w.:/@+-]*")  # a text that needs no quotes, unless YAML reads it as a value:
_VALUES = ("null", "true", "false", "yes", "no", "on", "off")


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of a plug-in as people read it."""

    name: str
    type: str
    """As it is written in a spec: `int`, `float or null`, `fixed or input`."""
    default: str
    """As it is written in a spec; empty if a value must be given."""
    meaning: str


def list_settings(plugin: type) -> list[Setting]:
    """Return the settings of a plug-in, in the order of its fields."""
    if not is_dataclass(plugin):
        return []
    parts, meanings = {part.name: part for part in fields(plugin)}, defaultdict(str, read_meanings(plugin))
    return [
        Setting(
            name=name,
            type=_describe_type(hint),
            default=_describe_default(parts[name]),
            meaning=meanings[name],
        )
        for name, hint in parameters(plugin).items()
    ]


def read_meanings(plugin: type) -> dict[str, str]:
    """Return the strings below the fields of a class and of its bases, in one line each."""
    meanings: dict[str, str] = {}
    for base in reversed(plugin.__mro__[:-1]):
        meanings |= _read_own_meanings(base)
    return meanings


def _read_own_meanings(plugin: type) -> dict[str, str]:
    try:
        lines = inspect.cleandoc("\n" + inspect.getsource(plugin))
    except (OSError, TypeError):  # made in a terminal, or shipped without its source
        return {}
    [body] = [node.body for node in ast.parse(lines).body if isinstance(node, ast.ClassDef)]
    meanings = {}
    for statement, below in pairwise(body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            meanings[statement.target.id] = " ".join(str(below.value.value).split())
    return meanings


def _describe_type(hint: Any) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is types.NoneType:
        return "null"
    if origin is Literal:
        return " or ".join(map(_write, parts))
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_describe_type, parts))
    if origin in (tuple, list):
        kinds = {_describe_type(part) for part in parts if part is not ...} - {"any"}
        return f"list of {' or '.join(sorted(kinds))}" if kinds else "list"
    if hint is Any:
        return "any"
    name = str(getattr(hint, "__name__", hint))
    return "function" if name == "Callable" else name


def _describe_default(part: Any) -> str:
    if "zoo" in part.metadata:
        zoo, otherwise = f"zoo:{part.metadata['zoo']}", part.metadata["otherwise"]
        return zoo if zoo == otherwise else f"{zoo}, or {otherwise} without the zoo"
    if part.default_factory is not MISSING:
        return _write(part.default_factory())
    return "" if part.default is MISSING else _write(part.default)


def _write(value: Any) -> str:
    if isinstance(value, str):
        is_plain = _PLAIN.fullmatch(value) and value.lower() not in _VALUES
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_write(item)}' for key, item in value.items())}}}"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"{value:g}" if isinstance(value, float) else str(value)
