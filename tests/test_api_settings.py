"""Settings from Python: seeds, corpora in any form, and what is said of wrong ones."""

import doctest
from pathlib import Path

import numpy as np
import pytest

import tedaudit
import tedaudit.api
from tedaudit import (
    Corpus,
    audit,
    load_corpus,
)
from tedaudit.errors import CorpusError, SpecError
from tedaudit.plugins.values import Split

TEXTS = [f"{who} {did} the {what}" for who in ("ann", "bob", "cat", "dan", "eve")
         for did in ("lost", "sold") for what in ("ring", "boat", "lamp")]  # fmt: skip
pytestmark = pytest.mark.usefixtures("elsewhere")


def left(folder):
    return [path for part in ("here", "temporary") for path in (folder / part).iterdir()]


def test_other_settings_of_a_spec_can_be_given():
    result = audit("identity", TEXTS, trials=40, alpha=0.2, delta=0.1, name="mine", attack="lexical")
    assert (result.name, result.alpha) == ("mine", 0.2)
    assert (result.findings[0].teda.error, result.findings[0].bound.delta) == (0.1, 0.1)


def test_the_seed_decides_the_result():
    def counts(seed):
        return [
            f.bound.correct
            for f in audit("word-rr", TEXTS, epsilon=[1, 6, 8], trials=90, seed=seed, attack="lexical")
        ]

    assert counts(3) == counts(3) != counts(4)


def test_progress_is_reported_to_a_function():
    seen = []
    audit("identity", TEXTS, trials=40, progress=lambda *what: seen.append(what), attack="lexical")
    assert seen[-1][1:] == (80, 80)
    assert {what for what, _, _ in seen} >= {"identity: rewriting", "identity: lexical"}


@pytest.mark.parametrize(
    ("corpus", "size"),
    [
        (TEXTS, 30),
        (tuple(TEXTS), 30),
        ((text for text in TEXTS), 30),
        ([*TEXTS, *TEXTS, " "], 30),
        (Corpus("mine", {"train": Split(tuple(TEXTS[:9]))}), 9),
        ({"name": "demo", "size": 12}, 12),
    ],
)
def test_a_corpus_is_a_name_a_corpus_or_any_texts(corpus, size):
    (finding,) = audit("identity", corpus, trials=20, k="all", attack="lexical")
    assert finding.bound.candidates == size


@pytest.mark.parametrize(
    ("corpus", "said"),
    [
        (
            Path("texts.csv"),
            f"not a {type(Path()).__name__}. For a file use {{'name': 'files', 'path': '...'}}",
        ),
        (3, "not a int"),
        (b"texts", "not a bytes"),
        ([3, 4], "it contains a int"),
        (["only one"], "has 1 distinct text to draw"),
        ([], "has 0 distinct texts to draw"),
    ],
)
def test_what_is_no_corpus_is_refused_with_what_is_one(corpus, said):
    with pytest.raises(CorpusError) as caught:
        audit("identity", corpus, attack="lexical")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"epsilons": [1]}, "no setting 'epsilons': give one or several as `epsilon`"),
        ({"attacks": ["lexical"]}, "no setting 'attacks': give one or several as `attack`"),
        ({"mechanisms": ["identity"]}, "no setting 'mechanisms': give one or several as `mechanism`"),
        ({"plans": [{"k": 2}], "k": 3}, "Both `plans` and k were given"),
        ({"trails": 3}, "no setting 'trails'. Did you mean 'trials'?"),
        ({"lambda": 3}, "no setting 'lambda'"),
        ({"epsilon": float("nan")}, "epsilon is nan; it should be a finite number of 0 or more"),
        ({"trials": 0}, "'trials' is 0"),
    ],
)
def test_a_setting_that_is_wrong_or_said_twice_is_refused(settings, said, elsewhere):
    with pytest.raises(SpecError) as caught:
        audit("word-rr", TEXTS, **settings)
    assert said in str(caught.value)
    assert left(elsewhere) == []


def test_numbers_may_come_from_numpy():
    result = audit("word-rr", TEXTS, epsilon=np.array([1.0, 2.0]), trials=np.int64(20), attack="lexical")
    assert [finding.epsilon for finding in result] == [1, 2]


def test_a_corpus_is_loaded_by_name_and_options():
    corpus = load_corpus("demo", size=15)
    assert len(corpus.texts) == 15
    with pytest.raises(SpecError, match=r"'demo' has no parameter 'sice'\. Did you mean 'size'"):
        load_corpus("demo", sice=15)
    with pytest.raises(tedaudit.TedauditError, match="no corpus named 'demoo'"):
        load_corpus("demoo")


def test_what_the_docstrings_show_is_true():
    tried = doctest.testmod(tedaudit.api)
    assert tried.attempted > 0
    assert tried.failed == 0
