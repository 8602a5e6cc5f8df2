"""Features of raw texts: what is seen, what is told apart, and what they cost."""

import numpy as np
import pytest

from tedaudit.attacks._own_grams import count_features, find_features, group_of, weight_of


def features(text, share=1.0):
    return set(find_features([text], share)[1].tolist())


def grams(text):
    """Return the features of a text that are no words."""
    return {feature for feature in features(text) if group_of(np.array([feature], dtype=np.uint64))[0] < 2}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Many words", "many words"), ("a b", "a b "), ("a b", " a b"), ("a b", "a  b"), ("ab", "a\u200bb"),
        ("a\tb", "a b"), ("a\u00a0b", "a b"), ("ab", "ba"), ("one two", "two one"), ("e", "\u0435"),
        ("x", ""), ("\ud800", "\udfff"), ("\u05d0\u05d1", "\u05d1\u05d0"),
    ],
)  # fmt: skip
def test_texts_that_differ_in_one_character_have_other_features(text, other):
    assert grams(text) != grams(other)


def test_a_text_has_the_same_features_alone_and_among_thousands():
    texts = [f"text number {number}" for number in range(5000)]
    rows, found = find_features(texts)
    assert set(found[rows == 4321].tolist()) == features(texts[4321])
    assert (np.diff(rows) >= 0).all()
    assert len(found) <= count_features(texts)


def test_a_share_of_the_features_is_the_same_share_in_every_text():
    text, other = "some words that are there " * 3, "other words that are there " * 3
    half, whole = features(text, 0.5), features(text)
    assert 0.3 * len(whole) < len(half) < 0.7 * len(whole)
    assert half & features(other) == half & features(other, 0.5)


def test_a_long_text_costs_no_more_than_its_ends():
    beginning, end = "a" * 20_000, "b" * 20_000
    assert features(beginning + "c" * 1_000_000 + end) == features(beginning + end)


def test_features_know_their_group_and_their_weight():
    _, found = find_features(["one two"])
    groups = group_of(found)
    assert set(groups.tolist()) == {0, 1, 2}
    assert (weight_of(found)[groups == 0] >= 0.5).all()
    assert (weight_of(found)[groups == 1] < 0.5).all()


def test_no_text_has_no_features():
    rows, found = find_features([])
    assert len(rows) == len(found) == 0
