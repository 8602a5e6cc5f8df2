"""The index of a pool holds the very numbers of its matrix, and gives the same candidate sets."""

import tracemalloc

import numpy as np
import pytest

from tedaudit.api import load_corpus
from tedaudit.models.encoders import lexical
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.models.encoders.lexical_index import LexicalIndex
from tedaudit.models.encoders.sentence import embed_pool
from tedaudit.trials.candidates import Sampling, candidate_sets
from tedaudit.trials.pool import Pool

TEXTS = (*load_corpus("demo").texts[:300], "", "?!", "a a a", "again " * 300)
SAMPLINGS = [
    *(Sampling(2, temperature=temperature) for temperature in (1e4, -1e4, 25.0, -0.5, float("inf"))),
    *(Sampling(7, temperature=temperature) for temperature in (1e4, -1e4)),
    Sampling(4, "nearest", top=3),
    Sampling(4, "furthest", top=3),
]


@pytest.fixture
def matrix():
    encoder = LexicalEncoder()
    encoder.fit(TEXTS)
    return encoder.encode(TEXTS)


@pytest.fixture(params=[1 << 15, 70])
def index(request, monkeypatch):
    """Return an index of one part, or of several."""
    monkeypatch.setattr(lexical, "_COUNTED", request.param)
    return LexicalIndex(LexicalEncoder(), TEXTS)


def test_rows_and_columns_are_those_of_the_matrix_bit_for_bit(index, matrix):
    positions = np.array([3, 0, 303, 300, 3])
    assert (index.rows(positions) != matrix[positions]).nnz == 0
    features = np.unique(matrix[[1, 301, 303]].indices)
    assert (index.columns(features) != matrix.T.tocsr()[features]).nnz == 0
    assert index.shape == matrix.shape
    assert index.longest == np.diff(matrix.indptr).max()


def test_similarities_are_equal_by_the_definition_and_within_rounding_otherwise(index, matrix):
    plain, indexed = Pool(matrix), Pool(index)
    sets = np.array([[0, 5], [303, 7], [300, 301], [9, 300]], dtype=np.int32)
    assert np.array_equal(indexed.similarity(sets), plain.similarity(sets))
    texts = np.arange(len(TEXTS), dtype=np.int32)
    difference = np.abs(indexed.compare(texts) - plain.similarity(texts[:, None]))
    assert difference.max() <= indexed.error(1) < 1e-11


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_candidate_sets_are_those_of_the_matrix(index, matrix, sampling):
    for key in range(3):
        found = candidate_sets(Pool(index), sampling, range(150), key)
        plain = Pool(matrix)
        plain.is_precise = False  # by the definition alone
        assert np.array_equal(found, candidate_sets(plain, sampling, range(150), key))


def test_the_pool_of_the_lexical_encoder_is_an_index_and_fits_the_encoder():
    encoder, other = LexicalEncoder(), LexicalEncoder()
    assert isinstance(embed_pool(encoder, TEXTS), LexicalIndex)
    other.fit(TEXTS)
    assert np.array_equal(encoder.weights, other.weights)


def test_a_pool_is_counted_once_for_all_encoders(monkeypatch):
    texts = [f"{text} indeed" for text in TEXTS]
    first = LexicalEncoder()
    first.fit(texts)
    monkeypatch.setattr(lexical.WordFeatures, "count", None)  # counting again would fail
    second = LexicalEncoder()
    second.fit(texts)
    assert np.array_equal(first.weights, second.weights)
    with pytest.raises(TypeError):
        second.fit([*texts[1:], texts[0]])  # the name of a pool tells its order too


def test_no_more_than_a_few_pools_are_remembered():
    for number in range(9):
        LexicalEncoder().fit([f"text {number}", "other"])
    assert len(lexical._fitted) <= 4


def test_words_beyond_those_remembered_are_counted_alike(monkeypatch):
    whole = LexicalEncoder().encode(TEXTS)
    monkeypatch.setattr(lexical, "_PIECES", 20)
    monkeypatch.setattr(lexical, "_LETTERS", 30)
    few = LexicalEncoder()
    for start in range(0, len(TEXTS), 50):
        part = few.encode(TEXTS[start : start + 50])
        assert (part != whole[start : start + 50]).nnz == 0


def test_an_index_takes_a_fraction_of_the_matrix_and_its_transpose(monkeypatch):
    monkeypatch.setattr(lexical, "_COUNTED", 1000)
    rng = np.random.default_rng(0)
    words = [f"word{number}" for number in range(500)]
    texts = [" ".join(rng.choice(words, 12)) for _ in range(8000)]
    encoder = LexicalEncoder(bits=12)
    matrix = encoder.encode(texts)
    tracemalloc.start()
    index = LexicalIndex(encoder, texts)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    as_matrix = 2 * (matrix.data.nbytes + matrix.indices.nbytes)
    assert index.shape[0] == 8000
    assert held < 0.4 * as_matrix
    assert peak < as_matrix
