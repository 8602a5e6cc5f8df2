"""The nominal epsilon: a number that knows its names, and the lack of one."""

import json
import math

import pytest

from tedaudit.plugins.nominal import NO_EPSILON, Nominal, distinct_epsilons

VALUES = [1e-05, 0.1, 0.30000000000000004, 1.0, 2.5, 1 / 3, 2500.0, 123456.75, 1e12]


@pytest.mark.parametrize(
    ("value", "name", "label", "phrase", "in_json"),
    [
        (2.0, "2", "2", "epsilon 2", 2.0),
        (0.1, "0.1", "0.1", "epsilon 0.1", 0.1),
        (1e-05, "1e-05", "1e-05", "epsilon 1e-05", 1e-05),
        (2500.0, "2500", "2500", "epsilon 2500", 2500.0),
        (1 / 3, "0.333333333333", "0.333333", "epsilon 0.333333", 1 / 3),
        (math.inf, "any", "any", "", None),
    ],
)
def test_an_epsilon_has_one_name_in_folders_tables_sentences_and_json(value, name, label, phrase, in_json):
    epsilon = Nominal(value)
    assert (epsilon.name, epsilon.label, epsilon.phrase, epsilon.json) == (name, label, phrase, in_json)
    assert epsilon.is_given == (in_json is not None)


@pytest.mark.parametrize("value", [*VALUES, math.inf])
def test_an_epsilon_is_found_again_by_its_name_and_by_what_json_holds(value):
    epsilon = Nominal(value)
    by_name, by_json = Nominal.of(epsilon.name), Nominal.of(json.loads(json.dumps(epsilon.json)))
    assert by_json == epsilon
    assert by_name == pytest.approx(epsilon, rel=1e-11)
    assert by_name.name == by_json.name == epsilon.name
    assert all(type(found) is Nominal for found in (by_name, by_json, Nominal.of(value)))


def test_what_json_holds_is_a_plain_number_and_never_infinite():
    assert type(Nominal(3).json) is float
    assert json.dumps([Nominal(3).json, NO_EPSILON.json], allow_nan=False) == "[3.0, null]"


def test_a_mechanism_computes_with_it_as_with_any_float():
    assert math.exp(Nominal(2)) == math.exp(2.0)
    assert Nominal(2) / 4 == 0.5
    assert {Nominal(2): "a"}[2.0] == "a"
    assert f"{Nominal(2.5):.2f}" == "2.50"


def test_no_epsilon_stands_above_every_other():
    mixed = [NO_EPSILON, Nominal(3), Nominal(0.5), Nominal(1e300)]
    assert sorted(mixed) == [0.5, 3, 1e300, NO_EPSILON]
    assert Nominal.of(None) is Nominal.of("any") is NO_EPSILON
    assert Nominal(math.inf) == NO_EPSILON


@pytest.mark.parametrize(
    ("epsilon", "other", "covers"),
    [
        (Nominal(2), 2.0, True),
        (Nominal(2), 3.0, False),
        (Nominal(2), NO_EPSILON, False),
        (NO_EPSILON, 2.0, True),
        (NO_EPSILON, NO_EPSILON, True),
    ],
)
def test_results_without_an_epsilon_stand_at_every_one_and_others_at_their_own(epsilon, other, covers):
    assert epsilon.covers(other) is covers


@pytest.mark.parametrize("text", ["", "many", "None"])
def test_a_name_that_is_no_number_is_refused(text):
    with pytest.raises(ValueError, match="could not convert"):
        Nominal.of(text)


def test_distinct_epsilons_are_those_that_are_given_in_order_or_else_the_lack_of_one():
    assert distinct_epsilons([3.0, NO_EPSILON, 1.0, Nominal(3)]) == [1, 3]
    assert distinct_epsilons([NO_EPSILON, math.inf]) == [NO_EPSILON]
    assert distinct_epsilons([]) == [NO_EPSILON]
    assert all(type(epsilon) is Nominal for epsilon in distinct_epsilons([3.0, 1.0]))
