"""Batches are sequences of the small objects: every row comes back as it went in."""

import contextlib
import copy
import dataclasses
import pickle
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from batch_examples import (
    DRAWS,
    EXAMPLES,
    GUESSES,
    LAST,
    NAN,
    OBSERVATIONS,
    REWRITES,
    any_rows,
    each_kind,
    floats,
    plain,
)
from tedaudit.plugins.batches import Draws, Guesses, Observations, Rewrites, guesses, kinds
from tedaudit.plugins.batches.columns import Ragged
from tedaudit.plugins.values import Draw, Guess, Observation, Rewrite


@given(any_rows)
def test_every_row_comes_back_as_it_went_in(example):
    kind, rows = example
    batch = kind.of(rows)
    assert len(batch) == len(rows)
    assert plain(list(batch)) == plain(rows)
    assert plain([batch[i] for i in range(len(rows))]) == plain(rows)
    assert batch == rows
    assert plain(list(pickle.loads(pickle.dumps(batch)))) == plain(rows)


@given(any_rows, st.data())
def test_rows_are_chosen_as_from_a_list(example, data):
    kind, rows = example
    batch, n = kind.of(rows), len(rows)
    cut = data.draw(st.slices(n))
    assert plain(list(batch[cut])) == plain(rows[cut])
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    assert plain(list(batch[mask])) == plain([row for row, kept in zip(rows, mask, strict=True) if kept])
    chosen = data.draw(st.lists(st.integers(-n, n - 1), max_size=8)) if n else []
    for index in (chosen, np.array(chosen, dtype=np.int64), np.array(chosen, dtype=np.int8)):
        assert isinstance(batch[index], kind)
        assert plain(list(batch[index])) == plain([rows[i] for i in chosen])


@given(any_rows, st.data())
def test_joined_pieces_are_the_whole(example, data):
    kind, rows = example
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3)))
    ends = list(zip([0, *cuts], [*cuts, len(rows)], strict=True))
    batch = kind.of(rows)
    for pieces in ([batch[a:b] for a, b in ends], [kind.of(rows[a:b]) for a, b in ends]):
        assert plain(list(kind.join(pieces))) == plain(rows)


@each_kind
def test_a_batch_is_a_sequence_with_short_words_about_itself(kind, rows):
    batch = kind.of(rows)
    assert isinstance(batch, Sequence)
    assert repr(batch) == f"<{kind.__name__} of 5 rows>"
    assert kind.of(batch) is batch
    assert not isinstance(batch, Hashable)
    assert plain(list(reversed(batch))) == plain(rows[::-1])
    assert plain(list(kind.of(tuple(rows)))) == plain(list(kind.of(iter(rows)))) == plain(rows)
    assert plain(list(copy.deepcopy(batch))) == plain(rows)


@each_kind
def test_a_row_is_found_from_either_end_and_by_any_whole_number(kind, rows):
    batch = kind.of(rows)
    assert plain(batch[-1]) == plain(rows[-1])
    assert plain(batch[-5]) == plain(batch[np.int8(0)]) == plain(rows[0])
    for wrong in (5, -6):
        with pytest.raises(IndexError, match=f"no row {wrong} among 5"):
            batch[wrong]
        with pytest.raises(IndexError, match=f"no row {wrong} among 5"):
            batch[[0, wrong]]


@each_kind
def test_rows_are_not_chosen_by_anything_else(kind, rows):
    for wrong in ([True, False], np.zeros(0, bool), [0.0], [[0]], np.int64([[0, 1]]), ["a"], None, "0"):
        with pytest.raises(IndexError):
            kind.of(rows)[wrong]


@each_kind
def test_an_empty_batch_stays_empty(kind, rows):
    batch = kind.of(rows)
    for empty in (
        kind.of([]),
        kind.join([]),
        kind.of(rows)[5:],
        kind.of(rows)[4:1],
        kind.of(rows)[[]],
        kind.of(rows)[np.zeros(5, bool)],
    ):
        assert isinstance(empty, kind)
        assert len(empty) == 0
        assert list(empty) == []
        assert empty == [] == empty
        assert empty == ()
        assert empty != ""
        assert empty != b""
        assert empty == kind.of([])
        assert len(empty[:]) == len(empty[[]]) == len(pickle.loads(pickle.dumps(empty))) == 0
        assert plain(list(kind.join([empty, rows, empty]))) == plain(rows)
        assert kind.join([empty, batch, empty]) is batch


@each_kind
def test_join_takes_lists_and_one_batch_alone_as_it_is(kind, rows):
    batch = kind.of(rows)
    assert plain(list(kind.join([rows, tuple(rows), batch]))) == plain(rows * 3)
    assert kind.join([batch]) is batch


@each_kind
def test_other_things_are_no_rows(kind, rows):
    for wrong in (["a text"], [None], [rows[0], 3]):
        with pytest.raises(TypeError, match="every row must be"):
            kind.of(wrong)


@each_kind
def test_a_batch_equals_any_sequence_of_the_same_rows(kind, rows):
    batch = kind.of(rows)
    for same in (
        rows,
        tuple(rows),
        batch,
        kind.of(rows),
        kind.join([rows[:2], rows[2:]]),
        batch[[0, 1, 2, 3, 4]],
    ):
        assert batch == same
        assert same == batch
        assert (batch != same) is False


