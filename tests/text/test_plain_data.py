"""Values as plain data: what a line names, what becomes of numbers, and that every line is right."""

import importlib
import inspect
import json
import math
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import tedaudit
from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.reports.export.documents import list_told
from tedaudit.text.plain_data import PlainData, list_members, pick, to_data


class Colour(Enum):
    RED = "dark red"


@dataclass(frozen=True)
class Part:
    size: int
    rate: float = math.inf


@dataclass(frozen=True, slots=True)
class Whole(PlainData):
    label: str
    epsilon: Nominal
    part: Part | None
    ends: tuple[float, float] = (0.5, math.nan)
    named: Mapping[str, Part] = field(default_factory=dict)
    in_json: ClassVar[str] = "label as name, epsilon, part.size, ends.0 as low, *part, is_large as big, named"

    @property
    def is_large(self) -> bool:
        return self.part is not None and self.part.size > 2


def test_a_line_says_what_is_told_in_which_order_and_under_which_name():
    told = Whole("x", Nominal(2), Part(3), named={"a": Part(1, 0.5)}).to_dict()
    assert json.dumps(told) == json.dumps(
        {"name": "x", "epsilon": 2.0, "size": 3, "low": 0.5, "rate": None, "big": True,
         "named": {"a": {"size": 1, "rate": 0.5}}}
    )  # fmt: skip


def test_what_is_not_there_is_none_and_has_nothing_to_put_beside_the_rest():
    told = Whole("x", NO_EPSILON, None).to_dict()
    assert told == {"name": "x", "epsilon": None, "size": None, "low": 0.5, "big": False, "named": {}}


def test_without_a_line_all_fields_are_told():
    assert to_data(Part(3, 0.25)) == {"size": 3, "rate": 0.25}
    assert [member.name for member in list_members(Part)] == ["size", "rate"]


def test_another_line_can_be_asked_for():
    assert pick(Part(3, 0.25), "rate as share") == {"share": 0.25}
    assert pick(Whole("x", NO_EPSILON, Part(1)), "*")["ends"] == [0.5, None]


def test_a_class_that_tells_itself_otherwise_does_so_inside_others_too():
    class Louder(Whole):
        def to_dict(self):
            return {"said": "loudly"}

    assert to_data({"a": (Louder("x", NO_EPSILON, None),)}) == {"a": [{"said": "loudly"}]}


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, np.float64("inf")])
def test_a_number_that_is_not_finite_is_none(number):
    assert to_data([number, np.float64(0.5)]) == [None, 0.5]


def test_what_json_holds_stays_and_names_and_paths_become_text():
    given = (True, 3, "x", None, Path("a"), Colour.RED, np.array([1.5, 2.0]))
    told = to_data(given)
    assert told == [True, 3, "x", None, "a", "dark red", [1.5, 2.0]]
    assert json.loads(json.dumps(told)) == told


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeError):
        to_data({"a": object()})


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(AttributeError, match="sise"):
        pick(Part(3), "sise")


def list_classes():
    """Yield every class of the package that has a line of its own."""
    for found in pkgutil.walk_packages(tedaudit.__path__, "tedaudit."):
        if "_scripts" in found.name or found.name.endswith("__main__"):
            continue
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if inspect.isclass(kind) and kind.__module__ == found.name and "in_json" in vars(kind):
                yield kind


def test_every_line_of_the_package_names_fields_and_properties_that_are_there():
    kinds = [kind for kind in list_classes() if kind is not PlainData]
    assert len(kinds) > 40
    for kind in kinds:
        told = list_told(kind)
        assert len(told) >= len(list_members(kind)), kind


def test_a_line_that_names_what_is_not_there_is_found():
    with pytest.raises(KeyError, match="lable"):
        list_told(Whole, "lable")
