"""Values as plain data, which JSON can hold: each class says once what it tells, and under which names.

A dataclass tells all its fields under their names. One that tells anything else has a line `in_json`, which
is read as that of a query:

    in_json: ClassVar[str] = "label as mechanism, epsilon, claim.unit as unit, *bound, is_sure as sure"

It names fields and properties in the order of the JSON object; `as` gives another name; a point leads to a
value inside, or by its number to one of several, and to None if there is no such value; `*` stands for all
fields, and `*bound` for all that the bound tells, put beside the others. The published schemas are made from
the same lines, with the types and meanings of what they name (`reports/export/documents.py`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar

NULL = "may be null in JSON: what is infinite, refuted or redacted"
Count = Annotated[int, {"ge": 0}]
Share = Annotated[float, {"ge": 0, "le": 1}]
Unbounded = Annotated[float, NULL]


class PlainData:
    """Something that can be told as plain data."""

    __slots__ = ()
    in_json: ClassVar[str] = "*"

    def to_dict(self) -> dict[str, Any]:
        """Return it safe for JSON: what has no finite number is None."""
        return pick(self)


@dataclass(frozen=True, slots=True)
class Member:
    """What JSON holds under one name, and where it lies; `is_spread` if all that it tells is put there."""

    name: str
    path: tuple[str, ...]
    is_spread: bool = False


@cache
def list_members(kind: type, line: str = "") -> tuple[Member, ...]:
    """Return what is told of values of a class, by its own line or another one."""
    members = list[Member]()
    for part in (line or getattr(kind, "in_json", "*")).split(","):
        place, _, name = part.strip().partition(" as ")
        if place == "*":
            members += [Member(field.name, (field.name,)) for field in fields(kind)]
        else:
            path = tuple(place.removeprefix("*").split("."))
            members.append(Member(name or path[-1], path, place.startswith("*")))
    return tuple(members)


def pick(value: Any, line: str = "") -> dict[str, Any]:
    """Return what is told of a value, by the line of its class or another one."""
    told: dict[str, Any] = {}
    kind: type = type(value)
    for member in list_members(kind, line):
        inner = to_data(_follow(value, member.path))
        told |= (inner or {}) if member.is_spread else {member.name: inner}
    return told


def _follow(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if value is None:
            return None
        value = value[int(step)] if step.isdigit() else getattr(value, step)
    return value


def to_data(value: Any) -> Any:
    """Return a value as plain data; a number that is not finite is None."""
    if isinstance(value, PlainData):
        return value.to_dict()
    if is_dataclass(value):
        return pick(value)
    if isinstance(value, Mapping):
        return {name: to_data(inner) for name, inner in value.items()}
    if isinstance(value, float):  # a nominal epsilon and numbers of numpy too
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | int | Enum | Path):
        return value.value if isinstance(value, Enum) else str(value) if isinstance(value, Path) else value
    return [to_data(inner) for inner in value]