@each_kind
def test_a_batch_is_unlike_everything_else_without_an_error(kind, rows):
    batch = kind.of(rows)
    others = [
        rows[:4],
        [*rows, rows[0]],
        rows[::-1],
        [*rows[:4], None],
        [None] * 5,
        "abcde",
        b"abcde",
        5,
        None,
    ]
    others += [range(5), {}, np.arange(5), np.arange(4), np.array(["a"] * 5), [np.arange(2)] * 5]
    others += [rows_of for other, rows_of in EXAMPLES if other is not kind]
    others += [other.of(rows_of) for other, rows_of in EXAMPLES if other is not kind]
    for other in others:
        assert (batch == other) is False
        assert (other == batch) is False
        assert (batch != other) is True


@pytest.mark.parametrize(
    ("rows", "at", "change"),
    [
        (DRAWS, 0, {"text": "two"}),
        (DRAWS, 0, {"epsilon": 1.5}),
        (DRAWS, 3, {"epsilon": 1.0}),
        (DRAWS, 0, {"key": 1}),
        (DRAWS, 1, {"key": LAST - 2**127}),
        (DRAWS, 0, {"key": -1}),
        (DRAWS, 0, {"epsilon": None}),
        (DRAWS, 0, {"text": []}),
        (REWRITES, 0, {"text": "other"}),
        (REWRITES, 1, {"error": ""}),
        (REWRITES, 0, {"units": None}),
        (REWRITES, 2, {"units": None}),
        (REWRITES, 0, {"units": 5}),
        (REWRITES, 0, {"tokens": (1, 2, 4)}),
        (REWRITES, 0, {"tokens": (1, 2)}),
        (REWRITES, 0, {"tokens": (1, 2, 3.5)}),
        (REWRITES, 2, {"tokens": None}),
        (REWRITES, 1, {"tokens": ()}),
        (REWRITES, 0, {"latent": floats(1, 2.5)}),
        (REWRITES, 2, {"latent": floats(0, 3, -1)}),
        (REWRITES, 4, {"latent": None}),
        (REWRITES, 3, {"latent": floats()}),
        (REWRITES, 0, {"latent": np.array(["a", "b"])}),
        (OBSERVATIONS, 0, {"output": REWRITES[1]}),
        (OBSERVATIONS, 0, {"candidates": ("b", "a")}),
        (OBSERVATIONS, 0, {"candidates": ("a",)}),
        (OBSERVATIONS, 4, {"candidates": ("a",)}),
        (OBSERVATIONS, 0, {"tie_key": 1}),
        (GUESSES, 0, {"scores": floats(1, 2, 4)}),
        (GUESSES, 0, {"scores": floats(1, 2)}),
        (GUESSES, 1, {"scores": floats(0, 0)}),
        (GUESSES, 0, {"scores": floats(1, 2, 3)[:, None]}),
        (GUESSES, 0, {"scores": None}),
        (GUESSES, 0, {"usable": False}),
        (GUESSES, 0, {"shown": np.array([0, 2, 1], np.int32)}),
        (GUESSES, 0, {"shown": None}),
        (GUESSES, 3, {"shown": None}),
        (GUESSES, 1, {"shown": np.array([0, 1], np.int32)}),
    ],
)
def test_a_change_in_one_place_makes_batches_unequal(rows, at, change):
    kind = next(kind for kind, known in EXAMPLES if known is rows)
    other = list(rows)
    other[at] = dataclasses.replace(rows[at], **change)
    assert kind.of(rows) != other
    assert other != kind.of(rows)
    with contextlib.suppress(TypeError, ValueError, OverflowError):  # what no batch can hold
        assert kind.of(rows) != kind.of(other)


def test_types_of_arrays_make_no_difference():
    row = Rewrite("a", (1,), floats(0.5, NAN))
    assert Rewrites.of([row]) == [dataclasses.replace(row, latent=floats(0.5, NAN, dtype=np.float16))]
    assert Guesses.of([Guess(floats(1, 2))]) == [Guess(np.array([1, 2], np.int8))]
    assert Guesses.of([Guess(floats(1), shown=np.array([1], np.int64))])[0].shown.dtype == np.int32


def test_big_batches_are_cut_and_joined_without_a_small_object(monkeypatch):
    n = 200_000

    def refuse(*_, **__):
        raise AssertionError("a small object was built")

    for name in ("Draw", "Rewrite", "Observation", "Guess"):
        monkeypatch.setattr(guesses if name == "Guess" else kinds, name, refuse)
    for kind in (Draw, Rewrite, Observation, Guess):
        monkeypatch.setattr(kind, "__init__", refuse)
    words, places = np.zeros((n, 4), np.uint32), np.zeros((n, 2), np.int32)
    lengths = np.arange(n + 1, dtype=np.int64) // 2
    tokens = Ragged(np.zeros(n // 2, np.int64), lengths)
    outputs = Rewrites.from_texts(["a"] * n, tokens=tokens, latents=np.zeros((n, 2), np.float32))
    made = [
        Draws(["a"], places[:, 0], np.ones(n), words),
        outputs,
        outputs.reveal(["text"]),
        Observations(outputs, ["a"], places, words),
        Observations(outputs, ["a"], None, words),
        Observations(outputs, ["a"], Ragged(np.zeros(n // 2, np.int32), lengths), words),
        Guesses(np.ones((n, 2)), np.ones(n, bool), places),
        Guesses(Ragged(np.zeros(n // 2), lengths), np.ones(n, bool)),
    ]
    order = np.arange(n)[::-1]
    for batch in made:
        for some in (batch[:], batch[order], batch[np.ones(n, bool)], batch[::-1]):
            assert len(some) == n
        joined = type(batch).join([batch[: n // 2], batch[n // 2 :]])
        assert len(joined) == n
        assert joined == batch
        assert len(pickle.loads(pickle.dumps(batch))) == n
    with pytest.raises(AssertionError, match="small object"):
        made[0][0]
