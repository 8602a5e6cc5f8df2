"""Candidate sets: the sampling is exactly the paper's, bounded in memory, and extends trial by trial."""

import itertools
import math
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pytest

from tedaudit.seeding import derive, uniforms
from tedaudit.trials.candidates import (
    Pool,
    Sampling,
    _top,
    _weights,
    candidate_sets,
    pick_by_weight,
)
from vector_examples import KEY, signs, unit

TEMPERATURES = [0.0, 1.0, -1.0, 7.5, -7.5, 1e4, -1e4, 1e300, -1e300, math.inf, -math.inf]
STRATEGIES = [
    Sampling(3, "nearest", top=2),
    Sampling(3, "furthest", top=2),
    Sampling(3),
    Sampling(3, temperature=0),
]
TRIALS = 200


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
    assert np.bincount(pick_by_weight(weight, grid), minlength=7).tolist() == [0, 3000, 0, 1000, 4000, 0, 0]
    assert pick_by_weight(weight, np.array([0.0, 1 - 2.0**-53])).tolist() == [1, 4]
    tiny = np.array([0.0, 5e-324, 1e-320, 0.0])
    assert set(pick_by_weight(tiny, np.array([0.0, 0.5, 1 - 2.0**-53])).tolist()) <= {1, 2}
    uneven = np.full(10, 0.1)  # whose sum is not exactly 1
    assert pick_by_weight(uneven, np.array([1 - 2.0**-53])).tolist() == [9]
    assert pick_by_weight(np.array([1.0, 1e-17, 0.0]), np.array([1 - 2.0**-53])).tolist() == [0]


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
