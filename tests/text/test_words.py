# ruff: noqa: RUF001 - letters of other scripts look like Latin ones
"""Words of any script: marks and joiners belong to them; without spaces, letters are words."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.text.words import count_words, split_words
from world_texts import LANGUAGES, UNSPACED, write_texts

MIXED = st.text(
    st.one_of(
        st.characters(), st.sampled_from("ab1_ .\u6f22\u0e01\u0e47\u0915\u093f\u0301\u200c\u200d\ufe0f\u0645")
    )
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("don't stop", ["don", "t", "stop"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("cafe\u0301 bar", ["cafe\u0301", "bar"]),
        ("می\u200cخواهم بروم", ["می\u200cخواهم", "بروم"]),
        ("東京へ", ["東", "京", "へ"]),
        ("ก็ดี", ["ก็", "ดี"]),
        ("mix漢字mix", ["mix", "漢", "字", "mix"]),
        ("\u0301a", ["a"]),
        ("a\u200d", ["a"]),
        ("", []),
    ],
)
def test_words_are_whole(text, words):
    assert split_words(text) == words


@given(st.text(st.characters(max_codepoint=127)))
def test_words_of_ascii_are_runs_of_word_characters(text):
    assert split_words(text) == re.findall(r"\w+", text)


def test_every_combining_mark_belongs_to_the_letter_before_it():
    marks = [c for c in map(chr, range(0x110000)) if unicodedata.category(c).startswith("M")]
    assert len(marks) > 2000
    assert [mark for mark in marks if split_words(f"a{mark}b") != [f"a{mark}b"]] == []


@settings(max_examples=400)
@given(MIXED)
def test_counting_finds_as_many_words_as_splitting(text):
    assert count_words(text) == len(split_words(text))


@given(MIXED)
def test_no_word_is_made_up_and_no_letter_is_lost(text):
    words = split_words(text)
    assert [c for c in text if re.match(r"\w", c)] == [c for w in words for c in w if re.match(r"\w", c)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_of_languages_with_spaces_stand_between_them(language):
    if language in UNSPACED or language == "english":  # an apostrophe cuts a word
        return
    for text in write_texts(language):
        assert split_words(text) == [word.rstrip(".।") for word in text.split()]
