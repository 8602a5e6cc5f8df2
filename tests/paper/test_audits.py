"""What audits of the paper are read for: neighbours by lambda, and trends by epsilon."""

import numpy as np
import pytest

from tedaudit.paper.audits import _count_neighbours, agreement, trend
from tedaudit.trials.candidates import Pool, Sampling, candidate_sets

TEXTS = [
    f"{a} {b} {c}"
    for a in ("red", "blue", "old", "new")
    for b in ("cat", "dog", "bird")
    for c in ("ran", "sat")
]


def test_extreme_lambdas_draw_the_furthest_and_the_nearest():
    table = agreement(TEXTS, "lexical", 200, (-1e6, 0.0, 1e6)).table
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


def outcomes(rates, trials=1000):
    """Return for each rate which trials are right; a larger rate includes the trials of a smaller one."""
    return [np.arange(trials) < round(rate * trials) for rate in rates]


@pytest.mark.parametrize(
    ("rates", "told"),
    [([0.5, 0.6, 0.9], "rises"), ([0.9, 0.9, 0.6], "falls"), ([0.5, 0.9, 0.7], "rises and falls"),
     ([0.5, 0.503, 0.5], "flat"), ([0.5, 0.506, 0.512, 0.518], "rises")],
)  # fmt: skip
def test_a_trend_is_what_paired_trials_tell(rates, told):
    assert trend(outcomes(rates)).split(" within")[0] == told


def test_few_trials_tell_no_trend():
    assert trend(outcomes([0.5, 0.9], trials=10)) == "flat within the error of these trials"


def test_a_step_between_other_trials_counts_less_than_one_between_the_same():
    places = np.arange(1000)
    before = places % 2 == 0
    unlike = (places // 2 % 2 == 0) | (places < 60)  # 515 right, but half of them others
    assert trend([before, unlike]).startswith("flat")
    more = before | (np.cumsum(~before) <= 15)  # 15 more right, none fewer
    assert trend([before, more]) == "rises"


def test_a_run_that_was_looked_at_early_needs_more_to_tell_a_trend():
    line = outcomes([0.5, 0.509])
    assert trend(line) == "rises"
    assert trend(line, any_time=True).startswith("flat")


def test_one_epsilon_has_no_trend():
    assert trend(outcomes([0.5])).startswith("flat")
