"""Texts as files hold them: no half of a surrogate pair."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.characters import has_surrogate, replace_surrogates

HALVES = {"a\ud800b": "a?b", "\udc00": "?", "\ud83d\ude00": "??", "日\udfff本": "日?本"}


@pytest.mark.parametrize(("text", "expected"), HALVES.items())
def test_half_a_surrogate_pair_becomes_a_question_mark(text, expected):
    assert has_surrogate(text)
    assert replace_surrogates(text) == expected


@given(st.text(st.characters()))
def test_what_is_returned_is_utf_8_and_as_it_was_if_it_could_be(text):
    replaced = replace_surrogates(text)
    assert replaced.encode("utf-8").decode("utf-8") == replaced
    assert len(replaced) == len(text)
    assert has_surrogate(text) == (replaced != text)
