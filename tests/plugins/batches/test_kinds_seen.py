"""Observations and guesses, each with its columns: what an attack sees and says."""

import dataclasses
import pickle

import numpy as np
import pytest

from batch_examples import GUESSES, OBSERVATIONS, REWRITES, plain
from tedaudit.plugins.batches import Guesses, Observations, Rewrites
from tedaudit.plugins.batches.columns import Ragged
from tedaudit.plugins.values import Guess, Observation
from tedaudit.seeding import key_words

KEYS = key_words([1, 2])
PAIR = Rewrites.from_texts(["a", "b"])


def test_observations_hold_their_four_columns_and_nothing_else():
    batch = Observations.of(OBSERVATIONS)
    assert [field.name for field in dataclasses.fields(batch)] == [
        "outputs",
        "pool",
        "candidates",
        "tie_keys",
    ]
    assert not hasattr(batch, "__dict__")
    assert [name for kind in type(batch).__mro__ for name in getattr(kind, "__slots__", ())] == [
        "outputs", "pool", "candidates", "tie_keys",
    ]  # fmt: skip
    public = {name for name in dir(batch) if not name.startswith("_")}
    methods = {"of", "join", "counts", "positions", "count", "index"}
    assert public == {"outputs", "pool", "candidates", "tie_keys"} | methods
    with pytest.raises(AttributeError):
        object.__setattr__(batch, "secret", 1)


def test_positions_are_there_also_if_the_candidates_are_the_whole_pool():
    outputs, keys = Rewrites.from_texts(["x", "y"]), np.zeros((2, 4), np.uint32)
    everybody = Observations(outputs, ("a", "b", "c"), None, keys).positions()
    assert [everybody.row(i).tolist() for i in range(2)] == [[0, 1, 2], [0, 1, 2]]
    some = Observations(outputs, ("a", "b", "c"), np.array([[2, 0], [1, 2]]), keys).positions()
    assert [some.row(i).tolist() for i in range(2)] == [[2, 0], [1, 2]]


def test_candidates_are_positions_in_a_pool_of_distinct_texts():
    batch = Observations.of(OBSERVATIONS)
    assert list(batch.pool) == ["a", "b", "c", "\ud800"]
    assert isinstance(batch.candidates, Ragged)
    assert batch.candidates.values.dtype == np.int32
    assert batch.candidates.values.tolist() == [0, 1, 1, 2, 3, 0, 2, 0]
    assert batch.counts.tolist() == [2, 3, 1, 2, 0]
    assert batch.counts.dtype == np.int64
    assert type(batch[0].candidates) is tuple
    assert batch[1:3].pool is batch[[0]].pool is batch.pool


def test_equally_many_candidates_are_a_matrix():
    batch = Observations.of([OBSERVATIONS[0], OBSERVATIONS[3]])
    assert batch.candidates.tolist() == [[0, 1], [2, 0]]
    assert batch.candidates.dtype == np.int32
    assert batch.counts.tolist() == [2, 2]
    part = Observations.of(OBSERVATIONS)[[0, 3]]
    assert part.candidates.tolist() == [[0, 1], [2, 0]]
    assert part == batch
    assert Observations.join([batch, part]).candidates.shape == (4, 2)
    assert isinstance(Observations.join([batch, OBSERVATIONS[2:3]]).candidates, Ragged)


@pytest.mark.parametrize("pool", [("a", "b", "a"), ["a", "b"], ()])
def test_the_whole_pool_is_one_object_in_every_row(pool):
    rows = [Observation(row, pool, i) for i, row in enumerate(REWRITES)]
    batch = Observations.of(rows)
    assert batch.candidates is None
    assert batch.counts.tolist() == [len(pool)] * 5
    copied = pickle.loads(pickle.dumps(batch))
    for some in (
        batch,
        batch[1:],
        batch[[0, 2]],
        Observations.join([batch[:1], batch[1:]]),
        Observations.of(batch),
    ):
        assert some.candidates is None
        assert some.pool is pool
        assert all(row.candidates is pool for row in some)
    assert all(row.candidates is copied.pool for row in copied)
    joined = Observations.join([batch, copied])
    assert joined.candidates is None
    assert joined.pool is pool
    assert batch == copied == rows


