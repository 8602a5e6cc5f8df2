"""The tool's own test for those who have a wheel: it passes, and it can fail."""

from dataclasses import fields, replace
from math import inf

import pytest

from helpers import HERE
from tedaudit.api import DEFAULT_ATTACKS
from tedaudit.mechanisms.function import Function
from tedaudit.plugins.registry import Reference, build, find
from tedaudit.testing import Known, SelfTest, known, selftest


@pytest.fixture(scope="module")
def found():
    return selftest()


def test_the_tool_is_right_about_all_mechanisms_whose_answer_is_known(found):
    assert found.passed, str(found)
    truths = [(one.name, one.truth) for one in found.known]
    assert truths[:2] == [("identity", inf), ("constant", 0)]
    assert sum(truth == 0 for _, truth in truths) == 3
    assert [truth for name, truth in truths if name == "randomised response"] == [0.5, 1, 2]
    assert [truth for name, truth in truths if name.startswith("Gaussian")] == [1, 2]
    assert all(one.trials == 2000 for one in found.known)


def test_what_is_printed_is_a_line_for_each_mechanism_and_whether_it_is_right(found):
    first, _, *lines = str(found).splitlines()
    assert first == "tedaudit's own test: right about 9 of 9 mechanisms."
    assert [line.split("  ")[-1] for line in lines] == ["right"] * 9
    page = (HERE.parent / "docs" / "selftest.md").read_text("utf-8")
    assert all(line in page for line in (first, *lines[4:]))
    wrong = SelfTest((replace(found.known[0], bound=0.0), *found.known[1:]))
    assert not wrong.passed
    assert "right about 8 of 9" in str(wrong)
    assert str(wrong).splitlines()[2].endswith("WRONG")


RIGHT = Known("randomised response", 1.0, 1.05, 0.9, 1463, 2000)


@pytest.mark.parametrize(
    "wrong",
    [
        replace(RIGHT, bound=1.01),  # above the truth
        replace(RIGHT, bound=0.0),  # nothing shown
        replace(RIGHT, estimate=1.3),  # not exact
        replace(RIGHT, is_violated=True),  # accused of breaking a claim that holds
        replace(RIGHT, truth=0.0),  # something where nothing is
        replace(RIGHT, truth=inf),  # what keeps the text, and is not always named
    ],
)
def test_each_way_of_being_wrong_is_wrong(wrong):
    assert RIGHT.is_right
    assert not wrong.is_right


def test_a_claim_that_does_not_hold_is_no_right_answer():
    lies = known.measure("a copy with a claim", 0.0, lambda text, seed: text, 500)
    assert lies.is_violated
    assert not lies.is_right


def test_the_attacks_are_those_that_any_function_is_audited_with_by_default():
    fit = [name for name in DEFAULT_ATTACKS if find("attack", name).card.knows != "its model and settings"]
    named = [one if isinstance(one, str) else one["name"] for one in known.ATTACKS]
    assert named == fit
    for name, one in zip(named, known.ATTACKS, strict=True):
        attack = build(Reference("attack", name))
        has_encoder = any(setting.name == "encoder" for setting in fields(attack))
        assert has_encoder == (not isinstance(one, str))


def test_an_answer_is_true_with_the_probability_of_randomised_response():
    mechanism = Function(known.answer_randomly)
    assert mechanism.is_seeded
    answers = [known.answer_randomly(known.TEXTS[1], seed, 1.0) for seed in range(10_000)]
    assert abs(answers.count(known.TEXTS[1]) / 10_000 - 0.7311) < 0.02
    assert set(answers) == set(known.TEXTS)
