import nltk
import pytest

from tedaudit.errors import SpecError
from tedaudit.models.triples.treebank import load_splitter, load_stop_words
from tiny_nltk_data import STOP_WORDS, save_nltk_data

TEXTS = (
    "He met Mr. Jones. Then it rained.",
    'No. 5 is late! He said: "Wait..." and left -- at 5 p.m. in Lisbon.',
    "supp. bread\nThe bread (fresh) can't wait; gonna go?",
    "\u201cOld\u201d bread\u2019s fine\u2026",
    "",
)


@pytest.fixture
def folder(tmp_path):
    return save_nltk_data(tmp_path / "nltk_data")


def test_words_are_those_of_nltk_s_word_tokenize_on_the_same_data(folder, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [str(folder)])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    for text in TEXTS:
        assert load_splitter(str(folder)).split(text) == nltk.word_tokenize(text.replace("\n", " "))
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


def test_sentences_come_before_words(folder):
    words = load_splitter(str(folder)).split("I saw it. He left.")
    assert words == ["I", "saw", "it", ".", "He", "left", "."]


def test_data_that_nltk_would_find_is_found(folder, monkeypatch):
    monkeypatch.setattr(nltk.data, "path", ["", str(folder)])
    load_splitter.cache_clear()
    load_stop_words.cache_clear()
    assert load_splitter().source == load_splitter(str(folder)).source
    assert load_stop_words().words == set(STOP_WORDS)
    assert load_stop_words().source.startswith("nltk, ")
    load_splitter.cache_clear()
    load_stop_words.cache_clear()


def test_without_data_there_is_a_substitute_that_says_so(monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    load_splitter.cache_clear()
    load_stop_words.cache_clear()
    assert load_splitter().split("Dr. Who left. It rained.") == [
        "Dr.", "Who", "left", ".", "It", "rained", ".",
    ]  # fmt: skip
    assert "punkt_tab is not installed" in load_splitter().source
    assert "the" in load_stop_words().words
    assert load_stop_words().source.startswith("scikit-learn, ")
    assert "not installed" in load_stop_words().source
    load_splitter.cache_clear()
    load_stop_words.cache_clear()


def test_a_folder_without_the_data_is_refused(tmp_path):
    with pytest.raises(SpecError, match="has no tokenizers/punkt_tab/english"):
        load_splitter(str(tmp_path))
    with pytest.raises(SpecError, match="the package stopwords is missing"):
        load_stop_words(str(tmp_path))


def test_a_file_of_stop_words_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(SpecError, match="Cannot read"):
        load_stop_words("", str(tmp_path / "none.txt"))
