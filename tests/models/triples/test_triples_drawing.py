"""The sampler's probabilities, found by bisecting the uniforms at which its answer changes."""

from collections.abc import Callable

import numpy as np
import pytest

from tedaudit.models.triples.drawing import (
    OVERFLOW,
    ClusterChoice,
    Slots,
    draw_noise,
    draw_triples,
    log_masses,
)
from tedaudit.models.triples.extraction import Triple
from tedaudit.models.triples.table import TripleTable, load_table, save_table
from tedaudit.models.triples.vectors import normalise_to_grid

SIZE, CLUSTERS, BELOW_ONE = 7, 3, 1 - 2.0**-53
Pick = Callable[[np.ndarray], int]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TripleTable:
    folder = tmp_path_factory.mktemp("drawing")
    vectors = normalise_to_grid(np.random.default_rng(3).normal(size=(SIZE, 4)))
    cluster = np.array([0, 1, 2, 0, 1, 0, 2], dtype=np.int32)
    centroids = np.stack([vectors[cluster == i].mean(axis=0) for i in range(CLUSTERS)]).astype(np.float32)
    arrays = {"vectors": vectors.astype(np.float32), "cluster": cluster, "centroids": centroids}
    save_table(folder, [Triple(str(i), "is", str(i)) for i in range(SIZE)], arrays, {})
    return load_table(str(folder))


QUERIES = np.vstack([np.zeros((1, 4)), normalise_to_grid(np.random.default_rng(4).normal(size=(3, 4)))])


def threshold(above: Callable[[float], bool]) -> float:
    """Return where a monotone condition starts to hold on [0, 1)."""
    low, high = 0.0, 1.0
    if above(low):
        return 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if above(middle) else (middle, high)
    return high


def masses(pick: Pick, size: int) -> np.ndarray:
    """Return the probability of every item, given how the four uniforms of a step choose one."""
    assert pick(np.zeros(4)) == 0, "a coin of 0 takes the uniform item"
    uniform = np.diff(
        [threshold(lambda u, i=i: pick(np.array([0, 0, u, 0])) >= i) for i in range(size)] + [1.0]
    )
    rest = [threshold(lambda u, i=i: pick(np.array([BELOW_ONE, 0, 0, u])) >= i) for i in range(size)]
    away = pick(np.array([BELOW_ONE, 0, 0, BELOW_ONE]))  # the last item that the rest can give
    noise = np.array([0.0, BELOW_ONE, 0.0 if away else 1 - 1 / size, BELOW_ONE])
    coin = threshold(lambda u: pick(np.array([u, *noise[1:]])) == away)
    return coin * uniform + (1 - coin) * np.diff([*rest, 1.0])


