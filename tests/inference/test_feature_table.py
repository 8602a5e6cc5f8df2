"""Cosines by look-up are those of the products of vectors, to the last bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.inference import feature_rows, feature_table, word_features
from tedaudit.inference.feature_rows import FeatureSorter
from tedaudit.inference.lexical import LexicalEncoder

POOL = (
    "the cat sat on the mat and the dog sat on the log",
    "the the the the the the the",
    "pay 300 pounds to Anna by 4 May, please!",
    "naïve Zoë — 12 € for crème brûlée",
    "",
    "a",
    "an extraordinarilylongwordthatnobodyeverwrote and another",
    "the cat sat on the mat",
)
TEXTS = (*POOL, "   ", "zzz qqq", "the cat the cat the cat", "Please pay the dog 300", "x" * 40, "on the log")
WORDS = st.sampled_from(("the", "cat", "sat", "a", "mat,", "dog!", "Ünder", "1234567", "\t", "zz-top"))


def multiply(encoder, texts, pool, partners):
    """Return the cosines by products of sparse rows."""
    left, right = encoder.encode(texts), encoder.encode(pool)
    columns = [left.multiply(right[column]).sum(axis=1) for column in partners.T]
    return np.stack([np.asarray(column).ravel() for column in columns], axis=1)


def pair_all(texts, pool):
    return np.tile(np.arange(len(pool)), (len(texts), 1))


@pytest.fixture(params=[18, 14, 12])
def encoder(request):
    made = LexicalEncoder(request.param)  # with few columns, buckets are crowded
    made.fit(POOL)
    return made


def test_cosines_are_those_of_the_vectors_bit_for_bit(encoder):
    partners = pair_all(TEXTS, POOL)
    table = encoder.tabulate(POOL)
    assert np.array_equal(encoder.compare(TEXTS, table, partners), multiply(encoder, TEXTS, POOL, partners))


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.lists(WORDS, max_size=12).map(" ".join), min_size=1, max_size=8),
    pool=st.lists(st.lists(WORDS, max_size=30).map(" ".join), min_size=1, max_size=5),
)
def test_cosines_are_those_of_the_vectors_for_any_texts(texts, pool):
    encoder = LexicalEncoder(12)
    encoder.fit(pool)
    table, partners = encoder.tabulate(pool), pair_all(texts, pool)
    assert np.array_equal(encoder.compare(texts, table, partners), multiply(encoder, texts, pool, partners))


def test_a_text_has_the_same_cosines_alone_and_among_others(encoder):
    table, partners = encoder.tabulate(POOL), pair_all(TEXTS, POOL)
    together = encoder.compare(TEXTS, table, partners)
    alone = [encoder.compare([text], table, partners[:1])[0] for text in TEXTS]
    assert np.array_equal(together, np.stack(alone))


def test_cosines_survive_that_words_are_forgotten_and_texts_come_in_parts(encoder, monkeypatch):
    table, partners = encoder.tabulate(POOL), pair_all(TEXTS, POOL)
    expected = multiply(encoder, TEXTS, POOL, partners)
    monkeypatch.setattr(word_features, "_PIECES", 3)
    monkeypatch.setattr(feature_rows, "_TEXTS", 2)
    for _ in range(2):
        assert np.array_equal(encoder.compare(TEXTS, table, partners), expected)


def test_weights_of_another_pool_are_used_after_another_fit(encoder):
    encoder.compare(TEXTS, encoder.tabulate(POOL), pair_all(TEXTS, POOL))
    other = ("the mat", "the dog", "cats and dogs", "the the")
    encoder.fit(other)
    partners = pair_all(TEXTS, other)
    found = encoder.compare(TEXTS, encoder.tabulate(other), partners)
    assert np.array_equal(found, multiply(encoder, TEXTS, other, partners))


def test_crowded_buckets_and_features_that_occur_often_are_listed_apart():
    encoder = LexicalEncoder(12)
    pool = [" ".join(f"word{i}" for i in range(60)), "echo " * 300]
    encoder.fit(pool)
    table = encoder.tabulate(pool)
    assert table._columns.shape[1] > 0
    assert table._columns.shape[0] > 1
    texts = ["echo word7", *pool]
    partners = pair_all(texts, pool)
    assert np.array_equal(encoder.compare(texts, table, partners), multiply(encoder, texts, pool, partners))


def test_no_table_is_made_of_rows_that_it_cannot_hold(encoder, monkeypatch):
    crowded = [" ".join(f"{i}x{i}" for i in range(4000))]
    assert LexicalEncoder(14).tabulate(crowded) is None
    monkeypatch.setattr(feature_table, "_CELLS", 1)
    assert encoder.tabulate(POOL) is None


def test_weights_whose_numbers_do_not_fit_beside_a_column_are_refused():
    encoder = LexicalEncoder(18)
    many = np.linspace(1, 2, (1 << 14) + 1)
    codes = np.zeros(encoder.size, dtype=np.uint16)
    assert FeatureSorter(word_features.WordFeatures(encoder.size), many[:-1], codes).fits
    assert not FeatureSorter(word_features.WordFeatures(encoder.size), many, codes).fits
