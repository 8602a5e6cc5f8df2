"""Planted flaws: each can be built, is repeatable, and differs from its repaired twin."""

import pytest

import tedaudit
from planted.flaw import TRIALS
from planted.flaws import FLAWS
from planted.nulls import NULLS
from planted.scripts import SCRIPTS, write_texts
from tedaudit.plugins.values import Draw

TEXTS = tedaudit.load_corpus("demo", size=300).texts * 2
KINDS = {
    "fixed function", "no noise", "raw characters", "length", "case", "order", "errors", "state",
    "rare leak", "word class", "metadata",
}  # fmt: skip


def rewrite_all(mechanism, epsilon, texts=TEXTS, seeds=range(600)):
    return list(mechanism.rewrite([Draw(t, epsilon, s) for t, s in zip(texts, seeds, strict=True)]))


def test_every_flaw_of_the_list_of_public_releases_is_planted_once():
    assert [flaw.number for flaw in FLAWS if flaw.number] == [str(i) for i in range(1, 23)]


def test_there_are_eighteen_others_or_more_of_every_kind_and_no_name_twice():
    others = [flaw for flaw in FLAWS if not flaw.number]
    assert len(others) >= 18
    assert {flaw.kind for flaw in others} == KINDS
    assert len({flaw.name for flaw in FLAWS}) == len(FLAWS)


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda flaw: flaw.name)
def test_a_planted_flaw_runs_on_the_demo_and_gives_the_same_again_for_the_same_seeds(flaw):
    epsilon = flaw.claim.epsilon
    first, again = (rewrite_all(flaw.mechanism(), epsilon) for _ in range(2))
    assert first == again
    assert 2 * sum(bool(rewrite.error) for rewrite in first) < len(first)
    assert len({rewrite.text for rewrite in first}) > 1


@pytest.mark.parametrize("flaw", [f for f in FLAWS if f.repaired], ids=lambda flaw: flaw.name)
def test_a_repaired_twin_is_another_mechanism_that_keeps_its_output_for_a_seed(flaw):
    epsilon = flaw.claim.epsilon
    twin = rewrite_all(flaw.twin(), epsilon)
    assert twin == rewrite_all(flaw.twin(), epsilon)
    assert twin != rewrite_all(flaw.mechanism(), epsilon)


def test_a_flaw_that_two_thousand_trials_do_not_show_says_how_many_it_needs_and_why():
    for flaw in FLAWS:
        assert flaw.needs == TRIALS or flaw.why
        assert flaw.wrong
        assert not flaw.wrong.endswith(".")


@pytest.mark.parametrize("null", NULLS, ids=lambda null: null.name)
def test_what_a_null_returns_depends_on_the_seed_alone(null):
    def call(text, seed):
        try:
            return null.rewrite(text, seed)
        except (KeyError, ValueError) as error:
            return repr(error)

    assert [call(TEXTS[0], seed) for seed in range(50)] == [call(TEXTS[1], seed) for seed in range(50)]


@pytest.mark.parametrize("script", SCRIPTS)
def test_texts_of_other_scripts_are_distinct_and_as_they_are_meant_to_be(script):
    texts = write_texts(script, 200, seed=3)
    assert len(set(texts)) == 200
    assert texts == write_texts(script, 200, seed=3)
    assert any(" " in text for text in texts) == (script in {"arabic", "hebrew"})
