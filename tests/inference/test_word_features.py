"""Counts of features by sorting: equal to counting every feature of every word and pair one by one."""

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.api import load_corpus
from tedaudit.inference import word_features
from tedaudit.inference.murmur import hash_strings
from tedaudit.inference.word_features import WordFeatures, cut_grams

TEXTS = [
    *load_corpus("demo").texts[:40],
    "",
    " ",
    "?!",
    "a a a",
    "don't",
    "\u039f\u0394\u039f\u03a3 \u03a3",
    "I\u0307 x\u00a0y\x1cz",
    "w" * 300,
]


def count_plainly(text, size):
    """Return the counts of a text's features from their definition."""
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    counts = Counter()
    for word in words:
        signed = hash_strings(cut_grams(word)).view(np.int32).astype(np.int64)
        counts.update((np.abs(signed) % size).tolist())
    codes = [int(code) for code in hash_strings(words)] if words else []
    for one, other in pairwise(codes):
        mixed = (one * 0x9E3779B97F4A7C15 + other) % 2**64
        counts[(mixed ^ (mixed >> 32)) % size] += 1
    return dict(counts)


def as_dicts(rows):
    bounds = pairwise(rows.indptr)
    return [dict(zip(rows.indices[a:b].tolist(), rows.data[a:b].tolist(), strict=True)) for a, b in bounds]


@pytest.mark.parametrize("size", [1 << 4, 1 << 18, 1 << 30])
def test_counts_are_those_of_the_definition(size):
    assert as_dicts(WordFeatures(size).count(TEXTS)) == [count_plainly(text, size) for text in TEXTS]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(alphabet="aB\u00e9'.-, \u03a3\u03c3\u2028\u3000\u0301\u0130_1", max_size=20), max_size=5)
)
def test_counts_are_those_of_the_definition_for_any_text(texts):
    assert as_dicts(WordFeatures(1 << 18).count(texts)) == [count_plainly(text, 1 << 18) for text in texts]


def test_columns_are_in_order_and_distinct():
    rows = WordFeatures(1 << 18).count(TEXTS)
    assert rows.has_canonical_format
    assert rows.shape == (len(TEXTS), 1 << 18)


def test_long_texts_are_counted_part_by_part_with_the_pairs_between_the_parts(monkeypatch):
    whole = WordFeatures(1 << 18).count(TEXTS)
    monkeypatch.setattr(word_features, "_LETTERS", 32)  # two pieces at a time
    parted = WordFeatures(1 << 18).count(TEXTS)
    assert (whole != parted).nnz == 0
    assert np.array_equal(whole.indices, parted.indices)


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch):
    features = WordFeatures(1 << 18)
    first = features.count(TEXTS)
    monkeypatch.setattr(word_features, "_PIECES", 10)
    assert (features.count(TEXTS) != first).nnz == 0
    features.count(["one"])
    assert len(features._numbers) == 1
