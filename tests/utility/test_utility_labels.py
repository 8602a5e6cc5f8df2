"""Which texts and labels a study takes, and what it says where it cannot."""

import pytest

from tedaudit.errors import CorpusError, SpecError
from tedaudit.types import Corpus, Split
from tedaudit.utility.labels import take_labels
from tedaudit.utility.settings import parse_utility
from tiny_study import make_study


def corpus(train, test, column="mood"):
    texts = [f"text {n}" for n in range(len(train) + len(test))]
    return Corpus("small", {
        "train": Split(tuple(texts[: len(train)]), {column: tuple(train), "id": tuple(range(len(train)))}),
        "test": Split(tuple(texts[len(train) :]), {column: tuple(test), "id": tuple(range(len(test)))}),
    })  # fmt: skip


MOODS = ["good", "bad"] * 10


def taken(found, **changes):
    return take_labels(found, make_study("unused", **{"tasks": ["mood"], **changes}))


def test_a_limit_takes_some_in_order_and_a_larger_one_adds_to_them():
    few, more = (taken(corpus(MOODS, MOODS[:4]), limit=limit).positions for limit in (8, 12))
    assert len(few) == 8
    assert set(few) < set(more)
    assert list(more) == sorted(more)
    assert few != tuple(range(8))


def test_texts_without_a_label_are_left_out_and_counted():
    found = taken(corpus(["good", None, "bad", "", float("nan"), "good", "bad"], ["bad", None]))
    assert found.train == ("text 0", "text 2", "text 5", "text 6")
    assert found.labels["mood"].test == ("bad",)
    assert found.notes == (
        "train: 3 of 7 texts lack a label and are left out",
        "test: 1 of 2 texts lack a label and are left out",
    )


def test_labels_may_be_numbers():
    assert taken(corpus([1, 0] * 5, [0, 1])).labels["mood"].classes == ["0", "1"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"tasks": []}, "Name what to learn"),
        ({"tasks": ["mod"]}, "has no column 'mod'. Did you mean 'mood'? It has: id, mood."),
        ({"test_split": "valid"}, "no split 'valid' to test on; it has: test, train"),
        ({"test_split": "train"}, "Name one other than train"),
    ],
)
def test_wrong_use_is_reported(changes, told):
    with pytest.raises(SpecError) as caught:
        taken(corpus(MOODS, MOODS), **changes)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("train", "task", "told"),
    [
        (["good"] * 6, "mood", "only one class among the 6 training texts used ('good')"),
        (MOODS, "id", "20 classes among 20 training texts"),
        ([None] * 6, "mood", "No text in split 'train'"),
    ],
)
def test_a_column_that_is_not_a_label_is_refused(train, task, told):
    with pytest.raises(CorpusError) as caught:
        taken(corpus(train, MOODS), tasks=[task])
    assert told in str(caught.value)


def test_a_column_cannot_be_both_task_and_private():
    with pytest.raises(SpecError, match="Duplicate column in `tasks` and `private`: topic"):
        make_study("unused", private=["topic"])


def test_an_unknown_setting_is_refused():
    with pytest.raises(SpecError, match=r"There is no setting 'clasifier'. Did you mean 'classifier'"):
        make_study("unused", clasifier="tfidf")


def test_the_classifier_is_the_zoos_if_the_zoo_is_installed(monkeypatch):
    bare = {"mechanisms": "identity", "tasks": "topic"}
    assert parse_utility(bare).classifier == "tfidf"  # the zoo is switched off for the tests
    pytest.importorskip("tedaudit_zoo")
    monkeypatch.delenv("TEDAUDIT_ZOO")
    assert parse_utility(bare).classifier == "zoo:mlm"
