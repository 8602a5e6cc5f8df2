"""Scripts by counting letters, and characters that cannot be seen."""

import unicodedata
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.text import characters
from tedaudit.text.characters import (
    count_characters,
    format_share,
    is_right_to_left,
    kind_of_hidden,
    measure_scripts,
    script_of,
)
from world_texts import LANGUAGES, write_texts

SCRIPTS = {
    "chinese": "Han", "thai": "Thai", "arabic": "Arabic", "hebrew": "Hebrew", "hindi": "Devanagari",
    "korean": "Hangul", "russian": "Cyrillic", "english": "Latin",
}  # fmt: skip


@pytest.mark.parametrize(("language", "script"), SCRIPTS.items())
def test_the_letters_of_a_text_are_counted_by_script(language, script):
    shares = measure_scripts(write_texts(language))
    assert list(shares.letters) == [script]
    assert shares.other == (0.0 if script == "Latin" else 1.0)


def test_japanese_has_three_scripts_and_emoji_have_none():
    assert set(measure_scripts(write_texts("japanese")).letters) == {"Hiragana", "Han", "Katakana"}
    assert measure_scripts(write_texts("emoji")).total == 0
    assert measure_scripts(write_texts("emoji")).other == 0.0
    assert measure_scripts([]).beyond_words == 0.0


@pytest.mark.parametrize(
    ("letter", "script"),
    [("a", "Latin"), ("\u00e9", "Latin"), ("\u00aa", "Latin"), ("\uff21", "Latin"), ("\uff71", "Katakana"),
     ("\u30fc", "Katakana"), ("\u3005", "Han"), ("\U00020000", "Han"), ("\u03b1", "Greek"), ("1", ""),
     ("\u0301", ""), ("\U0001f600", ""), ("\ud800", "")],
)  # fmt: skip
def test_a_letter_has_a_script_and_nothing_else_has(letter, script):
    assert script_of(letter) == script


def test_marks_are_no_letters_and_those_of_emoji_no_marks():
    assert measure_scripts(["e\u0301"]).marks == 1
    assert measure_scripts(["\u2764\ufe0f 1\ufe0f\u20e3"]).marks == 0


def test_a_share_is_all_or_nothing_only_if_it_is():
    assert [format_share(x) for x in (0.0, 0.001, 0.5, 0.999, 1.0)] == [
        "0%", "below 1%", "50%", "above 99%", "100%",
    ]  # fmt: skip


@given(st.lists(st.text(max_size=20), max_size=20), st.integers(1, 30))
def test_characters_are_counted_as_python_counts_them_whatever_is_counted_together(texts, together):
    before, characters._TOGETHER = characters._TOGETHER, together
    try:
        assert count_characters(texts) == Counter("".join(texts))
    finally:
        characters._TOGETHER = before


@pytest.mark.parametrize(
    ("character", "kind"),
    [("\u202e", "bidi"), ("\u2066", "bidi"), ("\u061c", "bidi"), ("\u200d", "joiner"), ("\n", "line"),
     ("\u2028", "line"), ("\x1b", "control"), ("\x00", "control"), ("\u200b", "control"),
     ("\ufeff", "control"),
     ("\u00ad", "control"), ("\t", ""), (" ", ""), ("a", ""), ("\u0301", "")],
)  # fmt: skip
def test_characters_that_cannot_be_seen_have_a_kind(character, kind):
    assert kind_of_hidden(character) == kind


def test_every_character_that_turns_the_order_around_is_known():
    """Unicode gives them bidirectional classes of their own."""
    turning = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
    found = {chr(c) for c in range(0x3000) if unicodedata.bidirectional(chr(c)) in turning}
    assert {c for c in found if kind_of_hidden(c) != "bidi"} == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_arabic_and_hebrew_run_from_right_to_left(language):
    assert is_right_to_left(write_texts(language)[0]) == (language in ("arabic", "hebrew"))
