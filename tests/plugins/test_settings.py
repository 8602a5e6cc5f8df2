"""What is told of every setting: its type, its default and its meaning."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import pytest

from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.registry import find, names, parameters
from tedaudit.plugins.settings import Setting, list_settings, read_meanings
from tedaudit.plugins.values import Card

BUILT_IN = [(kind, name) for kind in ("mechanism", "attack", "corpus") for name in names(kind)]


@pytest.mark.parametrize(("kind", "name"), BUILT_IN)
def test_every_setting_of_every_plug_in_says_what_it_means(kind, name):
    """Write it as a string below the field; CONTRIBUTING.md has an example."""
    settings = list_settings(find(kind, name))
    assert [setting.name for setting in settings] == list(parameters(find(kind, name)))
    for setting in settings:
        assert setting.meaning.endswith("."), f"'{name}': say below '{setting.name}' what it means"
        assert 8 < len(setting.meaning) <= 110, f"'{name}': '{setting.name}' needs one plain line"


@dataclass
class Base:
    """What others inherit."""

    size: int = 16
    """How many."""
    kind: Literal["off", "plain"] = "plain"
    """Which."""
    _hidden: dict[str, int] = field(default_factory=dict, init=False)


@dataclass
class Derived(Base):
    """Another default, a meaning told anew, and fields of its own."""

    card: ClassVar[Card] = Card("derived", "")
    """Not a setting."""
    size: int = 3
    kind: Literal["off", "plain"] = "off"
    """Which of the
    two."""
    path: str = ""
    places: tuple[str, ...] = ("a b", "c")
    """Where."""
    either: float | None = None
    """Perhaps."""
    model: str = zoo_or("mlm", "other/model")
    """A model."""
    anything: Any = 0.25
    """Any."""


def test_a_meaning_is_inherited_until_it_is_told_anew():
    assert list_settings(Derived) == [
        Setting("size", "int", "3", "How many."),
        Setting("kind", '"off" or plain', '"off"', "Which of the two."),  # YAML would read off as false
        Setting("path", "str", '""', ""),
        Setting("places", "list of str", '["a b", c]', "Where."),
        Setting("either", "float or null", "null", "Perhaps."),
        Setting("model", "str", "zoo:mlm, or other/model without the zoo", "A model."),
        Setting("anything", "any", "0.25", "Any."),
    ]


@dataclass(kw_only=True)
class ByName:
    """Fields that several plug-ins share; in their calls they come last."""

    limit: float = 1.0
    """How long."""


@dataclass
class Shares(ByName):
    """A field of its own."""

    limit: float = field(default=5.0, kw_only=True)
    path: str = ""
    """Where."""


def test_settings_that_are_given_by_name_alone_come_last_as_in_a_call():
    assert Shares("here") == Shares(path="here", limit=5.0)
    assert list_settings(Shares) == [
        Setting("path", "str", '""', "Where."),
        Setting("limit", "float", "5", "How long."),
    ]


def test_a_setting_without_a_default_has_none():
    [path, *_] = list_settings(find("mechanism", "recorded"))
    assert (path.name, path.default) == ("path", "")


def test_a_class_without_source_or_fields_has_no_meanings():
    made = dataclasses.make_dataclass("Made", [("size", int, 3)])
    assert list_settings(made) == [Setting("size", "int", "3", "")]
    assert list_settings(object) == []
    assert read_meanings(int) == {}


def test_a_class_inside_a_function_is_read_too():
    @dataclass
    class Local:
        slots: int = 1
        """How many."""

    assert read_meanings(Local) == {"slots": "How many."}
