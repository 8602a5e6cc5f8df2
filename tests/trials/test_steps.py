"""Sets from running sums are those of the definition, which compares every text with the whole set anew."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from tedaudit.api import load_corpus
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.trials import candidates
from tedaudit.trials import pool as pools
from tedaudit.trials.candidates import Sampling, candidate_sets
from tedaudit.trials.pool import Pool
from vector_examples import signs, unit

TEMPERATURES = [0.3, -0.3, 40.0, -40.0, 1e4, -1e4, 1e14, -1e14, 1e300, -1e300, math.inf, -math.inf]
SAMPLINGS = [
    *(Sampling(9, temperature=temperature) for temperature in TEMPERATURES),
    *(Sampling(9, strategy, top=top) for strategy in ("nearest", "furthest") for top in (1, 3, 40)),
]


def by_definition(pool, sampling, trials, key):
    """Return the sets with every sum of vectors made anew."""
    pool.is_precise = False
    sets = candidate_sets(pool, sampling, trials, key)
    pool.is_precise = True
    return sets


def sparse_rows():
    encoder = LexicalEncoder(bits=11)
    texts = load_corpus("demo").texts[:150]
    encoder.fit(texts)
    return encoder.encode(texts)


@pytest.fixture(scope="module", params=["dense", "tied", "twins", "sparse"])
def vectors(request):
    """Return vectors of four kinds; "tied" ones have few distinct products, and "twins" equal rows."""
    if request.param == "sparse":
        return sparse_rows()
    if request.param == "tied":
        return signs(60)
    return np.repeat(unit(30, 16), 3, axis=0) if request.param == "twins" else unit(120, 16)


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_running_sums_give_the_sets_of_the_definition(vectors, sampling, is_thorough):
    """Every set is eight choices among all texts, and none may differ: sixty sets do, but for `--all`."""
    pool = Pool(vectors)
    for key in range(4 if is_thorough else 1):
        trials = range(7, 67)
        fast = candidate_sets(pool, sampling, trials, key)
        assert (fast == by_definition(pool, sampling, trials, key)).all()


@pytest.mark.parametrize("temperature", [-1e4, 1e4, -3.0])
def test_many_candidates_of_real_texts_are_those_of_the_definition(temperature, is_thorough):
    pool, trials = Pool(sparse_rows()), range(12 if is_thorough else 3)
    sampling = Sampling(120, temperature=temperature)
    fast = candidate_sets(pool, sampling, trials, 5)
    assert (fast == by_definition(pool, sampling, trials, 5)).all()
    assert all(len(set(row)) == 120 for row in fast.tolist())


def test_a_trial_does_not_depend_on_those_beside_it(monkeypatch):
    pool, sampling = Pool(unit(50, 8)), Sampling(6, temperature=-20.0)
    whole = candidate_sets(pool, sampling, range(90), 3)
    monkeypatch.setattr(candidates, "CELLS", 150)  # three sets at a time
    monkeypatch.setattr(candidates, "_CHUNK", 60)  # ten trials at a time
    monkeypatch.setattr(pools, "_KEPT_BYTES", 800)  # two texts are kept
    assert (candidate_sets(pool, sampling, range(90), 3) == whole).all()
    assert (candidate_sets(pool, sampling, range(40, 90), 3) == whole[40:]).all()


def choose(pool, uniform):
    """Return what is chosen after text 0 at a lambda of 1, and whether the definition was asked."""
    asked = []

    def redo(sets, coins):
        asked.append((sets.tolist(), coins.tolist()))
        return np.full(len(coins), -7, dtype=np.int32)

    chooser = candidates.Steps(pool, 1.0, None, redo)
    return chooser.choose_second(np.zeros(1, np.int32), np.array([uniform]), keep=False)[0], asked


def test_a_uniform_at_the_edge_of_a_share_is_left_to_the_definition_and_no_other():
    pool = Pool(unit(20, 5))
    weight = np.exp(pool.similarity(np.zeros((1, 1), np.int32))[0])
    weight[0] = 0
    share = np.cumsum(weight) / weight.sum()
    for place in range(1, 19):
        inside = float((share[place - 1] + share[place]) / 2)
        assert choose(pool, inside) == (place, [])
        for shift in (-1e-15, 0.0, 1e-15):
            edge = float(share[place]) + shift
            assert choose(pool, edge) == (-7, [([[0]], [edge])])


def test_the_bound_of_rounding_errors_holds_for_sums_in_either_order():
    rng = np.random.default_rng(4)
    for pool in (Pool(unit(200, 64)), Pool(sparse_rows())):
        for members in (1, 2, 10, 100):
            one = rng.choice(pool.size, members, replace=False).astype(np.int32)
            summed = pool.compare(one).sum(axis=0)
            backwards = pool.compare(one[::-1]).cumsum(axis=0)[-1]
            exact = pool.similarity(one[None])[0]
            for found in (summed, backwards):
                assert np.abs(found - exact).max() <= pool.error(members)
            assert pool.error(members) < 1e-10


def test_vectors_of_half_precision_are_summed_by_the_definition_alone():
    coarse = Pool(unit(30, 6))
    coarse.is_precise = False
    coarse.compare = None  # running sums would fail
    assert candidate_sets(coarse, Sampling(4), range(10), 1).shape == (10, 4)


def test_what_is_kept_for_the_next_step_is_bounded(monkeypatch):
    monkeypatch.setattr(pools, "_KEPT_BYTES", 5 * 8 * 40)
    pool = Pool(csr_array(unit(40, 6)))
    first = pool.compare(np.arange(9, dtype=np.int32))
    assert len(pool._kept) == 5
    again = pool.compare(np.arange(9, dtype=np.int32))
    assert np.abs(first - again).max() == 0
    assert pool.compare(np.arange(3, dtype=np.int32), keep=False).shape == (3, 40)
    assert list(pool._kept) == [4, 5, 6, 7, 8]
