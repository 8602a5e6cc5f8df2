"""A whole small audit on texts of the world: every script, every character, very short and very long."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.api import audit
from tedaudit.plugins.values import fold_text
from world_texts import LANGUAGES, ODD, write_texts

ATTACKS = ["lexical", "resample", {"name": "trained", "encoder": "lexical", "rewrites": 40}]


def try_all(mechanism, texts, trials=40, **settings):
    result = audit(
        mechanism, texts, attack=ATTACKS, trials=trials, lambda_=0, announce=lambda _: None, **settings
    )
    return {finding.attack: finding for finding in result}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_text_that_is_released_is_named_in_every_script(language):
    found = try_all("identity", write_texts(language)[:60], trials=60)
    assert found["lexical"].bound.correct == 60
    assert found["trained"].bound.correct == 60
    assert found["resample"].bound.correct > 45
    assert all(finding.counts.failed == 0 for finding in found.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_is_named_if_nothing_is_released(language):
    for finding in try_all("constant", write_texts(language)[:60], trials=60).values():
        assert finding.bound.lower == 0.0


def test_word_rr_says_nothing_of_words_that_its_list_does_not_have():
    for finding in try_all("word-rr", write_texts("chinese"), epsilon=50.0).values():
        assert finding.bound.lower == 0.0


def test_very_long_texts_without_a_space_are_read():
    texts = ["x" * 100_000, "字" * 100_000, "กข" * 50_000, "word " * 20_000, "字", "x"]
    found = try_all("identity", texts)
    assert found["lexical"].bound.correct == 40


def test_odd_texts_keep_to_the_contract():
    found = try_all("identity", [text for text in ODD if fold_text(text)])
    assert all(finding.counts.failed == 0 for finding in found.values())


@settings(max_examples=12, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), min_size=2, max_size=12))
def test_any_texts_at_all_can_be_audited(texts):
    distinct = {folded for text in texts if (folded := fold_text(text))}
    if len(distinct) < 2:
        return
    for mechanism, settings_ in (
        ("identity", {}),
        ("word-rr", {"epsilon": 2.0}),
        (str.swapcase, {"epsilon": 1.0}),
    ):
        for finding in try_all(mechanism, texts, trials=8, **settings_).values():
            assert finding.bound.guesses == 8
            assert finding.counts.failed == 0
