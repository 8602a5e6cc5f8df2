import numpy as np
import pytest

from tedaudit.experiments.agreement import _count_neighbours, agreement
from tedaudit.plans.candidates import Pool, Sampling, candidate_sets

TEXTS = [
    f"{a} {b} {c}"
    for a in ("red", "blue", "old", "new")
    for b in ("cat", "dog", "bird")
    for c in ("ran", "sat")
]


def test_extreme_lambdas_draw_the_furthest_and_the_nearest():
    table = agreement(TEXTS, "lexical", 200, (-1e6, 0.0, 1e6))
    rows = {row[0]: dict(zip(table.headings[1:], row[1:], strict=True)) for row in table.rows}
    assert rows[-1e6]["among 1 furthest"] == 1.0
    assert rows[1e6]["among 1 nearest"] == 1.0
    assert rows[0.0]["among 1 nearest"] < 0.5
    assert all(row["among 10 furthest"] >= row["among 1 furthest"] for row in rows.values())


@pytest.mark.parametrize(("strategy", "column"), [("furthest", 0), ("nearest", 2)])
def test_the_strategies_agree_with_themselves(strategy, column):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 5))
    pool = Pool(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    for top, place in ((1, column), (10, column + 1)):
        sets = candidate_sets(pool, Sampling(2, strategy=strategy, top=top), range(100), 1)
        assert _count_neighbours(pool, sets)[place] == len(sets)
