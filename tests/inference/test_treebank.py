import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize.treebank import TreebankWordDetokenizer

from tedaudit.inference.treebank import join_words, split_words

PIECES = st.sampled_from(
    ["can", "not", "Gim", "me", "gon", "NA", "got", "ta", "lem", "wan", "na", "d", "'ye", "more", "'n", "'t",
     "is", "was", "n't", "'s", "--", "``", "''", '"', "(", ")", "<", "]", "...", ".", ",", ":", ";", "%", "$",
     "#", "?", "!", "@", "&", "*", "_", "flight", "to", "3.88", "\u00e9t\u00e9", "\u201cso\u201d", "\u00a0"]
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=9))
@example(["can", "not"])
@example(["wan", "na", "go"])
@example([" a", "b "])
def test_joining_is_the_detokenizers_whether_rules_apply_or_not(words):
    assert join_words(words) == TreebankWordDetokenizer().detokenize(words)


@pytest.mark.parametrize("letter", [chr(code) for code in range(33, 127)])
def test_no_sign_of_ascii_is_forgotten(letter):
    for words in (
        ["a", letter, "b"],
        ["a", letter],
        [letter, "b"],
        ["a", letter * 2, "b"],
        ["a", f"{letter}b"],
    ):
        assert join_words(words) == TreebankWordDetokenizer().detokenize(words)


def test_marks_are_words_of_their_own():
    assert split_words("Isn't it 5 p.m., Ann?") == ["Is", "n't", "it", "5", "p.m.", ",", "Ann", "?"]
    assert join_words(split_words("a flight to New York, please.")) == "a flight to New York, please."
