"""Writes the reference of the Python interface: signatures, docstrings, fields and methods."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

import tedaudit
from tedaudit.plugins.settings import list_settings, read_meanings

PLUGIN_MODULES = ("plugins.values", "plugins.batches", "plugins.nominal", "seeding", "runs.engines")
PAGES = {
    "functions": ("Functions", "What can be done from Python. Everything here is a name of `tedaudit`."),
    "results": ("Results and specs", "What the functions take and return."),
    "plugins": ("For plug-ins", "What a mechanism, an attack or a corpus is made of."),
    "errors": ("Errors", "What is raised. Every message says what is allowed and what to do next."),
}
MODULES = {
    "abilities": ("Abilities", "tedaudit.plugins.protocols"),
    "estimators": ("Estimators", "tedaudit.estimators"),
    "testing": ("Contract suite", "tedaudit.testing"),
}
_WIDTH = 88
_QUALIFIED = re.compile(r"\b(?:[a-zA-Z_]\w*\.)+(?=[A-Za-z_])")


def write_api_pages(folder: Path) -> None:
    """Write a page for each group of public names, and for each module that is public."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[str]] = {page: [] for page in PAGES}
    for name in tedaudit.__all__:
        groups[choose_page(name)].append(name)
    for page, (title, introduction) in PAGES.items():
        parts = [describe_name("tedaudit", name, getattr(tedaudit, name)) for name in groups[page]]
        _write(folder / f"{page}.md", title, introduction, parts)
    for page, (title, module_name) in MODULES.items():
        module = importlib.import_module(module_name)
        parts = [describe_name(module_name, name, getattr(module, name)) for name in list_names(module)]
        _write(folder / f"{page}.md", title, f"`{module_name}`: {_tell(module)}", parts)


def choose_page(name: str) -> str:
    """Return the page on which a name of tedaudit stands."""
    value = getattr(tedaudit, name)
    home = tedaudit._HOME_OF[name].removeprefix("tedaudit.")  # noqa: SLF001 - where a name is defined
    if inspect.isclass(value) and issubclass(value, BaseException):
        return "errors"
    if home in PLUGIN_MODULES:
        return "plugins"
    return "results" if inspect.isclass(value) else "functions"


def list_names(module: Any) -> list[str]:
    """Return the public names of a module: those that it declares, or else its own classes and functions."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return list(declared)
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return [name for name in own if not name.startswith("_")]


def describe_name(module: str, name: str, value: Any) -> str:
    """Return the section of one name."""
    title = f"## {name}\n"
    if inspect.isclass(value):
        return "\n".join([title, *_describe_class(module, value)])
    if callable(value):
        return "\n".join([title, _write_signature(f"{module}.{name}", value), _tell(value), ""])
    return f"{title}\n`{module}.{name} = {value!r}`\n"


def _describe_class(module: str, kind: type) -> Iterable[str]:
    yield f"```python\nclass {module}.{kind.__name__}{_list_bases(kind)}\n```\n"
    yield f"{_tell(kind)}\n"
    yield from _describe_fields(kind)
    for name, member in _list_members(kind):
        if isinstance(member, property):
            yield f"**`{name}`** (property): {_tell(member)}\n"
        else:
            yield f"{_write_signature(name, member)}\n{_tell(member)}\n"


def _describe_fields(kind: type) -> Iterable[str]:
    if issubclass(kind, BaseModel):
        rows = [(part.alias or key, part.description or "") for key, part in kind.model_fields.items()]
    elif dataclasses.is_dataclass(kind):
        rows = [
            (f"{s.name}: {s.type}" + (f" = {s.default}" if s.default else ""), s.meaning)
            for s in list_settings(kind)
            if not s.name.startswith("_")
        ]
    else:
        own = {key: meaning for key, meaning in read_meanings(kind).items() if not key.startswith("_")}
        rows = list(own.items())
    if rows:
        yield "Fields:\n"
        yield from (f"- `{left}`" + (f": {meaning}" if meaning else "") for left, meaning in rows)
        yield ""


def _list_bases(kind: type) -> str:
    bases = [base.__name__ for base in kind.__bases__ if base is not object]
    return f"({', '.join(bases)})" if bases else ""


def _list_members(kind: type) -> list[tuple[str, Any]]:
    """Return the public methods and properties, its own and those of bases in this package."""
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("tedaudit"):
            found |= {name: value for name, value in vars(base).items() if not name.startswith("_")}
    unwrapped = [(name, getattr(value, "__func__", value)) for name, value in found.items()]
    return [
        (name, value) for name, value in unwrapped if inspect.isfunction(value) or isinstance(value, property)
    ]


def _write_signature(name: str, function: Any) -> str:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return f"```python\n{name}(...)\n```\n"
    parts, seen_star = [], False
    for part in signature.parameters.values():
        if part.kind is part.KEYWORD_ONLY and not seen_star:
            parts.append("*")
        seen_star = seen_star or part.kind in (part.VAR_POSITIONAL, part.KEYWORD_ONLY)
        parts.append(_shorten(str(part)))
    returned = signature.return_annotation
    end = "" if returned is signature.empty else f" -> {_shorten(inspect.formatannotation(returned))}"
    line = f"{name}({', '.join(parts)}){end}"
    if len(line) > _WIDTH:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){end}"
    return f"```python\n{line}\n```\n"


def _shorten(annotation: str) -> str:
    """Return an annotation without the modules of its names; strings in it are left alone."""
    pieces = re.split(r"('[^']*'|\"[^\"]*\")", annotation)
    return "".join(piece if i % 2 else _QUALIFIED.sub("", piece) for i, piece in enumerate(pieces))


def _tell(value: Any) -> str:
    """Return a docstring as Markdown: examples become code."""
    text = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    return re.sub(r"^(>>>.*(?:\n(?!\n).+)*)", r"```pycon\n\1\n```", text, flags=re.MULTILINE)


def _write(path: Path, title: str, introduction: str, parts: Sequence[str]) -> None:
    path.write_text(f"# {title}\n\n{introduction}\n\n" + "\n".join(parts), encoding="utf-8")