def exponential(cosines: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the exponential mechanism as its definition says."""
    weights = np.exp(epsilon * np.maximum(0, cosines) / 2)
    return np.asarray(weights / weights.sum())


def one(table: TripleTable, choice: ClusterChoice, query: int, epsilon: float, noise: np.ndarray) -> int:
    slots = Slots(QUERIES, np.array([query]), np.array([epsilon]), noise[None])
    return int(draw_triples(table, choice, slots, overflows=False)[0])


@pytest.mark.parametrize(("query", "epsilon"), [(1, 0.3), (2, 30.0), (3, 4.0)])
def test_a_draw_from_the_whole_table_has_the_mechanisms_probabilities(
    table: TripleTable, query: int, epsilon: float
) -> None:
    def pick(step: np.ndarray) -> int:
        return one(table, "whole", query, epsilon, np.stack([np.full(4, 0.5), step]))

    wanted = exponential(table.similarity(QUERIES[[query]], -1)[0], epsilon)
    assert np.abs(masses(pick, SIZE) - wanted).max() < 1e-9


@pytest.mark.parametrize(("query", "epsilon"), [(1, 0.3), (2, 30.0), (3, 4.0)])
def test_a_private_draw_spends_half_on_the_cluster_and_half_on_the_triple(
    table: TripleTable, query: int, epsilon: float
) -> None:
    def cluster(step: np.ndarray) -> int:
        return int(table.cluster[one(table, "private", query, epsilon, np.stack([step, np.full(4, 0.5)]))])

    wanted = exponential(table.cluster_similarity(QUERIES[[query]])[0], epsilon / 2)
    assert np.abs(masses(cluster, CLUSTERS) - wanted).max() < 1e-9
    for number in range(CLUSTERS):
        towards = np.array(
            [0.0, 0.0, (number + 0.5) / CLUSTERS, 0.0]
        )  # the uniform item of the cluster's step

        def member(step: np.ndarray, number: int = number, towards: np.ndarray = towards) -> int:
            drawn = one(table, "private", query, epsilon, np.stack([towards, step]))
            assert table.cluster[drawn] == number
            return table.place(drawn, number)

        inside = exponential(table.similarity(QUERIES[[query]], number)[0], epsilon / 2)
        assert np.abs(masses(member, table.size(number)) - inside).max() < 1e-9


@pytest.mark.parametrize("choice", ["private", "whole", "nearest"])
@pytest.mark.parametrize("epsilon", [1e-9, 1.0, 50.0, 3000.0])
def test_log_masses_sum_to_one(table: TripleTable, choice: ClusterChoice, epsilon: float) -> None:
    found = np.stack([log_masses(table, choice, QUERIES, number, epsilon) for number in range(SIZE)])
    assert np.abs(np.exp(found).sum(axis=0) - 1).max() < 1e-12


def test_log_masses_are_those_of_the_definition(table: TripleTable) -> None:
    clusters = [exponential(row, 2.0) for row in table.cluster_similarity(QUERIES)]
    for number in range(SIZE):
        home = int(table.cluster[number])
        inside = [exponential(row, 2.0)[table.place(number, home)] for row in table.similarity(QUERIES, home)]
        wanted = [np.log(c[home] * i) for c, i in zip(clusters, inside, strict=True)]
        assert np.abs(log_masses(table, "private", QUERIES, number, 4.0) - wanted).max() < 1e-12


def test_a_null_triple_draws_uniformly_at_any_epsilon(table: TripleTable) -> None:
    found = np.exp([log_masses(table, "whole", QUERIES[:1], number, 900.0)[0] for number in range(SIZE)])
    assert np.abs(found - 1 / SIZE).max() < 1e-12
    private = np.exp([log_masses(table, "private", QUERIES[:1], number, 900.0)[0] for number in range(SIZE)])
    sizes = np.array([table.size(int(cluster)) for cluster in table.cluster])
    assert np.abs(private - 1 / (CLUSTERS * sizes)).max() < 1e-12


def test_the_nearest_cluster_is_the_whole_support(table: TripleTable) -> None:
    found = np.stack([log_masses(table, "nearest", QUERIES, number, 1e-9) for number in range(SIZE)])
    for query, home in enumerate(table.nearest(QUERIES)):
        assert set(np.flatnonzero(np.isfinite(found[:, query]))) == set(table.members(int(home)).tolist())


def test_overflow_is_where_plain_weights_are_not_finite(table: TripleTable) -> None:
    noise = np.full((1, 2, 4), 0.5)
    for query in (1, 2, 3):
        home = int(table.nearest(QUERIES[[query]])[0])
        largest = float(table.similarity(QUERIES[[query]], home).max())
        for factor, fails in ((0.99, False), (1.01, True)):
            epsilon = 2 * np.log(np.finfo(np.float64).max) / largest * factor
            slots = Slots(QUERIES, np.array([query, 0]), np.full(2, epsilon), np.repeat(noise, 2, axis=0))
            drawn = draw_triples(table, "nearest", slots, overflows=True)
            assert (drawn[0] == OVERFLOW) == fails
            assert drawn[1] != OVERFLOW, "a null triple has no utility to overflow"
            assert (draw_triples(table, "nearest", slots, overflows=False) != OVERFLOW).all()


@pytest.mark.parametrize("choice", ["private", "whole", "nearest"])
def test_draws_are_the_same_in_any_batch(table: TripleTable, choice: ClusterChoice) -> None:
    generator = np.random.default_rng(5)
    rows, epsilons = generator.integers(0, 4, 200), generator.choice([0.1, 3.0, 80.0, 2500.0], 200)
    noise = generator.random((200, 2, 4))
    together = draw_triples(table, choice, Slots(QUERIES, rows, epsilons, noise), overflows=False)
    order = generator.permutation(200)
    mixed = Slots(QUERIES, rows[order], epsilons[order], noise[order])
    assert (draw_triples(table, choice, mixed, overflows=False) == together[order]).all()
    alone = [one(table, choice, int(rows[i]), epsilons[i], noise[i]) for i in range(0, 200, 10)]
    assert alone == together[::10].tolist()


def test_a_slots_noise_follows_from_the_key_and_its_place() -> None:
    noise = draw_noise([7, 8, 9, 7], np.array([2, 0, 1, 3]))
    assert noise.shape == (6, 2, 4)
    assert (noise[:2] == noise[3:5]).all()
    assert len(np.unique(noise[2:])) == 4 * 2 * 4
    assert (draw_noise([9], np.array([1])) == noise[2:3]).all()
