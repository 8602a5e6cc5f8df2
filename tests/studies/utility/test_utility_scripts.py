"""The TF-IDF classifier on texts without spaces: it learns from their letters, and English is as it was."""

import unicodedata

from tedaudit.studies.utility.classifiers import Lesson, Tfidf, read_by
from world_texts import write_texts


def share_right(texts, labels):
    train, test = slice(0, None, 2), slice(1, None, 2)
    found = Tfidf().predict(Lesson(texts[train], labels[train], texts[test], 0))
    return sum(a == b for a, b in zip(found, labels[test], strict=True)) / len(found)


def test_what_a_chinese_text_is_about_is_learnt():
    texts = write_texts("chinese")
    labels = ["vehicle" if "自行车" in text else "other" for text in texts]
    assert share_right(texts, labels) == 1.0


def test_a_hindi_word_is_learnt_in_either_normal_form():
    texts = [unicodedata.normalize("NFD" if i % 3 else "NFC", t) for i, t in enumerate(write_texts("hindi"))]
    labels = ["today" if "आज" in text else "other" for text in texts]
    assert share_right(texts, labels) == 1.0


def test_how_texts_are_read_determines_results_if_they_are_not_latin():
    assert read_by(write_texts("english")) == {}
    assert read_by(write_texts("thai")) != {}
