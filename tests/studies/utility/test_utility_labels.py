"""Which texts and labels a study takes, and what it says where it cannot."""

import pytest

from tedaudit.corpora.files import Given
from tedaudit.errors import CorpusError, SpecError
from tedaudit.plugins.values import Corpus, Split
from tedaudit.studies.utility.labels import take_labels
from tedaudit.studies.utility.settings import parse_utility
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.telling import tell
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


# --- A column from which nothing can be learnt: it is told, and the others are studied.

FEW = 60


def columns_of(**columns):
    """Return a corpus with a split to test on, of which a third are labelled as the columns say."""
    texts = [f"text {n} about {'rain' if n % 2 else 'sun'}" for n in range(FEW)]
    sides = {"train": range(FEW)[: FEW * 2 // 3], "test": range(FEW)[FEW * 2 // 3 :]}
    return Corpus("small", {
        side: Split(tuple(texts[n] for n in rows), {
            name: tuple(values[n] for n in rows) for name, values in columns.items()
        })
        for side, rows in sides.items()
    })  # fmt: skip


GOOD = {"mood": ["good", "bad"] * (FEW // 2), "gender": ["f", "f", "m"] * (FEW // 3)}
LEARNT = range(FEW * 2 // 3)
IMPOSSIBLE = {
    "one": (["a"] * FEW, "only one class"),
    "rare": (["a" if n in LEARNT else "ab"[n % 2] for n in range(FEW)], "'b' (10)"),
    "distinct": ([f"v{n}" for n in range(FEW)], "does not look like a label"),
    "empty": ([""] * FEW, "has no label"),
    "unlabelled test": (["ab"[n % 2] if n in LEARNT else None for n in range(FEW)], "has no label"),
    "beside": (["ab"[n % 2] if n < 2 or n > 50 else "" for n in range(FEW)], "does not look like a label"),
}


def study_of(columns, out, **changes):
    given = {"name": "given", "live": Given(columns_of(**columns))}
    return run_study(make_study(out, corpus=given, mechanisms=["word-rr"], private_records=20, **changes))


@pytest.mark.parametrize("role", ["tasks", "private"])
@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_a_column_from_which_nothing_can_be_learnt_loses_nothing_of_the_others(kind, role, tmp_path):
    values, told = IMPOSSIBLE[kind]
    roles = {"tasks": ["mood"], "private": ["gender"]}
    alone = study_of(GOOD, tmp_path / "alone", **roles)
    found = study_of({kind: values, **GOOD}, tmp_path / "s", **{**roles, role: [kind, *roles[role]]})
    assert (found.measured, found.tasks) == (alone.measured, alone.tasks)
    [sentence] = [s for s in tell(found)[0].sentences if f"'{kind}'" in s]
    assert told in sentence
    assert [one["column"] for one in found.to_dict()["not_learnt"]] == [kind]
    untested = [name for name, verdict in found.judge_limit(5).items() if verdict.name == "not tested"]
    assert untested == ([f"'{kind}'"] if role == "private" else [])


def test_columns_that_no_text_has_together_are_not_learnt_together(tmp_path):
    """Whatever was named first is kept, with all its texts."""
    halves = [("ab"[n % 2], None) if n % 4 < 2 else (None, "cd"[n % 2]) for n in range(FEW)]
    first, second = (list(values) for values in zip(*halves, strict=True))
    found = take_labels(columns_of(first=first, second=second), make_study("x", tasks=["first", "second"]))
    assert (list(found.labels), len(found.train)) == (["first"], len(LEARNT) // 2)
    assert "folder of its own" in str(found.not_learnt[0])


def test_a_study_in_which_nothing_can_be_learnt_is_an_error_that_names_every_column(tmp_path):
    columns = {kind: values for kind, (values, _) in IMPOSSIBLE.items()}
    with pytest.raises(CorpusError) as refused:
        study_of(columns, tmp_path / "s", tasks=list(columns))
    assert all(f"'{kind}'" in str(refused.value) for kind in columns)
    assert "Name other columns" in str(refused.value)
    assert not (tmp_path / "s").exists()


def test_a_class_that_nobody_could_learn_is_named_with_its_number(tmp_path):
    mood = ["good" if n % 2 else "bad" if n in LEARNT or n % 4 else "grim" for n in range(FEW)]
    found = study_of({**GOOD, "mood": mood}, tmp_path / "s", tasks=["mood"], private=["gender"])
    [sentence] = [s for s in tell(found)[0].sentences if "'grim' (5)" in s]
    assert "'mood'" in sentence
