"""Texts as files and readers have them: no half of a surrogate pair, and no character cut in two."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tedaudit.text.characters import cut_text, has_surrogate, replace_surrogates

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


CLUSTERS = {
    "accents": "e\u0301\u0323",
    "vowel sign": "\u0915\u093f",
    "conjunct": "\u0915\u094d\u0937",
    "variation selector": "\u2764\ufe0f",
    "skin tone": "\U0001f44d\U0001f3fd",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "flag": "\U0001f1eb\U0001f1f7",
    "flag of tags": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycap": "1\ufe0f\u20e3",
    "syllable": "\u1112\u1161\u11ab",
    "line end": "\r\n",
}


@pytest.mark.parametrize("cluster", CLUSTERS.values(), ids=CLUSTERS)
def test_a_text_is_cut_before_what_a_reader_takes_for_one_character(cluster):
    text = f"ab{cluster}{cluster}cd"
    after = len("ab" + cluster)
    for longest in range(2, len(text)):
        whole = [2, after, after + len(cluster), after + len(cluster) + 1]
        assert len(cut_text(text, longest)) == max(end for end in whole if end <= longest)
    assert cut_text(text, len(text)) == text


def test_letters_of_flags_are_cut_in_pairs_from_where_the_flags_begin():
    flags = CLUSTERS["flag"] * 3
    assert [len(cut_text(f"{flags}!", longest)) for longest in range(1, 7)] == [1, 2, 2, 4, 4, 6]
    assert [len(cut_text(f"a{flags}\n", longest)) for longest in range(1, 8)] == [1, 1, 3, 3, 5, 5, 7]


def test_a_heap_of_marks_is_cut_all_the_same():
    assert len(cut_text("ae" + "\u0301" * 1000, 600)) == 600  # and not at the letter, far before
    assert cut_text("e\u0301", 1) == "e"  # something is shown of it
    assert cut_text("abc", 0) == ""


PIECES = [
    *CLUSTERS.values(),
    "a",
    " ",
    "\u0301",
    "\u200d",
    "日",
    "\U0001f600",
    "\U0001f1e6",
    "\u05d0",
    "\n",
    "\ud800",
]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_cut_of_any_pieces_is_where_unicode_allows_one(count):
    for pieces in product(dict.fromkeys(PIECES), repeat=count):
        text = "".join(pieces)
        for longest in range(1, len(text) + 1):
            check_cut(text, longest)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join), st.integers(1, 40))
def test_a_cut_is_where_unicode_allows_one(text, longest):
    check_cut(text, longest)


def check_cut(text, longest):
    regex = pytest.importorskip("regex")
    ends = {0, *(found.end() for found in regex.finditer(r"\X", text))}
    cut = cut_text(text, longest)
    assert text.startswith(cut)
    assert len(cut) <= longest
    assert len(cut) in ends or len(cut) == longest
    if len(cut) not in ends:  # then there was no other place; consonants that are joined are never cut
        places = {end for end in ends if longest - 32 < end < longest and end > 0}
        assert all("\u094d" in text[end - 2 : end] for end in places)
