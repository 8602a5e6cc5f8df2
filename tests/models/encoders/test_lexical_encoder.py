"""Hashed TF-IDF: vectors depend on their own text and on the pool fitted to, and on nothing else."""

import hashlib
import math
import random
import re
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.api import load_corpus
from tedaudit.models.encoders import lexical
from tedaudit.models.encoders.lexical import LexicalEncoder, WordFeatures, cut_grams
from tedaudit.models.encoders.murmur import hash_strings

TEXTS = [*load_corpus("demo").texts[:150], "", "?!", "\U0001f600", "a", "A", "a a a", "long " * 400]
COUNTED = [
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


def same(one, other):
    """Return whether two sparse tables are equal bit for bit, their layout included."""
    return (
        np.array_equal(one.indptr, other.indptr)
        and np.array_equal(one.indices, other.indices)
        and np.array_equal(one.data, other.data)
    )


@pytest.fixture(scope="module")
def encoder():
    fitted = LexicalEncoder()
    fitted.fit(TEXTS)
    return fitted


@pytest.mark.parametrize("size", [1, 7, 512])
def test_vectors_do_not_depend_on_the_batch_in_a_single_bit(encoder, size):
    whole = encoder.encode(TEXTS)
    for start in range(0, len(TEXTS), size):
        assert same(encoder.encode(TEXTS[start : start + size]), whole[start : start + size])


def test_vectors_follow_their_texts_through_any_order_and_repetition(encoder):
    order = random.Random(0).choices(range(len(TEXTS)), k=200)
    assert same(encoder.encode([TEXTS[i] for i in order]), encoder.encode(TEXTS)[order])


def test_vectors_have_length_one_or_are_empty(encoder):
    norms = np.sqrt(encoder.encode(TEXTS).multiply(encoder.encode(TEXTS)).sum(axis=1))
    wordless = [
        not any(character.isalnum() or character in "?!\U0001f600" for character in text) for text in TEXTS
    ]
    assert norms == pytest.approx(np.where(wordless, 0.0, 1.0))
    assert encoder.encode([""]).nnz == 0
    assert encoder.encode([]).shape[0] == 0
    assert encoder.encode(["", ""]).shape[0] == 2


def test_a_word_is_itself_and_its_character_n_grams_with_its_edges():
    assert list(cut_grams("cat")) == ["word:cat", " ca", "cat", "at ", " cat", "cat "]
    assert list(cut_grams("a")) == ["word:a", " a "]


def test_case_does_not_count_but_order_does():
    def cosine(one, other):
        return float((LexicalEncoder().encode([one]) @ LexicalEncoder().encode([other]).T).sum())

    assert cosine("The Cat", "the cat") == pytest.approx(1)
    assert cosine("dog bites man", "man bites dog") < 0.99
    assert cosine("dog bites man", "man bites dog") > cosine("dog bites man", "cat drinks milk")
    assert (
        cosine("walking", "walked") > cosine("walking", "sleeping") > 0
    )  # shared beginnings, shared endings
    assert cosine("one two", "three") == 0


def test_features_are_weighed_by_how_few_texts_have_them():
    pool = ["common rare"] + ["common"] * 9
    fitted = LexicalEncoder()
    fitted.fit(pool)
    row, plain = fitted.encode(["common rare"]), LexicalEncoder().encode(["common rare"])
    common, rare = (fitted.encode([word]).indices for word in ("common", "rare"))
    assert not set(common.tolist()) & set(rare.tolist())
    ratio = row[0, [rare[0]]].toarray().item() / row[0, [common[0]]].toarray().item()
    unweighed = plain[0, [rare[0]]].toarray().item() / plain[0, [common[0]]].toarray().item()
    assert ratio / unweighed == pytest.approx((math.log(11 / 2) + 1) / (math.log(11 / 11) + 1))


def test_words_and_pairs_are_counted_as_often_as_they_stand():
    once, twice = (np.sort(row[row > 0]) for row in LexicalEncoder().encode(["a b", "a a b"]).toarray())
    assert once == pytest.approx(np.full(5, 1 / math.sqrt(5)))  # two features of each word, and the pair
    assert twice == pytest.approx(np.array([1, 1, 1, 1, 2, 2]) / math.sqrt(12))  # b, b, a-a, a-b; a, a


def test_fitting_again_forgets_the_first_pool(encoder):
    again = LexicalEncoder()
    again.fit(["something else altogether"] * 3)
    again.fit(TEXTS)
    assert same(again.encode(TEXTS), encoder.encode(TEXTS))


def test_vectors_are_the_pinned_ones_in_every_process():
    """Python's own string hash changes from process to process; these features must not."""
    code = (
        "import hashlib; from tedaudit.models.encoders.lexical import LexicalEncoder;"
        "rows = LexicalEncoder().encode(['Book a table, please!', 'two words']);"
        "print(hashlib.sha256(rows.indices.astype('<i8').tobytes()).hexdigest()[:16], rows.nnz)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "77"}
    )
    rows = LexicalEncoder().encode(["Book a table, please!", "two words"])
    digest = hashlib.sha256(rows.indices.astype("<i8").tobytes()).hexdigest()[:16]
    assert done.stdout.split() == [digest, str(rows.nnz)]
    assert digest == "fbb54ef66c394d7b"


def test_the_fingerprint_names_the_encoder():
    assert LexicalEncoder().fingerprint() == {"encoder": "lexical-1"}


def count_plainly(text, size):
    """Return the counts of a text's features from their definition."""
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    counts = Counter()
    for word in words:
        signed = hash_strings(list(cut_grams(word))).view(np.int32).astype(np.int64)
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
    assert as_dicts(WordFeatures(size).count(COUNTED)) == [count_plainly(text, size) for text in COUNTED]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.text(
            alphabet="aB\u00e9'.-, \t\x00\x0e\x1c\x85\u03a3\u03c3\u2028\u3000\u0301\u0130_1", max_size=20
        ),
        max_size=5,
    )
)
def test_counts_are_those_of_the_definition_for_any_text(texts):
    assert as_dicts(WordFeatures(1 << 18).count(texts)) == [count_plainly(text, 1 << 18) for text in texts]


