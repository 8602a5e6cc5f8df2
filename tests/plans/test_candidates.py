"""Candidate sets: the sampling is exactly the paper's, bounded in memory, and extends trial by trial."""

import itertools
import math
import time
import tracemalloc
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.sparse import csr_array

from tedaudit.api import load_corpus
from tedaudit.inference.lexical import LexicalEncoder
from tedaudit.plans.candidates import (
    Pool,
    Sampling,
    _pick,
    _top,
    _weights,
    candidate_sets,
    concentration,
    disjoint_sets,
)
from tedaudit.seeding import derive, uniforms

TEMPERATURES = [0.0, 1.0, -1.0, 7.5, -7.5, 1e4, -1e4, 1e300, -1e300, math.inf, -math.inf]
STRATEGIES = [
    Sampling(3, "nearest", top=2),
    Sampling(3, "furthest", top=2),
    Sampling(3),
    Sampling(3, temperature=0),
]
TRIALS = 200
KEY = 11


def signs(size, dimensions=16, seed=5):
    """Return unit vectors whose products are exact in binary: coordinates of +-1/4."""
    rng = np.random.default_rng(seed)
    distinct = {tuple(rng.choice([-0.25, 0.25], dimensions)) for _ in range(4 * size)}
    return np.array(sorted(distinct)[:size])


def unit(size, dimensions, seed=1):
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, dimensions))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def definition(vectors, members, temperature):
    """Return pi as the paper states it, in many digits: P(x|s) normalised over the pool, x not yet in S."""
    size = len(vectors)
    with localcontext() as context:
        context.prec = 60 if abs(temperature) <= 1e4 else 400
        exact = [[Decimal(float(value)) for value in row] for row in vectors]

        def distance(x, s):
            return 1 - sum(a * b for a, b in zip(exact[x], exact[s], strict=True))

        log_p = [Decimal(0)] * size
        for s in members:
            likeness = [(-distance(x, s)).exp() for x in range(size)]
            total = sum(likeness)
            for x in range(size):
                log_p[x] += (likeness[x] / total).ln()
        rest = [x for x in range(size) if x not in members]
        if math.isinf(temperature):
            sign = 1 if temperature > 0 else -1
            best = max(sign * log_p[x] for x in rest)
            weight = {x: Decimal(abs(sign * log_p[x] - best) < Decimal("1e-300")) for x in rest}
        else:
            exponent = {x: Decimal(temperature) * log_p[x] for x in rest}
            largest = max(exponent.values())
            weight = {x: (value - largest).exp() for x, value in exponent.items()}
        total = sum(weight.values())
        return np.array([float(weight.get(x, Decimal(0)) / total) for x in range(size)])


def implied(vectors, members, sampling):
    """Return the distribution that the code draws from."""
    pool = Pool(vectors)
    taken = np.zeros((1, pool.size), dtype=bool)
    taken[0, list(members)] = True
    weight = next(_weights(pool.similarity(np.array([members], dtype=np.int32)), sampling, taken))
    return weight / weight.sum()


