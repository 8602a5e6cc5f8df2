from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.tokenize import TreebankWordTokenizer
from nltk.tokenize.treebank import TreebankWordDetokenizer

from tedaudit.models.triples.treebank import join_words, split_words

DETOKENIZER = TreebankWordDetokenizer()
PIECES = st.sampled_from(
    ["can", "not", "Gim", "me", "gon", "NA", "got", "ta", "lem", "wan", "na", "d", "'ye", "more", "'n", "'t",
     "is", "was", "n't", "'s", "--", "``", "''", '"', "(", ")", "<", "]", "...", ".", ",", ":", ";", "%", "$",
     "#", "?", "!", "@", "&", "*", "_", "flight", "to", "3.88", "\u00e9t\u00e9", "\u201cso\u201d", "\u00a0"]
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=9))
@example([" a", "b "])
def test_joining_is_the_detokenizers_whether_rules_apply_or_not(words):
    assert join_words(words) == DETOKENIZER.detokenize(words)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=9).map(" ".join))
def test_splitting_is_the_tokenizers(text):
    assert split_words(text) == TreebankWordTokenizer().tokenize(text)


PLAIN = st.text(st.sampled_from("abnotgimewNTA07 \t\n\r\x0b\x0c"), max_size=12)
CUT = st.sampled_from(["cannot", "Gimme", "gonna", "GOTTA", "lemme", "wanna", "xcannot", "cannot7"])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(PLAIN, CUT), max_size=6).map(" ".join))
@example("cannot")
@example("")
def test_splitting_a_text_without_marks_is_the_tokenizers(text):
    assert split_words(text) == TreebankWordTokenizer().tokenize(text)


NASTY = [
    "can", "CAN", "x-can", "can-x", "not", "not.", "gim", "me", "lem", "wan", "na", "NA", "got", "ta", "d",
    "'ye", "more", "no-more", "'n", "'t", "is", "is-land", "was", "'tis", "n't", "N'T", "N't", "o'n't", "'s",
    "'S", "'ll", "'re", "'VE", "'", "''", "'''", "``", "`", '"', "--", "-", "---", "a--b", "(", ")", "[", "]",
    "{", "}", "<", ">", ".", "..", "...", "....", ",", ":", ";", "%", "#", "$", "?", "!", "?!", "&", "@", "*",
    "_", "a_b", "", " ", "  ", "\u00a0", "\u2003", "\u2028", "\t", "\n", "\x1c", " a", "b ", "a b", "can not",
    "x", "home", "3.88", "p.m.", "p.m", "5:30", "e-mail", "o'clock", "R&B", "a/b", "a''b", "a``b",
    "\u00e9t\u00e9", "\u0131s", "\u017f", "wa\u017f", "\u212a", "I\u0307s", "\u4e2d\u6587", "\u201cso\u201d",
    "\U0001f600", "\ud800", "\u0301", "-LRB-", "#1", "$5", "5%", "1,000", "x.", ".x", ",x", "x,",
]  # fmt: skip


@settings(max_examples=1500, deadline=None)
@given(st.lists(st.sampled_from(NASTY), max_size=14))
def test_joining_is_the_detokenizers_for_nasty_words(words):
    """Quotes, contractions, brackets, empty words and spaces of all kinds, beside words that part them."""
    assert join_words(words) == DETOKENIZER.detokenize(words)


def test_joining_is_the_detokenizers_for_pairs_of_nasty_words():
    for place, first in enumerate(NASTY):
        for second in NASTY[place % 4 :: 4]:
            for words in ([first, second], ["x", first, second, "y"], [first, "x", second]):
                assert join_words(words) == DETOKENIZER.detokenize(words), words


def test_no_sign_of_ascii_is_forgotten():
    for sign in map(chr, range(33, 127)):
        for words in (["a", sign, "b"], ["a", sign], [sign, "b"], ["a", sign * 2, "b"], ["a", f"{sign}b"]):
            assert join_words(words) == DETOKENIZER.detokenize(words), words


def test_no_word_that_is_split_into_two_is_forgotten():
    for joined in ("cannot", "gimme", "gonna", "gotta", "lemme", "wanna"):
        for word in (joined, joined.upper(), joined.title()):
            assert len(split_words(word)) == 2, word
            assert join_words(split_words(word)) == word
            assert join_words(["I", *split_words(word), "go"]) == f"I {word} go"


def test_marks_are_words_of_their_own():
    assert split_words("Isn't it 5 p.m., Ann?") == ["Is", "n't", "it", "5", "p.m.", ",", "Ann", "?"]


def test_quotes_are_told_apart_and_come_back():
    words = ["She", "said", "``", "no", "''", "."]
    assert split_words('She said "no".') == words
    assert join_words(words) == 'She said "no".'


def test_marks_return_to_the_words_they_belong_to():
    text = "a flight to New York (one way, please)."
    assert join_words(split_words(text)) == text


def test_words_without_marks_are_joined_by_spaces_alone():
    assert join_words(["a", "flight", "", "home"]) == "a flight  home"
    assert join_words(["", "home", ""]) == "home"


def test_nothing_is_split_and_joined_to_nothing():
    assert split_words("") == []
    assert join_words([]) == ""