def test_columns_are_in_order_distinct_and_of_four_bytes():
    rows = WordFeatures(1 << 18).count(COUNTED)
    assert rows.has_canonical_format
    assert rows.shape == (len(COUNTED), 1 << 18)
    assert rows.indices.dtype == rows.indptr.dtype == np.int32  # eight bytes would be a third more memory


@pytest.mark.parametrize(("name", "most"), [("_LETTERS", 32), ("_WORDS", 1), ("_WORDS", 7), ("_GRAMS", 5)])
def test_texts_are_counted_part_by_part_with_the_pairs_between_the_parts(monkeypatch, name, most):
    whole = WordFeatures(1 << 18).count(COUNTED)
    monkeypatch.setattr(lexical, name, most)
    assert same(WordFeatures(1 << 18).count(COUNTED), whole)


def test_texts_are_gathered_within_bounds_and_a_longer_one_is_alone(monkeypatch):
    monkeypatch.setattr(lexical, "_LETTERS", 10)
    monkeypatch.setattr(lexical, "_TEXTS", 3)
    texts = ["a" * 11, "b" * 5, "c" * 5, "d", "", "", "", "e" * 30]
    assert [list(some) for some in lexical._gather(texts)] == [
        texts[:1],
        texts[1:3],
        texts[3:6],
        texts[6:7],
        texts[7:],
    ]
    assert list(lexical._gather([])) == [[]]


def test_what_is_remembered_is_bounded_and_changes_nothing(monkeypatch):
    features = WordFeatures(1 << 18)
    first = features.count(COUNTED)
    monkeypatch.setattr(lexical, "_PIECES", 10)
    assert (features.count(COUNTED) != first).nnz == 0
    features.count(["one"])
    assert len(features._pieces) == len(features._words) == 1
