"""The exceptions a user can act on, and the pieces their messages are made of."""

import inspect

import pytest

from tedaudit import errors
from tedaudit.errors import SpecError, TedauditError, did_you_mean, join_names


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
