"""What cards say of settings that leak, and who reads it: lint, the fixes of leaks, the contract suite."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args, get_origin

import pytest

from tedaudit.errors import ContractError
from tedaudit.leaks import copy_profile, sources, twins
from tedaudit.leaks.battery import _GROUPS, find_fix
from tedaudit.leaks.lint.linter import lint
from tedaudit.plugins.registry import find, names, parameters, variants
from tedaudit.plugins.values import Card, Claim, Leak, Note, Rewrite
from tedaudit.testing import check_mechanism

CLASSES = {name: find("mechanism", name) for name in names("mechanism")}
LEAKS = [(name, leak) for name, plugin in CLASSES.items() for leak in plugin.card.leaks]
TESTS = {kind.name for kind in twins.KINDS} | {aspect.name for aspect in copy_profile.ASPECTS}
TESTS |= {test[0] for test in (*sources.LENGTHS, *sources.REPETITIONS)} | {"failure", "two texts"}
RELEASED = [name for name, plugin in CLASSES.items() if {"sound", "published"} <= set(variants(plugin))]


def find_unexplained(card: Card, sound: dict[str, Any], published: dict[str, Any]) -> list[str]:
    """Return the fields that set both variants apart and of which the card says nothing."""
    leaks = {leak.field for leak in card.leaks if leak.instead == sound[leak.field]
             and leak.value in (None, published[leak.field])}  # fmt: skip
    known = leaks | {field for field, _ in card.not_leaks}
    return [field for field, value in published.items() if value != sound[field] and field not in known]


def test_six_mechanisms_have_a_published_variant():
    assert len(RELEASED) == 6


@pytest.mark.parametrize("name", RELEASED)
def test_every_field_in_which_published_differs_from_sound_is_a_leak_or_says_why_not(name):
    sound, published = (variants(CLASSES[name])[variant] for variant in ("sound", "published"))
    assert sound.keys() == published.keys()
    assert find_unexplained(_restrict(CLASSES[name].card, sound), sound, published) == []


def _restrict(card: Card, fields: dict[str, Any]) -> Card:
    """Return a card with the leaks of some fields alone."""
    return Card("x", "y", leaks=tuple(leak for leak in card.leaks if leak.field in fields),
                not_leaks=card.not_leaks)  # fmt: skip


def test_the_check_finds_a_field_of_which_nothing_or_another_value_is_said():
    sound, published = {"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 2, "c": 2, "d": 1}
    card = Card("x", "y", leaks=(Leak("a", 2, 1, "it does"),), not_leaks=(("b", "it does not"),))
    assert find_unexplained(card, sound, published) == ["c"]
    other = Card("x", "y", leaks=(Leak("a", 3, 1, "it does"), Leak("c", None, 1, "it does")))
    assert find_unexplained(other, sound, published) == ["a", "b"]


@pytest.mark.parametrize("name", CLASSES)
def test_a_field_that_is_called_no_leak_sets_variants_apart_and_has_a_reason(name):
    plugin = CLASSES[name]
    for field, reason in plugin.card.not_leaks:
        assert variants(plugin)["sound"][field] != variants(plugin)["published"][field]
        assert len(reason.split()) > 3


@pytest.mark.parametrize(("name", "leak"), LEAKS, ids=lambda part: getattr(part, "field", part))
def test_a_leak_names_values_that_its_field_takes_and_tests_that_there_are(name, leak):
    hint = parameters(CLASSES[name])[leak.field]
    taken = get_args(hint) if get_origin(hint) is Literal else ()
    assert leak.value != leak.instead
    for value in (leak.value, leak.instead):
        assert value is None or value in taken or (not taken and isinstance(value, hint))
    assert variants(CLASSES[name]).get("sound", {}).get(leak.field, leak.instead) == leak.instead
    assert set(leak.shows) <= TESTS | set(_GROUPS) | {"everything"}


def test_a_group_stands_for_tests_that_there_are():
    assert {test for tests in _GROUPS.values() for test in tests} <= TESTS


@dataclass(frozen=True)
class Shouts:
    """A mechanism of somebody else."""

    loud: bool = True
    words: str = ""
    card: ClassVar[Card] = Card(
        name="shouts",
        summary="Says a word, as loud as the text.",
        leaks=(Leak("loud", True, False, "capitals are the text's ({value})", ("case",), "loudness"),),
        public=(("words", "list of words"),),
    )  # fmt: skip

    def claim(self, epsilon):
        return Claim(epsilon, "document", actual=2 * epsilon)

    def rewrite(self, draws):
        return [Rewrite("A" if self.loud and draw.text.isupper() else "a") for draw in draws]

    def arithmetic(self, epsilons, texts):
        return [Note("warning", "wages", f"at epsilon {epsilons[-1]:g}")]


def test_lint_tells_what_the_card_of_any_mechanism_says():
    report = lint(Shouts(words="x"), epsilons=[3], texts=[])
    told = {note.rule: note for note in report.notes}
    assert told["loudness"].level == "error"
    assert told["loudness"].text.startswith("capitals are the text's (True), so an output is possible")
    assert told["loudness"].fix == "loud=false"
    assert told["public data"].text.startswith("the list of words is not the default")
    assert told["wages"].text == "at epsilon 3"


def test_lint_is_silent_about_fields_that_are_as_they_should_be():
    assert not {"loudness", "public data"} & lint(Shouts(loud=False), texts=[]).rules


def test_another_epsilon_than_promised_is_told_unless_an_error_already_says_why():
    assert "claim" in lint(Shouts(loud=False), texts=[]).rules
    assert "claim" not in lint(Shouts(), texts=[]).rules


def test_a_leak_is_fixed_by_the_field_that_the_card_of_any_mechanism_names():
    assert find_fix(Shouts(), "twins", "case") == "shouts: set loud=false"  # it has no variant 'sound'
    assert find_fix(Shouts(), "recognition", "two texts") == "shouts: set loud=false"
    assert not find_fix(Shouts(), "twins", "number").startswith("shouts")
    assert not find_fix(Shouts(loud=False), "twins", "case").startswith("shouts")


def test_a_leak_that_shows_nowhere_is_no_fix():
    class Quiet(Shouts):
        card = Card("quiet", "Says a word.", leaks=(Leak("loud", None, False, "it does"),))

    assert "quiet" not in find_fix(Quiet(), "recognition", "two texts")
    assert "loud" in lint(Quiet(), texts=[]).rules  # by the name of its field


def test_a_field_that_two_leaks_name_is_set_once():
    class Twice(Shouts):
        card = Card("twice", "Says a word.", leaks=(*Shouts.card.leaks, *Shouts.card.leaks))

    assert find_fix(Twice(), "twins", "case") == "twice: set loud=false"


@pytest.mark.parametrize(
    "said",
    [{"leaks": (Leak("quiet", True, False, "it does"),)}, {"public": (("quiet", "list"),)},
     {"not_leaks": (("quiet", "no"),)}, {"code": ("quiet",)}],
    ids=lambda said: next(iter(said)),
)  # fmt: skip
def test_a_card_that_names_a_field_that_is_not_there_breaks_the_contract(said):
    class Wrong(Shouts):
        card = Card("wrong", "Says a word.", **said)

    with pytest.raises(ContractError, match="names a field 'quiet'"):
        check_mechanism(Wrong())


def test_the_released_model_of_dp_paraphrase_is_named_and_has_its_own_clip_range(tmp_path):
    """It is a folder that the README of the release links."""
    card = " ".join(CLASSES["dp-paraphrase"].card.departures)
    assert "gpt2-paraphraser" in card
    assert "README" in card
    folder = tmp_path / "gpt2-paraphraser"
    assert CLASSES["dp-paraphrase"](model=str(folder)).cautions() == ()
