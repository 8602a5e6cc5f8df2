"""What the values that pass between the stages refuse, and how they count."""

import dataclasses
import math
import pickle

import numpy as np
import pytest

from tedaudit.errors import SpecError
from tedaudit.plugins.values import (
    Card,
    Claim,
    Corpus,
    Draw,
    Guess,
    Observation,
    Plan,
    Rewrite,
    Split,
    fold_text,
)


@pytest.mark.parametrize(
    ("claim", "total", "total_delta"),
    [
        (Claim(2.0, "document"), 2.0, 0.0),
        (Claim(2.0, "word", max_units=16), 32.0, 0.0),
        (Claim(0.0, "document"), 0.0, 0.0),
        (Claim(2.0, "token", max_units=None), math.inf, 0.0),
        (Claim(0.0, "token", max_units=None), 0.0, 0.0),
        (Claim(1.0, "sentence", delta=1e-5), 1.0, 1e-5),
        (Claim(1.0, "sentence", delta=1e-5, max_units=20), 20.0, 2e-4),
        (Claim(1.0, "sentence", delta=0.3, max_units=20), 20.0, 1.0),
        (Claim(1.0, "sentence", delta=1e-5, max_units=None), math.inf, 1.0),
        (Claim(math.inf, "document"), math.inf, 0.0),
    ],
)
def test_a_whole_release_costs_units_times_epsilon_and_delta(claim, total, total_delta):
    assert claim.total == total
    assert claim.total_delta == pytest.approx(total_delta, rel=1e-15)


@pytest.mark.parametrize(
    ("claim", "shown"),
    [
        (Claim(2.0, "document"), "2 per document"),
        (Claim(0.5, "word", max_units=16), "0.5 per word x 16 = 8"),
        (Claim(2.0, "token", max_units=None), "2 per token unbounded"),
        (Claim(1.0, "sentence", delta=1e-5), "1 per sentence, delta 1e-05"),
        (Claim(1.0, "triple", delta=1e-5, max_units=2), "1 per triple x 2 = 2, delta 2e-05"),
    ],
)
def test_epsilon_is_never_shown_without_its_unit_and_delta(claim, shown):
    assert str(claim) == shown


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"epsilon": -1.0}, "epsilon is -1.0; it must be 0 or larger"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"delta": -1e-9}, "delta is -1e-09"),
        ({"delta": 1.0}, "delta is 1.0; it must be at least 0 and below 1"),
        ({"delta": math.nan}, "delta is nan"),
        ({"unit": "page"}, "unit is 'page'; it is one of: document, sentence, token, triple, word"),
        ({"max_units": 0}, "max_units is 0; it must be 1 to 10^15, or None"),
        ({"max_units": -3}, "max_units is -3"),
        ({"max_units": 10**400}, "max_units is too large"),
    ],
)
def test_a_claim_that_means_nothing_is_refused(fields, message):
    with pytest.raises(SpecError) as caught:
        Claim(**{"epsilon": 1.0, "unit": "document", **fields})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "neighbours",
    [
        "words at a metric",
        "texts, scaled by their distance",
        "Metric DP",
        "any two words, Distance-scaled",
        "d is a metric",
    ],
)
def test_a_metric_guarantee_is_refused_with_the_way_out(neighbours):
    with pytest.raises(SpecError) as caught:
        Claim(1.0, "word", neighbours=neighbours)
    message = str(caught.value)
    assert neighbours in message
    assert "can neither support nor refute it" in message
    assert "without a claim" in message


def test_symmetric_neighbours_are_no_metric():
    assert Claim(1.0, "document", neighbours="texts that differ by a symmetric relation").total == 1.0


def test_folded_texts_are_the_same_for_the_same_reader():
    assert fold_text("  a\tb \n c\u00a0d ") == "a b c d"
    assert fold_text("cafe\u0301") == fold_text("caf\u00e9") == "caf\u00e9"
    assert fold_text("A b") != fold_text("a b")
    assert fold_text(" \u2003\n") == ""
    assert fold_text(fold_text("x  y")) == fold_text("x  y")


def _plan(candidates=((4, 1, 7), (2, 0, 9), (7, 3, 5), (0, 8, 1)), secret=(2, 0, 1, 1)):
    rows = None if candidates is None else np.array(candidates, dtype=np.int32)
    return Plan(rows, np.array(secret, dtype=np.int32), np.arange(len(secret), dtype=np.int32))


def test_the_source_of_a_row_is_the_candidate_that_the_secret_points_to():
    assert _plan().source.tolist() == [7, 2, 3, 8]
    assert _plan().source.dtype == np.int32
    assert len(_plan()) == 4


def test_the_sources_of_a_plan_are_gathered_once():
    plan = _plan()
    assert plan.source is plan.source


def test_where_everybody_stands_in_line_the_secret_is_the_source():
    plan = _plan(candidates=None, secret=(5, 0, 5))
    assert plan.source.tolist() == [5, 0, 5]
    assert plan.rows(1, 3).source.tolist() == [0, 5]
    assert plan.rows(1, 3).candidates is None


def test_rows_of_a_plan_are_a_plan():
    some = _plan().rows(1, 3)
    assert some.candidates.tolist() == [[2, 0, 9], [7, 3, 5]]
    assert some.secret.tolist() == [0, 1]
    assert some.replicate.tolist() == [1, 2]
    assert some.source.tolist() == [2, 3]
    assert len(_plan().rows(2, 99)) == 2


def test_what_passes_between_stages_cannot_be_changed():
    values = [Draw("a", 1.0, 2), Rewrite("a"), Observation(Rewrite("a"), ("a", "b"), 0), Guess(np.zeros(2)),
              Claim(1.0, "word"), Card("a", "b"), Split(("a",)), _plan()]  # fmt: skip
    for value in values:
        first = dataclasses.fields(value)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, first, None)
        with pytest.raises((AttributeError, TypeError)):
            value.another = 1


def test_an_observation_has_no_place_for_a_secret_or_a_draw_key():
    assert {field.name for field in dataclasses.fields(Observation)} == {"output", "candidates", "tie_key"}
    assert not hasattr(Observation(Rewrite("a"), ("a", "b"), 0), "__dict__")


def test_a_corpus_is_known_by_its_training_texts_in_order():
    def corpus(train, **others):
        return Corpus("c", {"train": Split(tuple(train)), **others})

    assert corpus(["a", "b"]).texts == ("a", "b")
    prints = [
        corpus(texts).fingerprint
        for texts in (["ab", "c"], ["a", "bc"], ["c", "ab"], ["ab", "c", ""], ["abc"])
    ]
    assert len(set(prints)) == len(prints)
    assert corpus(["ab", "c"], test=Split(("x",))).fingerprint == prints[0]
    assert Corpus("other name", {"train": Split(("ab", "c"))}, notes=("x",)).fingerprint == prints[0]
    assert corpus(["\ud800"]).fingerprint != corpus(["?"]).fingerprint


def test_the_hash_of_a_pool_is_worked_out_once_and_follows_its_texts():
    texts = ("a", "b")
    splits = {"train": Split(texts)}
    corpus, other = Corpus("x", splits), Corpus("x", {"train": Split(("a", "b"))})
    assert corpus.fingerprint == other.fingerprint == corpus.fingerprint
    assert corpus._hashed[0] is texts
    assert corpus == other
    assert "_hashed" not in repr(corpus)
    assert pickle.loads(pickle.dumps(corpus)).fingerprint == corpus.fingerprint
    splits["train"] = Split(("a", "c"))
    assert corpus.fingerprint == Corpus("y", splits).fingerprint != other.fingerprint
