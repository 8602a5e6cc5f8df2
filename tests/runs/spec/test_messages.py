"""What is wrong with settings is said in sentences: the thing, its value, what is allowed."""

import math

import pytest

from helpers import told
from tedaudit.errors import SpecError
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.runs.spec.model import AuditSpec, parse_spec


def test_an_unknown_setting_is_named_with_the_close_one_and_all_there_are():
    message = told(trails=5)
    assert "no setting 'trails'" in message
    assert "Did you mean 'trials'?" in message
    assert all(name in message for name in AuditSpec.model_fields)


def test_an_unknown_setting_of_a_plan_is_named_with_those_a_plan_has():
    message = told(plans=[{"k": 2}, {"lambd": 3}])
    assert "no setting 'plans.1.lambd'" in message
    assert "Did you mean 'lambda'?" in message
    assert "author, estimator, k, knows, lambda, releases, sets, strategy, texts, top" in message
    assert "trials" not in message


def test_a_setting_that_is_no_text_is_an_unknown_setting():
    with pytest.raises(SpecError, match="no setting '1'"):
        parse_spec({"mechanisms": "identity", 1: 2})


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("trials", 0, "a whole number, at least 1 and at most 100,000,000, such as 1000"),
        ("trials", "ten", "a whole number, at least 1"),
        ("trials", 1.5, "a whole number, at least 1"),
        ("alpha", 0, "above 0 and below 1, such as 0.01"),
        ("alpha", 1, "above 0 and below 1"),
        ("alpha", 1.5, "above 0 and below 1"),
        ("alpha", math.nan, "above 0 and below 1"),
        ("delta", -0.1, "at least 0 and below 1"),
        ("delta", 1, "at least 0 and below 1"),
        ("batch_size", 0, "at least 1, such as 4096"),
        ("block", -1, "at least 0"),
        ("seed", "x", "a whole number"),
        ("name", "a/b", "letters, digits, '.', '_' and '-' only"),
        ("corpus", 3, "a name or a mapping with a `name`; `tedaudit ls corpora` lists them"),
        ("out", 3, "a text; put quotes around it"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(setting, value, allowed):
    message = told(**{setting: value})
    assert message.startswith(f"'{setting}' is {value!r}: ")
    assert allowed in message


@pytest.mark.parametrize("k", [1, 0, -5, "abc", 2.5, True, "1", None])
def test_k_is_a_whole_number_from_two_up_or_all(k):
    message = told(plans=[{"k": k}])
    assert message == f"'plans.0.k' is {k!r}: it should be a whole number of 2 or more, or 'all'."


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf, "abc", True, None, {"a": 1}])
def test_an_epsilon_is_a_finite_number_from_zero_up(epsilon):
    wanted = f"epsilon is {epsilon!r}; it should be a finite number of 0 or more, such as 1."
    assert told(epsilons=[1, epsilon]).endswith(wanted)
    assert told(mechanisms=[{"name": "word-rr", "epsilons": epsilon}]).endswith(wanted)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (
            {"strategy": "far"},
            "'plans.0.strategy' is 'far': it should be 'transition', 'nearest', 'furthest' or 'giv",
        ),
        (
            {"estimator": "bas"},
            "'plans.0.estimator' is 'bas': it should be one of: baseline, baseline-ldp-audit, reduced",
        ),
        ({"top": 0}, "'plans.0.top' is 0: it should be a whole number, at least 1, such as 1"),
        ({"lambda": "x"}, "'plans.0.lambda' is 'x': it should be a number, such as -10000.0"),
        ({"lambda": math.nan}, "lambda is nan; it should be a number, -inf and inf included"),
        ({"k": 4, "estimator": "baseline"}, "k is 4, but the baseline estimator is defined for k = 2; use"),
        ({"k": "all", "estimator": "baseline"}, "k is all, but the baseline estimator is defined for k = 2"),
        (3, "'plans.0' is 3: it should be a mapping, such as {k: 2}"),
    ],
)
def test_a_wrong_plan_is_named_with_what_is_allowed(plan, said):
    assert said in told(plans=[plan])
    assert not told(plans=[plan]).endswith("..")


@pytest.mark.parametrize(
    ("mechanisms", "said"),
    [
        ([], "'mechanisms': it should hold at least one."),
        (None, "'mechanisms.0' is None: it should be a name or a mapping with a `name`"),
        ([3], "'mechanisms.0' is 3: it should be a name or a mapping with a `name`"),
        ([{"label": "x"}], "'mechanisms.0.name' is missing. `tedaudit ls mechanisms` lists"),
        ([{"name": "identity", "live": 3}], "'mechanisms.0.live' is 3: it should be a plug-in object"),
        ([{"name": "identity", "label": 3}], "'mechanisms.0.label' is 3: it should be a text"),
        ([WordRR], "it should be a name or a mapping with a `name`"),
    ],
)
def test_a_wrong_mechanism_is_named_with_what_is_allowed(mechanisms, said):
    assert said in told(mechanisms=mechanisms)


def test_a_spec_without_mechanisms_is_told_where_to_find_some():
    with pytest.raises(SpecError, match=r"'mechanisms' is missing\. `tedaudit ls mechanisms` lists"):
        parse_spec({"trials": 5})


def test_all_that_is_wrong_is_said_at_once():
    message = told(trials=0, alpha=2, trails=3)
    assert all(said in message for said in ("'trials' is 0", "'alpha' is 2", "no setting 'trails'"))
    assert len(message.splitlines()) == 1