@pytest.mark.parametrize("temperature", TEMPERATURES)
@pytest.mark.parametrize("members", [(0,), (3,), (0, 4), (5, 2)])
def test_companions_are_drawn_with_the_probability_that_the_paper_defines(members, temperature):
    vectors = signs(7)
    with warnings.catch_warnings(), np.errstate(over="raise", invalid="raise", divide="raise"):
        warnings.simplefilter("error")
        found = implied(vectors, members, Sampling(len(members) + 1, temperature=temperature))
    assert found == pytest.approx(definition(vectors, members, temperature), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("temperature", [1.0, -30.0, 1e4, -1e4])
def test_vectors_that_are_not_exact_in_binary_change_nothing(temperature):
    vectors = unit(8, 20)
    for members in [(1,), (6, 0)]:
        found = implied(vectors, members, Sampling(len(members) + 1, temperature=temperature))
        assert found == pytest.approx(definition(vectors, members, temperature), rel=1e-8, abs=1e-250)


@pytest.mark.parametrize("temperature", [1.7e308, -1.7e308])
def test_the_largest_number_there_is_overflows_nothing(temperature):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = implied(signs(7), (0, 1, 2), Sampling(4, temperature=temperature))
    limit = implied(signs(7), (0, 1, 2), Sampling(4, temperature=math.copysign(math.inf, temperature)))
    assert found == pytest.approx(limit)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_every_trial_is_the_inverse_distribution_function_at_its_own_uniforms(temperature):
    vectors, size = signs(7), 7
    sets = candidate_sets(Pool(vectors), Sampling(3, temperature=temperature), range(TRIALS), KEY)
    first = uniforms([derive(KEY, "first")], TRIALS)[0]
    steps = [uniforms([derive(KEY, "step", step)], TRIALS)[0] for step in (1, 2)]
    table = {
        members: np.cumsum(definition(vectors, members, temperature))
        for length in (1, 2)
        for members in itertools.permutations(range(size), length)
        if length == 1 or any((row[:2] == members).all() for row in sets)
    }
    for trial in range(TRIALS):
        expected = [int(first[trial] * size)]
        for uniform in steps:
            cumulative = table[tuple(expected)]
            edge = np.abs(cumulative - uniform[trial]).min()
            assert edge > 1e-9  # no uniform lies where rounding could decide
            expected.append(int(np.searchsorted(cumulative, uniform[trial], side="right")))
        assert sets[trial].tolist() == expected


def test_where_distances_play_no_part_all_ordered_sets_are_equally_likely():
    """The uniforms of a trial cut the unit cube into equal cells: one per ordered set."""
    centres = [(i + 0.5) / 60 for i in range(60)]

    def at(*coordinates):
        chosen = [int(coordinates[0] * 5)]
        for uniform in coordinates[1:]:
            left = [text for text in range(5) if text not in chosen]
            chosen.append(left[int(uniform * len(left))])
        return tuple(chosen)

    counts = {}
    for cell in itertools.product(centres[::12], centres[::15], centres[::20]):
        counts[at(*cell)] = counts.get(at(*cell), 0) + 1
    assert len(counts) == 60
    sets = candidate_sets(5, Sampling(3, temperature=0.0), range(3000), KEY)
    steps = [derive(KEY, "first"), derive(KEY, "step", 1), derive(KEY, "step", 2)]
    drawn = uniforms(steps, 3000)
    assert [tuple(row) for row in sets.tolist()] == [at(*drawn[:, trial]) for trial in range(3000)]


def test_the_inverse_distribution_function_hits_every_cell_by_its_weight_and_no_other():
    weight = np.array([0.0, 3.0, 0.0, 1.0, 4.0, 0.0, 0.0])
    grid = (np.arange(8000) + 0.5) / 8000
    assert np.bincount(_pick(weight, grid), minlength=7).tolist() == [0, 3000, 0, 1000, 4000, 0, 0]
    assert _pick(weight, np.array([0.0, 1 - 2.0**-53])).tolist() == [1, 4]
    tiny = np.array([0.0, 5e-324, 1e-320, 0.0])
    assert set(_pick(tiny, np.array([0.0, 0.5, 1 - 2.0**-53])).tolist()) <= {1, 2}
    uneven = np.full(10, 0.1)  # whose sum is not exactly 1
    assert _pick(uneven, np.array([1 - 2.0**-53])).tolist() == [9]
    assert _pick(np.array([1.0, 1e-17, 0.0]), np.array([1 - 2.0**-53])).tolist() == [0]


@pytest.mark.parametrize("sampling", STRATEGIES, ids=str)
def test_a_set_never_holds_a_text_twice(sampling):
    everything = Sampling(6, sampling.strategy, sampling.temperature, sampling.top)
    pool = Pool(signs(6))
    for wanted in (sampling, everything):
        sets = candidate_sets(pool, wanted, range(TRIALS), KEY)
        assert all(len(set(row)) == wanted.k for row in sets.tolist())
        assert sets.min() >= 0
        assert sets.max() < 6
        assert sets.dtype == np.int32
        assert sets.shape == (TRIALS, wanted.k)
    assert all(set(row) == set(range(6)) for row in sets.tolist())


@pytest.mark.parametrize("sampling", STRATEGIES, ids=str)
def test_a_trial_does_not_depend_on_how_many_are_asked_for(sampling):
    pool = Pool(unit(90, 24))
    whole = candidate_sets(pool, sampling, range(30), KEY)
    parts = [candidate_sets(pool, sampling, some, KEY) for some in (range(10), range(10, 11), range(11, 30))]
    assert (np.concatenate(parts) == whole).all()
    assert (candidate_sets(pool, sampling, range(17, 18), KEY)[0] == whole[17]).all()
    assert len(candidate_sets(pool, sampling, range(5, 5), KEY)) == 0


def test_other_keys_give_other_sets_and_the_same_key_the_same():
    pool = Pool(signs(40))
    one, again, other = (candidate_sets(pool, Sampling(3), range(50), key) for key in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any(axis=1).mean() > 0.9


def by_permutations(score, top):
    """Return how likely each text is picked: uniform among the first `top` of all orders by score."""
    counts, orders = np.zeros(len(score)), 0
    for order in itertools.permutations(range(len(score))):
        if all(score[a] >= score[b] for a, b in itertools.pairwise(order)):
            orders += 1
            for text in order[:top]:
                counts[text] += 1 / top
    return counts / orders


@pytest.mark.parametrize("top", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize(
    "score", [[5, 4, 3, 2, 1, 0, -1], [3, 3, 3, 2, 2, 2, 1], [1, 1, 1, 1, 1, 1, 1], [0, 9, 9, 9, 0, 0, 9]]
)
def test_the_top_few_are_equally_likely_and_ties_at_the_edge_share_the_places_left(score, top):
    weight = _top(np.array(score, dtype=np.float64), top)
    assert weight / weight.sum() == pytest.approx(by_permutations(score, top))


def test_ties_that_differ_by_rounding_only_are_ties():
    score = np.array([0.1 + 0.2, 0.3, 0.3 + 1e-16, 0.2])
    assert len(set(score[:3].tolist())) > 1
    assert _top(score, 1)[:3] == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_taken_texts_are_never_in_the_top_however_many_are_asked_for():
    weight = _top(np.array([-np.inf, 0.5, -np.inf, 0.1]), 10)
    assert weight.tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize(("strategy", "sign"), [("nearest", 1.0), ("furthest", -1.0)])
def test_nearest_and_furthest_pick_among_the_top_by_cosine(strategy, sign):
    vectors = unit(30, 8)
    cosine = vectors @ vectors.T
    np.fill_diagonal(cosine, -sign * np.inf)
    best = np.argsort(-sign * cosine, axis=1)
    sets = candidate_sets(Pool(vectors), Sampling(2, strategy, top=4), range(600), KEY)
    for first in range(30):
        found = set(sets[sets[:, 0] == first][:, 1].tolist())
        assert found <= set(best[first, :4].tolist())
        assert len(found) > 1
    alone = candidate_sets(Pool(vectors), Sampling(2, strategy), range(600), KEY)
    assert (alone[:, 1] == best[alone[:, 0], 0]).all()


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
        "40 distinct distractors, the ten commonest in 25% of places (as even as 40 equally common ones)"
    )


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
    sets = candidate_sets(pool, Sampling(3), range(5000), KEY)
    assert pool.rows == 50 + len(np.unique(sets[:, :2], axis=0))


def test_nothing_is_compared_where_distances_play_no_part():
    pool = CountingPool(signs(50))
    candidate_sets(pool, Sampling(4, temperature=0.0), range(500), KEY)
    assert pool.rows == 0


def test_ten_thousand_trials_on_thirteen_thousand_texts_take_seconds_and_little_memory():
    vectors = unit(13_000, 384).astype(np.float32)
    pool = CountingPool(vectors)
    tracemalloc.start()
    started = time.process_time()
    sets = candidate_sets(pool, Sampling(2), range(10_000), KEY)
    took = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert pool.largest <= 4_000_000
    assert peak < 150e6  # all similarities at once would be a gigabyte
    assert took < 60
    assert pool.rows == len(np.unique(sets[:, 0]))
