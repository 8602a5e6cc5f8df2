"""Plug-ins by name: folders, entry points and `py:`; what is said when a name or a parameter is wrong."""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tedaudit.errors import PluginError, SpecError
from tedaudit.mechanisms.function import Function
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.registry import (
    Reference,
    build,
    cards,
    describe_fields,
    describe_scoring,
    determinants,
    find,
    is_standard,
    names,
    parameters,
)
from tedaudit.plugins.values import Card, Draw

KINDS = ["mechanism", "attack", "corpus"]


def made(kind, name, **params):
    return build(Reference(kind, name, params))


def refusal(kind, name, error=SpecError, **params):
    with pytest.raises(error) as caught:
        made(kind, name, **params)
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_every_built_in_plug_in_is_found_and_its_card_bears_its_name(kind):
    known = names(kind)
    assert known == sorted(set(known))
    assert [card.name for card in cards(kind)] == known
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in known)


def test_the_reference_plug_ins_are_there():
    assert {"constant", "function", "identity", "recorded", "word-rr"} <= set(names("mechanism"))
    assert {"embedding", "lexical"} <= set(names("attack"))
    assert {"demo", "files", "hub"} <= set(names("corpus"))


def test_names_are_listed_without_importing_the_plug_ins():
    code = (
        "import sys, tedaudit.plugins.registry as r\n"
        "for kind in ('mechanism', 'attack', 'corpus'): r.names(kind)\n"
        "print([m for m in sys.modules if m.startswith('tedaudit.mechanisms.') or m == 'torch'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("kind", "name", "meant"),
    [
        ("mechanism", "word_rr", "word-rr"),
        ("mechanism", "identiy", "identity"),
        ("attack", "lexicl", "lexical"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one_and_with_all(kind, name, meant):
    message = refusal(kind, name, PluginError)
    assert f"There is no {kind} named '{name}'. Did you mean '{meant}'?" in message
    assert ", ".join(names(kind)) in message
    assert "py:package.module:name" in message


def test_a_name_like_no_other_is_answered_with_all():
    message = refusal("attack", "zzz", PluginError)
    assert "Did you mean" not in message
    assert "lexical" in message


def test_parameters_reach_the_plug_in():
    mechanism = made("mechanism", "word-rr", slots=3, vocabulary=["yes", "no"])
    assert isinstance(mechanism, WordRR)
    assert mechanism.slots == 3
    assert mechanism.claim(2.0).total == 6.0


def test_an_unknown_parameter_is_answered_with_those_there_are():
    message = refusal("mechanism", "word-rr", slot=3)
    assert message == (
        "'word-rr' has no parameter 'slot'. Did you mean 'slots'? It takes: slots, vocabulary. "
        "`tedaudit ls mechanisms word-rr` says what each means."
    )


def test_a_plug_in_without_parameters_says_so():
    assert (
        refusal("mechanism", "identity", epsilon=1)
        == "'identity' has no parameter 'epsilon'. It takes: none."
    )


def test_hidden_fields_are_no_parameters():
    assert "has no parameter '_items'" in refusal("mechanism", "word-rr", _items=("a",))
    assert "has no parameter 'card'" in refusal("mechanism", "word-rr", card=None)


@dataclass(frozen=True)
class Picky:
    """One field of every simple type."""

    needed: str
    whole: int = 1
    real: float = 1.0
    flag: bool = False
    maybe: int | None = None
    words: tuple[str, ...] = ()
    pairs: list[tuple[str, int]] = field(default_factory=list)
    anything: Any = None
    card: ClassVar[Card] = Card(name="picky", summary="x")
    variants: ClassVar[dict[str, dict[str, Any]]] = {"short": {"needed": "x", "whole": 2}}

    def rewrite(self, draws):
        return []


PICKY = f"py:{__name__}:Picky"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"whole": "3"}, "parameter 'whole' is '3'; it must be of type int"),
        ({"whole": 3.0}, "parameter 'whole' is 3.0; it must be of type int"),
        ({"whole": True}, "parameter 'whole' is True; it must be of type int"),
        ({"real": "a"}, "parameter 'real' is 'a'; it must be of type float"),
        ({"real": True}, "parameter 'real' is True"),
        ({"flag": 1}, "parameter 'flag' is 1; it must be of type bool"),
        ({"flag": "yes"}, "parameter 'flag' is 'yes'"),
        ({"maybe": "a"}, "parameter 'maybe' is 'a'; it must be of type int | None"),
        ({"needed": 7}, "parameter 'needed' is 7; it must be of type str"),
        ({"needed": None}, "parameter 'needed' is None"),
        ({"words": "a b"}, "parameter 'words' is 'a b'; it must be of type tuple[str, ...]"),
        ({"words": [True, "no"]}, "parameter 'words' is [True, 'no']"),
        ({"pairs": [["a", "b", None]]}, "parameter 'pairs' is"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_the_right_type(params, message):
    assert message in refusal("mechanism", PICKY, **{"needed": "x", **params})


@pytest.mark.parametrize(
    "params",
    [
        {"whole": 3}, {"real": 3}, {"real": 1e300}, {"flag": True}, {"maybe": None}, {"maybe": 4},
        {"words": ["a"]}, {"words": ("a", "b")}, {"words": []}, {"pairs": [["a", 1]]}, {"anything": object()},
    ],
)  # fmt: skip
def test_a_value_that_fits_is_taken(params):
    plugin = made("mechanism", PICKY, needed="x", **params)
    for key, value in params.items():
        assert getattr(plugin, key) == value


def test_a_choice_is_refused_with_the_choices():
    message = refusal("mechanism", "function", function=str.upper, unit="page")
    assert (
        "parameter 'unit' is 'page'; it must be one of: document, sentence, token, triple, word." in message
    )


def test_a_vocabulary_that_is_a_number_or_holds_one_is_refused():
    assert "parameter 'vocabulary' is 5" in refusal("mechanism", "word-rr", vocabulary=5)
    assert "it must be of type str | tuple[str, ...]" in refusal(
        "mechanism", "word-rr", vocabulary=["a", True]
    )


def test_a_missing_parameter_is_named():
    message = refusal("mechanism", PICKY)
    assert message.startswith(
        f"'{PICKY}' needs a value for: needed. It takes: anything, flag, maybe, needed,"
    )
    assert "'recorded' needs a value for: path" in refusal("mechanism", "recorded")


def test_a_variant_is_a_named_set_of_values_that_others_override():
    assert made("mechanism", PICKY, variant="short") == Picky("x", 2)
    assert made("mechanism", PICKY, variant="short", whole=5) == Picky("x", 5)
    assert "has no variant 'shrt'. Did you mean 'short'? It has: short." in refusal(
        "mechanism", PICKY, variant="shrt"
    )


def test_a_function_becomes_a_mechanism_by_its_py_name():
    mechanism = made("mechanism", "py:textwrap:dedent")
    assert isinstance(mechanism, Function)
    assert mechanism.function == "py:textwrap:dedent"  # a name can travel to another process
    assert mechanism.rewrite([Draw("  a", 1.0, 0)])[0].text == "a"
    assert made("mechanism", "py:textwrap:dedent", unit="word", max_units=3).claim(2.0).total == 6.0


@dataclass
class NoCard:
    def rewrite(self, draws):
        return []


class Plain:
    """Not a dataclass: then it has no parameters."""

    card: ClassVar[Card] = Card(name="plain", summary="x")

    def rewrite(self, draws):
        return []


@pytest.mark.parametrize("name", ["NoCard", "Draw"])
def test_a_class_that_is_not_a_plug_in_is_refused(name):
    message = refusal("mechanism", f"py:{__name__}:{name}", PluginError)
    assert "is not a mechanism" in message
    assert "it must be a class with a `card` and a method `rewrite`" in message
    assert "Picky' is not an attack: it must be" in refusal("attack", f"py:{__name__}:Picky", PluginError)


def test_a_function_is_not_an_attack():
    assert "'py:textwrap:dedent' is not an attack" in refusal("attack", "py:textwrap:dedent", PluginError)


def test_a_class_that_is_no_dataclass_can_be_used_as_it_is():
    assert isinstance(made("mechanism", f"py:{__name__}:Plain"), Plain)
    assert "It takes: none." in refusal("mechanism", f"py:{__name__}:Plain", slots=1)
    assert parameters(Plain) == {}


def test_an_object_of_this_process_is_taken_as_it_is():
    live = Plain()
    assert build(Reference("mechanism", "whatever", live=live)) is live


def test_what_determines_results_holds_name_version_fields_and_fingerprint():
    found = determinants(WordRR(slots=3, vocabulary=("b", "a")))
    assert {key: found[key] for key in ("name", "version", "slots", "vocabulary")} == {
        "name": "word-rr", "version": 1, "slots": 3, "vocabulary": ["b", "a"],
    }  # fmt: skip
    assert (
        found["vocabulary words"] != determinants(WordRR(slots=3, vocabulary=("a", "b")))["vocabulary words"]
    )
    assert determinants(Function(str.upper))["function"] == "str.upper"
    assert determinants(Plain()) == {"name": "plain", "version": 1}


def test_an_incidental_field_determines_nothing():
    @dataclass
    class WithDevice(Plain):
        device: str = field(default="cpu", metadata={"incidental": True})
        slots: int = 1

    assert determinants(WithDevice("cuda")) == determinants(WithDevice("cpu"))
    assert determinants(WithDevice(slots=2)) != determinants(WithDevice())


def test_a_field_that_changes_scores_alone_determines_nothing_that_is_drawn():
    @dataclass
    class Reading(Plain):
        readings: int = field(default=16, metadata={"scores_only": True})
        slots: int = 1

    assert determinants(Reading(4)) == determinants(Reading()) == {"name": "plain", "version": 1, "slots": 1}
    assert describe_scoring(Reading(4, slots=2)) == {"readings": 4}
    assert describe_scoring(Reading()) == describe_scoring(Plain()) == {}


def test_no_setting_of_a_generator_but_how_often_it_reads_is_left_out_of_what_determines_draws():
    for name in ("dp-prompt", "dp-paraphrase", "sampler"):
        kind = find("mechanism", name)
        assert set(parameters(kind)) - set(describe_fields(kind())) == {"device", "text_readings"}
        assert describe_scoring(kind(text_readings=64)) == {"text_readings": 64}


def test_only_a_built_in_plug_in_with_default_settings_is_standard():
    assert is_standard(build(Reference("attack", "trained")))
    assert not is_standard(build(Reference("attack", "trained", {"rewrites": 100})))
    assert not is_standard(object())
    assert not is_standard(build(Reference("mechanism", "function", {"function": str.upper})))
