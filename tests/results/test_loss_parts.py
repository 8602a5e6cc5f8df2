"""The parts of losses: they add up to the losses, and belong to the words that stood there."""

import numpy as np
import pytest

import tedaudit
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.results.losses import BEYOND, find_parts, read_losses
from tedaudit.runs.guesses import GuessTable
from tedaudit.text.words import classify_pieces

WORDS = ("paris", "7", "the", "walk", "river", "stone")
TEXTS = [f"{first} {second} {third}" for first in WORDS[:3] for second in WORDS[3:] for third in WORDS[:2]]
PIECES = {position: classify_pieces(text.split()) for position, text in enumerate(TEXTS)}


@pytest.fixture(scope="module")
def result():
    mechanism = WordRR(slots=4, vocabulary=WORDS)
    return tedaudit.audit(mechanism, TEXTS, epsilon=[0.01, 5.0], attack="likelihood", trials=400)


def test_terms_add_up_to_the_loss_of_the_source(result):
    for row in read_losses(result):
        parts = find_parts(result, row)
        assert parts.trials == 400
        assert float(parts.steps @ parts.counts) == pytest.approx(row.sample.losses.sum(), rel=1e-4, abs=1e-3)
        assert len(parts.steps) == 4
        assert parts.steps[3] == 0.0  # beyond the end of every text: nothing to tell


def test_spans_double_and_share_the_whole(result):
    parts = find_parts(result, read_losses(result)[1])
    assert [part.name for part in parts.spans] == ["1", "2", "3 to 4"]
    assert sum(part.share for part in parts.spans) == pytest.approx(1.0)
    assert [part.terms for part in parts.spans] == [400, 400, 800]


def test_a_loss_that_is_not_clearly_above_zero_is_not_shared_out(result):
    parts = find_parts(result, read_losses(result)[0])
    assert parts.whole is None
    assert all(part.share is None for part in parts.spans)


def test_terms_belong_to_the_words_of_the_source(result):
    row = read_losses(result)[1]
    parts = find_parts(result, row, PIECES)
    by_name = {part.name: part for part in parts.classes}
    assert by_name[BEYOND].mean == 0.0
    plan = result.run.read_plan(row.finding.plan)
    numbers = sum(TEXTS[source].split().count("7") for source in plan.source.tolist())
    assert by_name["words with digits"].terms == numbers
    assert sum(part.terms for part in parts.classes) == 1600
    assert sum(part.mean * part.terms for part in parts.classes) == pytest.approx(
        row.sample.losses.sum(), rel=1e-4
    )
    assert sum(part.share for part in parts.classes) == pytest.approx(1.0)


def test_a_run_without_terms_has_no_parts(result, monkeypatch):
    monkeypatch.setattr(GuessTable, "read_terms", lambda _: None)
    assert find_parts(result, read_losses(result)[1]) is None


def test_parts_are_plain_data(result):
    told = find_parts(result, read_losses(result)[1], PIECES).to_dict()
    assert np.isfinite(told["steps"]).all()
    assert {part["name"] for part in told["classes"]} >= {"words with digits", BEYOND}
