"""The exceptions a user can act on, and the pieces their messages are made of."""

import inspect

import pytest

from tedaudit import errors
from tedaudit.errors import SpecError, TedauditError, did_you_mean, escape_control, join_names, quote


def test_every_exception_can_be_caught_as_one():
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, Exception)]
    assert len(kinds) > 5
    assert all(issubclass(kind, TedauditError) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)


def test_an_encoder_that_fails_is_a_model_that_fails():
    assert issubclass(errors.EncoderError, errors.ModelError)


def test_names_are_listed_in_order_and_nothing_is_said_to_be_nothing():
    assert join_names(["b", "a", "c"]) == "a, b, c"
    assert join_names({"x": 1, "w": 2}) == "w, x"
    assert join_names([]) == "(none)"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("word-r", "word-rr"), ("wordrr", "word-rr"), ("identitty", "identity"), ("cosntant", "constant")],
)
def test_a_near_miss_is_answered_with_the_nearest_name(name, meant):
    assert did_you_mean(name, ["constant", "word-rr", "identity"]) == f" Did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("name", "allowed"), [("xyz", ["constant", "identity"]), ("anything", []), ("", ["a"])]
)
def test_a_far_miss_is_answered_with_nothing(name, allowed):
    assert did_you_mean(name, allowed) == ""


def test_names_to_choose_from_may_come_from_a_generator():
    assert did_you_mean("identty", (name for name in ["identity"])) == " Did you mean 'identity'?"
    assert join_names(name for name in ["b", "a"]) == "a, b"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("at https://me:s3cret@host.org/v1?x=1", "at https://***@host.org/v1?x=1"),
        ("at http://s3cret@host:8/v1", "at http://***@host:8/v1"),
        ("'http://h/v1?api_key=s3cret&x=1'", "'http://h/v1?api_key=***&x=1'"),
        ("http://h/v1?x=1&access-Token=s3cret is wrong", "http://h/v1?x=1&access-Token=*** is wrong"),
        ("openai:m@http://h/v1, or ask a@b.org", "openai:m@http://h/v1, or ask a@b.org"),
    ],
)
def test_no_message_shows_the_key_of_an_address(told, shown):
    assert str(SpecError(told)) == shown


# --- what is quoted in a message


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"), ("a\nerror: b", r"a\nerror: b"), ("\r", r"\r"), ("\x9b31m", r"\x9b31m"),
        ("\u202eabc", r"\u202eabc"), ("\ud800", r"\ud800"), ("naïve 漢字 \\n", "naïve 漢字 \\n"), ("\x00",
        r"\x00"),
    ],
)  # fmt: skip
def test_a_message_is_one_line_that_does_nothing_to_a_terminal(quoted, shown):
    for kind in (TedauditError, errors.SpecError, errors.CorpusError):
        assert str(kind(f"'{quoted}' is wrong.")) == f"'{shown}' is wrong."
    assert escape_control(escape_control(quoted)) == escape_control(quoted)


def test_a_message_has_a_bounded_length_and_keeps_its_beginning_and_end():
    message = str(TedauditError(f"The value is '{'x' * 10**6}'; make it shorter."))
    assert len(message) < 5000
    assert message.startswith("The value is 'xxx")
    assert message.endswith("make it shorter.")
    assert "characters ..." in message


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        {"a": [10**5000]},
        [[[[[[["deep"]]]]]]],
        ["x" * 10**6] * 10**5,
        dict.fromkeys(range(10**4), "y" * 99),
    ],
    ids=["digits", "digits inside", "deep", "long", "wide"],
)
def test_any_value_can_be_quoted_in_a_few_words(value):
    assert 0 < len(quote(value)) < 1500


def test_an_endless_value_can_be_quoted_too():
    endless = []
    endless.append(endless)
    assert quote(endless)


@pytest.mark.parametrize("value", ["ten", 1.5, True, None, 12, "it's", [1, 2]])
def test_a_small_value_is_quoted_as_it_is_written(value):
    assert quote(value) == repr(value)


def test_names_of_any_length_are_compared_in_no_time():
    assert did_you_mean("x" * 10**6, ["y" * 10**6, "identity"]) == ""
