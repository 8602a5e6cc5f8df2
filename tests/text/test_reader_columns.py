"""Which column of a table holds the texts, and what is none."""

import pytest

from tedaudit.errors import CorpusError
from tedaudit.text.readers import choose_column, take_text


def test_the_text_column_can_be_named():
    assert choose_column({"text": ["a"], "reply": ["b"]}, "reply", "table") == ("reply", "")


def test_a_column_that_does_not_exist_is_refused_with_the_one_that_was_meant():
    with pytest.raises(
        CorpusError, match=r"no column 'reviw'. It has: label, review. Did you mean 'review'\?"
    ):
        choose_column({"review": ["a"], "label": ["b"]}, "reviw", "table")


def test_a_usual_name_is_taken_and_noted():
    name, note = choose_column({"label": ["0"], "Sentence": ["a"]}, "", "table")
    assert name == "Sentence"
    assert note == "column 'Sentence' taken as the text (others: label); name one with 'column'"


def test_the_only_column_of_strings_is_taken():
    name, note = choose_column({"stars": [1, 2], "opinion": ["a", None]}, "", "table")
    assert name == "opinion"
    assert "others: stars" in note


def test_a_single_column_needs_no_note():
    assert choose_column({"opinion": ["a"]}, "", "table") == ("opinion", "")


def test_two_columns_of_strings_with_unusual_names_are_not_guessed():
    with pytest.raises(CorpusError, match=r"which column is the text\? It has: column_1, column_2"):
        choose_column({"column_1": ["a"], "column_2": ["b"]}, "", "table")


def test_texts_are_separated_from_labels_and_none_becomes_blank():
    assert take_text({"n": [1, 2], "text": ["a", None]}, "text", "table") == (["a", ""], {"n": [1, 2]})


def test_a_text_that_is_not_a_string_is_named_with_its_row():
    with pytest.raises(CorpusError, match=r"row 2: column 'text' has a value of type int"):
        take_text({"text": ["a", 5]}, "text", "table")