def test_equal_candidates_that_are_other_objects_are_no_whole_pool():
    rows = [Observation(REWRITES[0], ["a", "b"], 1), Observation(REWRITES[0], ["a", "b"], 2)]
    assert Observations.of(rows).candidates.tolist() == [[0, 1], [0, 1]]


def test_a_whole_pool_is_joined_with_another():
    first = Observations(PAIR, ["a", "b"], None, KEYS)
    second = Observations(PAIR, ["c", "b"], None, KEYS)
    third = Observations(PAIR, ["b", "d"], np.array([[0, 1], [1, 0]]), KEYS)
    nobody = Observations(PAIR, [], None, KEYS)
    for parts in (
        [first, second],
        [first, third],
        [second, first, third, first],
        [nobody, first],
        [first, nobody],
    ):
        rows = [row for part in parts for row in part]
        joined = Observations.join(parts)
        assert list(map(plain, joined)) == [plain(row) for row in rows]
        assert joined == rows
    assert Observations.join([first, third]).candidates.tolist() == [[0, 1], [0, 1], [2, 3], [3, 2]]


def test_the_whole_pool_equals_the_same_candidates_one_by_one():
    whole = Observations(PAIR, ["a", "b"], None, KEYS)
    positions = np.array([[1, 0], [1, 0]])
    assert whole == Observations(PAIR, ["b", "a"], positions, KEYS)
    assert whole != Observations(PAIR, ["a", "b"], positions, KEYS)
    assert whole != Observations(PAIR, ["b", "a"], None, KEYS)
    assert whole != Observations(PAIR, ["a", "b", "c"], None, KEYS)


def test_guesses_are_a_matrix_of_doubles_if_they_can_be():
    batch = Guesses.of([Guess(np.array([1, 2], np.float32)), Guess(np.array([3, 4], np.int64), usable=False)])
    assert batch.scores.dtype == np.float64
    assert batch.scores.tolist() == [[1, 2], [3, 4]]
    assert batch.usable.tolist() == [True, False]
    assert batch.shown is None
    assert Guesses(np.ones((2, 2), np.float32), np.ones(2, bool)).scores.dtype == np.float64
    ragged = Guesses.of(GUESSES)
    assert isinstance(ragged.scores, Ragged)
    assert ragged.scores.values.dtype == np.float64
    assert ragged.shown.values.dtype == np.int32
    assert ragged.shown.missing.tolist() == [False, True, False, False, True]
    assert ragged[[1, 4]].scores.shape == (2, 2)
    assert ragged[[1, 4]].shown is None
    assert [type(guess.usable) for guess in ragged] == [bool] * 5


def test_places_are_a_matrix_if_every_row_has_them():
    places = np.array([[1, 0], [0, 1]])
    batch = Guesses(np.zeros((2, 2)), np.ones(2, bool), places)
    assert batch.shown.dtype == np.int32
    assert batch[1].shown.tolist() == [0, 1]
    without = Guesses(np.zeros((1, 2)), np.ones(1, bool))
    assert Guesses.join([batch, batch]).shown.shape == (4, 2)
    joined = Guesses.join([without, batch])
    assert joined.scores.shape == (3, 2)
    assert joined == [*without, *batch]
    assert joined[1:].shown.tolist() == places.tolist()


@pytest.mark.parametrize("counts", [[2, 2], [3, 1, 0], [0], [], np.array([4, 4], np.int32)])
def test_unusable_guesses_name_nobody(counts):
    batch = Guesses.unusable(counts)
    assert batch == [Guess(np.zeros(count), usable=False) for count in counts]
    assert len(batch) == len(counts)
    assert isinstance(batch.scores, Ragged) == (len(set(counts)) > 1)
