"""The error of a test set: checked against scikit-learn on every test set that can be drawn."""

import math
import statistics
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tedaudit.studies.utility.classifiers import macro_f1
from tedaudit.studies.utility.results import Scores, compare_scores
from tedaudit.studies.utility.study import redraw_tests, resample_f1

TRUTH, PREDICTED = ("a", "b", "a", "c"), ("a", "a", "b", "c")


def all_draws(size):
    """Return every test set that can be drawn, as numbers of texts."""
    drawn = list(product(range(size), repeat=size))
    return drawn, np.array([np.bincount(texts, minlength=size) for texts in drawn])


def test_a_redrawn_score_is_that_of_the_redrawn_texts():
    from sklearn.metrics import f1_score

    drawn, weights = all_draws(len(TRUTH))
    scores = resample_f1(TRUTH, PREDICTED, weights)
    for texts, score in zip(drawn, scores, strict=True):
        truth, named = [TRUTH[i] for i in texts], [PREDICTED[i] for i in texts]
        expected = f1_score(truth, named, labels=["a", "b", "c"], average="macro", zero_division=0)
        assert score == pytest.approx(expected, abs=1e-12)


def test_every_text_once_is_the_score_itself():
    assert resample_f1(TRUTH, PREDICTED, np.ones((1, 4), dtype=int))[0] == macro_f1(TRUTH, PREDICTED)


def test_redrawn_sets_are_as_large_and_have_the_error_of_all_draws():
    weights = redraw_tests(4, seed=5, draws=40_000)
    assert (weights.sum(axis=1) == 4).all()
    exact = resample_f1(TRUTH, PREDICTED, all_draws(4)[1]).std()
    assert resample_f1(TRUTH, PREDICTED, weights).std() == pytest.approx(exact, rel=0.03)


def test_the_same_seed_draws_the_same_sets():
    assert (redraw_tests(9, seed=1) == redraw_tests(9, seed=1)).all()
    assert (redraw_tests(9, seed=1) != redraw_tests(9, seed=2)).any()


def test_a_difference_within_the_error_is_not_told():
    first = Scores((0.50, 0.52), (0.49, 0.51, 0.53, 0.45))
    slightly = Scores((0.51, 0.53), (0.53, 0.51, 0.49, 0.55))
    assert compare_scores(first, slightly).told == "no change shown"
    much = Scores((0.8, 0.82), tuple(value + 0.3 for value in first.redrawn))
    assert compare_scores(first, much).told == "rises"
    assert compare_scores(much, first).told == "falls"


def test_texts_that_are_hard_for_both_cancel_in_a_difference():
    first = Scores((0.5, 0.5), (0.4, 0.5, 0.6))
    second = Scores((0.52, 0.52), (0.42, 0.52, 0.62))
    assert compare_scores(first, second).error == pytest.approx(0.0, abs=1e-12)
    assert first.test_error == pytest.approx(0.1)


def test_without_predictions_there_is_no_error_and_no_difference():
    old = Scores((0.5, 0.6))
    assert old.test_error is None
    assert compare_scores(old, Scores((0.7, 0.8), (0.7, 0.8))) is None


def test_the_error_of_a_mean_falls_with_the_root_of_the_seeds_and_joins_that_of_the_test_texts():
    four = Scores((0.6, 0.8, 0.6, 0.8))
    assert four.error == pytest.approx(statistics.stdev((0.6, 0.8, 0.6, 0.8)) / 2)
    redrawn = replace(four, redrawn=(0.1, 0.2, 0.3))
    assert redrawn.error == pytest.approx(math.hypot(four.error, 0.1))
