"""Candidate sets of real texts, of texts that are used once, and how much is compared for them."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array

from tedaudit.api import load_corpus
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.trials.candidates import (
    Pool,
    Sampling,
    candidate_sets,
    concentration,
    disjoint_sets,
)
from vector_examples import KEY, signs, unit

STRATEGIES = [
    Sampling(3, "nearest", top=2),
    Sampling(3, "furthest", top=2),
    Sampling(3),
    Sampling(3, temperature=0),
]


@pytest.fixture(scope="module")
def real():
    texts = load_corpus("demo").texts[:800]
    encoder = LexicalEncoder(bits=12)
    encoder.fit(texts)
    return encoder.encode(texts)


@pytest.mark.parametrize("sampling", [*STRATEGIES, Sampling(3, temperature=1e4)], ids=str)
def test_sparse_and_dense_vectors_give_the_same_sets(real, sampling):
    few = csr_array(real)[:300]
    some = candidate_sets(Pool(few), sampling, range(200), KEY)
    assert (some == candidate_sets(Pool(few.toarray()), sampling, range(200), KEY)).all()


@pytest.mark.parametrize(("temperature", "sign"), [(1e4, 1.0), (-1e4, -1.0)])
def test_a_lambda_of_ten_thousand_agrees_with_the_nearest_and_the_furthest(real, temperature, sign):
    pool = Pool(real)
    sets = candidate_sets(pool, Sampling(2, temperature=temperature), range(800), KEY)
    likeness = sign * pool.similarity(np.arange(800, dtype=np.int32)[:, None])
    np.fill_diagonal(likeness, -np.inf)
    ordered = -np.sort(-likeness, axis=1)
    chosen = likeness[sets[:, 0], sets[:, 1]]
    agreement = {top: float(np.mean(chosen >= ordered[sets[:, 0], top - 1] - 1e-12)) for top in (1, 10)}
    assert agreement[1] > 0.95
    assert agreement[10] > 0.99
    mild = candidate_sets(pool, Sampling(2, temperature=temperature / 1e4), range(800), KEY)
    assert np.mean(likeness[mild[:, 0], mild[:, 1]] >= ordered[mild[:, 0], 9] - 1e-12) < 0.6


@pytest.mark.parametrize("sampling", [*STRATEGIES[:3], Sampling(2), Sampling(4, temperature=50.0)], ids=str)
@pytest.mark.parametrize("left_out", [0, 1, 2, 7, 37, 40])
def test_disjoint_sets_share_no_text_use_usable_ones_only_and_are_as_many_as_possible(sampling, left_out):
    usable = np.ones(40, dtype=bool)
    usable[np.random.default_rng(left_out).choice(40, left_out, replace=False)] = False
    sets = disjoint_sets(Pool(signs(40)), sampling, usable, KEY)
    used = sets.ravel().tolist()
    assert sets.shape == ((40 - left_out) // sampling.k, sampling.k)
    assert len(set(used)) == len(used)
    assert usable[used].all()


def test_disjoint_sets_need_no_vectors_where_distances_play_no_part():
    sets = disjoint_sets(31, Sampling(3, temperature=0.0), np.ones(31, dtype=bool), KEY)
    assert sorted(set(sets.ravel().tolist())) == sorted(sets.ravel().tolist())
    assert sets.shape == (10, 3)
    same = disjoint_sets(Pool(signs(31)), Sampling(3, temperature=0.0), np.ones(31, dtype=bool), KEY)
    assert same.shape == (10, 3)


@pytest.mark.parametrize("sampling", [*STRATEGIES, Sampling(2, temperature=0)], ids=str)
def test_fewer_disjoint_sets_are_the_first_of_all_and_cost_no_more_than_themselves(sampling):
    usable = np.random.default_rng(3).random(45) < 0.9
    pool = CountingPool(signs(45))
    whole = disjoint_sets(pool, sampling, usable, KEY)
    pool.rows = 0
    for most in (0, 1, 5, 1000):
        assert (disjoint_sets(pool, sampling, usable, KEY, most) == whole[:most]).all()
        if most == 5:
            assert pool.rows <= (0 + 1 + 5) * (sampling.k - 1)


def test_disjoint_sets_take_the_best_companion_that_is_free():
    vectors = unit(12, 6)
    sets = disjoint_sets(Pool(vectors), Sampling(2, "nearest"), np.ones(12, dtype=bool), KEY)
    free = set(range(12))
    for first, second in sets.tolist():
        free.remove(first)
        assert second == max(free, key=lambda text, first=first: vectors[first] @ vectors[text])
        free.remove(second)
    assert not free


def test_concentration_counts_distractors_and_not_those_drawn_first():
    found = concentration(np.array([[0, 1], [0, 1], [0, 2], [5, 3]], dtype=np.int32), 9)
    assert found.distinct == 3
    assert found.top_ten_share == 1.0
    assert found.effective == pytest.approx(1 / (0.5**2 + 0.25**2 + 0.25**2))
    even = concentration(np.column_stack([np.zeros(40, np.int32), np.arange(40, dtype=np.int32)]), 40)
    assert (even.distinct, even.top_ten_share, even.effective) == (40, 0.25, pytest.approx(40))
    assert str(even) == (
        "beside the first of each candidate set stand 40 different texts, as varied as 40 used equally often"
        "; the ten most frequent fill 25% of these places"
    )


def test_no_ten_texts_are_told_of_where_there_are_fewer():
    assert str(concentration(np.array([[0, 1], [0, 1], [0, 2], [5, 3]], dtype=np.int32), 9)) == (
        "beside the first of each candidate set stand 3 different texts, as varied as 3 used equally often"
    )
    same = concentration(np.array([[0, 1], [2, 1]], dtype=np.int32), 9)
    assert str(same) == "beside the first of each candidate set stands always the same text"


class CountingPool(Pool):
    """Counts how much is compared, and how much of it at a time."""

    def __init__(self, vectors):
        super().__init__(vectors)
        self.rows = self.largest = 0

    def similarity(self, sets):
        found = super().similarity(sets)
        self.rows += len(sets)
        self.largest = max(self.largest, found.size)
        return found


def test_texts_that_are_drawn_first_more_than_once_are_compared_once():
    pool = CountingPool(signs(50))
    sets = candidate_sets(pool, Sampling(2), range(5000), KEY)
    assert pool.rows == len(np.unique(sets[:, 0])) == 50
    pool.rows = 0
    candidate_sets(pool, Sampling(9, temperature=-1.0), range(5000), KEY)
    assert pool.rows == 50  # a set is as similar as its members together


def test_nothing_is_compared_where_distances_play_no_part():
    pool = CountingPool(signs(50))
    candidate_sets(pool, Sampling(4, temperature=0.0), range(500), KEY)
    assert pool.rows == 0


def test_ten_thousand_trials_on_thirteen_thousand_texts_compare_each_text_once_in_little_memory():
    vectors = unit(13_000, 384).astype(np.float32)
    pool = CountingPool(vectors)
    tracemalloc.start()
    sets = candidate_sets(pool, Sampling(2), range(10_000), KEY)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pool.largest <= 4_000_000
    assert peak < 150e6  # all similarities at once would be a gigabyte
    assert pool.rows == len(np.unique(sets[:, 0]))
