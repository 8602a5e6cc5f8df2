"""On which texts attacks practise, and that a run says so."""

import pytest

from helpers import given, make_spec, sentences
from tedaudit.api import load_run, run
from tedaudit.corpora.demo import Demo
from tedaudit.plugins.registry import cards
from tedaudit.plugins.values import Corpus, Split
from tedaudit.results.run_notes import note_practice
from tedaudit.runs.jobs import choose_practice

ATTACKS = [
    {"name": "trained", "encoder": "lexical", "rewrites": 60},
    {"name": "ensemble", "members": ["lexical", "likelihood"], "rewrites": 40},
    "lexical",
]


def _corpus(**splits):
    return Corpus("x", {name: Split(tuple(texts)) for name, texts in splits.items()})


def test_other_texts_are_practised_on_if_there_are_any():
    corpus = Demo().load()
    practice = choose_practice(corpus)
    assert len(practice.texts) >= 50
    assert not set(practice.texts) & set(corpus.texts)
    assert practice.splits == tuple(name for name in corpus.splits if name != "train")


@pytest.mark.parametrize("others", [0, 49])
def test_a_corpus_without_enough_other_texts_is_practised_on_itself(others):
    texts = sentences(149)
    practice = choose_practice(_corpus(train=texts[:100], test=texts[100 : 100 + others]))
    assert (practice.texts, practice.splits) == (tuple(texts[:100]), ())


def test_a_text_that_is_a_candidate_too_is_not_called_another_text():
    texts = sentences(200)
    practice = choose_practice(_corpus(train=texts[:100], valid=texts[:60], test=texts[50:180]))
    assert practice.texts == tuple(texts[100:180])
    assert practice.splits == ("test",)


def test_a_split_that_lends_no_text_is_not_named():
    many = [f"text {number}" for number in range(6_000)]
    practice = choose_practice(_corpus(train=["a", "b"], valid=many, test=["c", "d"]))
    assert (len(practice.texts), practice.splits) == (5_000, ("valid",))


def _told(folder, **changes):
    result = run(make_spec(folder, attacks=ATTACKS, epsilons=[2, 3], **changes))
    assert load_run(folder).notes == result.notes
    notes = [note for note in result.notes if "practised" in note]
    for name in ("report.md", "report.html"):
        report = (folder / name).read_text(encoding="utf-8")
        assert all(note in report for note in notes)
    return notes


def test_practice_on_the_candidates_is_told_in_every_report(tmp_path):
    rest = (
        "of 40 texts of the candidate pool itself, with keys of its own: the corpus has too few other texts"
    )
    assert _told(tmp_path, corpus=given(sentences(40))) == [
        f"ensemble practised on 40 rewrites for each mechanism and epsilon, {rest}",
        f"trained practised on 60 rewrites for each mechanism and epsilon, {rest}",
    ]


def test_practice_on_other_texts_names_their_splits(tmp_path):
    texts = len(choose_practice(Demo(size=40).load()).texts)
    rest = f"of {texts:,} texts that are no candidates (split test)"
    assert _told(tmp_path, corpus={"name": "demo", "size": 40}) == [
        f"ensemble practised on 40 rewrites for each mechanism and epsilon, {rest}",
        f"trained practised on 60 rewrites for each mechanism and epsilon, {rest}",
    ]


def test_of_a_run_that_did_not_record_it_this_is_said():
    [note] = note_practice([{"attack": "trained", "own_rewrites": 60}, {"attack": "lexical"}])
    assert note.startswith("trained practised on 60 rewrites")
    assert note.endswith("of texts that this run has not recorded")


def test_no_card_says_more_of_the_texts_than_is_known():
    for card in cards("attack"):
        assert "other texts" not in f"{card.summary} {' '.join(card.departures)}"
