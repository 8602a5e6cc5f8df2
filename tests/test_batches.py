"""Batches are sequences of the small objects, held as columns: every row comes back as it went in."""

import contextlib
import copy
import dataclasses
import math
import pickle
from collections.abc import Hashable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tedaudit.batches import Draws, Guesses, Observations, Rewrites, kinds
from tedaudit.batches.columns import Ragged
from tedaudit.seeding import key_words
from tedaudit.types import Draw, Guess, Observation, Rewrite

NAN = math.nan
LAST = 2**128 - 1


def plain(value):
    """Return a value in a form that `==` compares as meant: arrays as lists, NaN equal to NaN."""
    if dataclasses.is_dataclass(value):
        return (type(value), [plain(getattr(value, field.name)) for field in dataclasses.fields(value)])
    if isinstance(value, np.ndarray):
        return ("array", [plain(entry) for entry in value.tolist()])
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def floats(*values, dtype=np.float64):
    return np.array(values, dtype=dtype)


DRAWS = [
    Draw("one", 1.0, 0),
    Draw("two", math.inf, LAST),
    Draw("one", 0.5, 2**127 + 2**96 + 2**64 + 2**32 + 5),
    Draw("half \ud800", NAN, 1),
    Draw("", 0.0, 2**64),
]
REWRITES = [
    Rewrite("all", (1, 2, 3), floats(1, 2), 4),
    Rewrite("", None, None, None, "too-long"),
    Rewrite("\udc00 half", (), floats(NAN, 3, -1), 0),
    Rewrite("line\nbreak", (2**62, -1), None, 7),
    Rewrite("é", None, floats(), None),
]
OBSERVATIONS = [
    Observation(REWRITES[0], ("a", "b"), 0),
    Observation(REWRITES[1], ("b", "c", "\ud800"), LAST),
    Observation(REWRITES[2], ("a",), 3),
    Observation(REWRITES[3], ("c", "a"), 2**96),
    Observation(REWRITES[4], (), 4),
]
GUESSES = [
    Guess(floats(1, 2, 3), True, np.array([2, 0, 1], np.int32)),
    Guess(floats(0, NAN), False),
    Guess(floats(-math.inf), True, np.array([0], np.int32)),
    Guess(floats(), True, np.array([], np.int32)),
    Guess(floats(5, 4), True),
]
EXAMPLES = [(Draws, DRAWS), (Rewrites, REWRITES), (Observations, OBSERVATIONS), (Guesses, GUESSES)]
each_kind = pytest.mark.parametrize(
    ("kind", "rows"), EXAMPLES, ids=lambda value: getattr(value, "__name__", "")
)

texts = st.sampled_from(["", "a", "b", "ab", "\ud800", "\udc00x", "é", "line\nbreak"])
keys = st.one_of(st.sampled_from([0, 1, 2**32, 2**96, LAST]), st.integers(0, LAST))
number = st.floats(width=32)
draws = st.builds(Draw, texts, st.floats(), keys)
tokens = st.none() | st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3).map(tuple)
latents = st.none() | st.lists(number, max_size=3).map(lambda row: np.array(row, np.float32))
rewrites = st.builds(
    Rewrite, texts, tokens, latents, st.none() | st.integers(0, 9), st.sampled_from(["", "bad"])
)
observations = st.builds(Observation, rewrites, st.lists(texts, max_size=3).map(tuple), keys)
shown = st.none() | st.lists(st.integers(0, 9), max_size=3).map(lambda row: np.array(row, np.int32))
guesses = st.builds(Guess, st.lists(number, max_size=3).map(np.array), st.booleans(), shown)
any_rows = st.one_of(
    st.tuples(st.just(kind), st.lists(rows, max_size=6))
    for kind, rows in ((Draws, draws), (Rewrites, rewrites), (Observations, observations), (Guesses, guesses))
)


@given(any_rows)
@settings(deadline=2000)
def test_every_row_comes_back_as_it_went_in(example):
    kind, rows = example
    batch = kind.of(rows)
    assert len(batch) == len(rows)
    assert plain(list(batch)) == plain(rows)
    assert plain([batch[i] for i in range(len(rows))]) == plain(rows)
    assert batch == rows
    assert plain(list(pickle.loads(pickle.dumps(batch)))) == plain(rows)


@given(any_rows, st.data())
@settings(deadline=2000)
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
@settings(deadline=2000)
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


def test_keys_keep_all_their_bits():
    given_keys = [0, LAST, 1 << 127, 1 << 32, 0x0123456789ABCDEF_FEDCBA9876543210]
    batch = Draws.of([Draw("a", 1.0, key) for key in given_keys])
    assert batch.keys.dtype == np.uint32
    assert batch.keys.shape == (5, 4)
    assert batch.keys[4].tolist() == [0x76543210, 0xFEDCBA98, 0x89ABCDEF, 0x01234567]
    assert [draw.key for draw in batch] == given_keys
    assert all(type(draw.key) is int and type(draw.epsilon) is float for draw in batch)
    seen = Observations.of([Observation(Rewrite(""), ("a",), key) for key in given_keys])
    assert [row.tie_key for row in seen] == given_keys
    with pytest.raises(OverflowError):
        Draws.of([Draw("a", 1.0, LAST + 1)])


def test_draws_are_columns_over_a_pool():
    batch = Draws.of(DRAWS)
    assert list(batch.pool) == ["one", "two", "half \ud800", ""]
    assert batch.text.dtype == np.int32
    assert batch.text.tolist() == [0, 1, 0, 2, 3]
    assert batch.epsilons.dtype == np.float64
    assert batch.texts == [draw.text for draw in DRAWS]
    assert batch[2:].pool is batch[[0]].pool is batch.pool
    assert batch[[2, 0]].texts == ["one", "one"]


def test_pools_are_joined_and_the_same_one_is_kept_once():
    batch = Draws.of(DRAWS)
    assert Draws.join([batch[:2], batch[2:]]).pool is batch.pool
    copied = pickle.loads(pickle.dumps(batch[2:]))
    assert Draws.join([batch[:2], copied]).pool is batch.pool
    other = Draws(["x", "one"], np.array([1, 0]), floats(1, 2), key_words([1, 2]))
    joined = Draws.join([batch, other, batch[:1], other])
    assert list(joined.pool) == ["one", "two", "half \ud800", "", "x", "one"]
    assert joined == [*DRAWS, *other, DRAWS[0], *other]


def test_a_pool_may_hold_a_text_twice():
    batch = Draws(("a", "a", "b"), np.array([0, 1, 2]), floats(1, 1, 1), key_words([1, 2, 3]))
    assert batch == [Draw("a", 1.0, 1), Draw("a", 1.0, 2), Draw("b", 1.0, 3)]


def test_columns_that_have_the_right_type_are_not_copied():
    text, epsilons, words = np.zeros(3, np.int32), floats(1, 2, 3), key_words([1, 2, 3])
    batch = Draws(["a"], text, epsilons, words)
    assert batch.text is text
    assert batch.epsilons is epsilons
    assert batch.keys is words
    scores = np.zeros((3, 2))
    assert Guesses(scores, np.ones(3, bool)).scores is scores
    assert np.shares_memory(Rewrites.from_texts(["a"] * 3, latents=scores).latents.values, scores)


ONE, TWO = np.zeros(1, np.int64), np.zeros(2, np.int64)
KEY, KEYS = key_words([1]), key_words([1, 2])
NONE = Ragged.absent(2, np.int64)
PAIR = Rewrites.from_texts(["a", "b"])


@pytest.mark.parametrize(
    ("kind", "columns", "named"),
    [
        (Draws, (["a"], ONE, floats(1, 2), KEYS), "text has 1, epsilons has 2, keys has 2"),
        (Draws, (["a"], TWO, floats(1), KEYS), "epsilons has 1"),
        (Draws, (["a"], TWO, floats(1, 2), KEY), "keys has 1"),
        (Rewrites, (["a"], ["", ""], TWO, NONE, NONE), "texts has 1"),
        (Rewrites, (["a", "b"], [""], TWO, NONE, NONE), "errors has 1"),
        (Rewrites, (["a", "b"], ["", ""], ONE, NONE, NONE), "units has 1"),
        (Rewrites, (["a", "b"], ["", ""], TWO, NONE.take([0]), NONE), "tokens has 1"),
        (Rewrites, (["a", "b"], ["", ""], TWO, NONE, NONE.take([0])), "latents has 1"),
        (Observations, (PAIR[:1], ["a"], None, KEYS), "outputs has 1, tie_keys has 2"),
        (Observations, (PAIR, ["a"], None, KEY), "tie_keys has 1"),
        (Observations, (PAIR, ["a"], np.zeros((1, 1), np.int32), KEYS), "candidates has 1"),
        (Guesses, (np.zeros((1, 2)), np.ones(2, bool)), "scores has 1, usable has 2"),
        (Guesses, (np.zeros((2, 2)), np.ones(1, bool)), "usable has 1"),
        (Guesses, (np.zeros((2, 2)), np.ones(2, bool), np.zeros((1, 2), np.int32)), "shown has 1"),
    ],
)
def test_columns_of_unequal_length_are_refused_by_name(kind, columns, named):
    with pytest.raises(ValueError, match=f"All columns of {kind.__name__} must have as many rows.*{named}"):
        kind(*columns)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Draws(["a"], np.array([0, 1]), floats(1, 2), KEYS), "no text at position 1 of a pool of 1"),
        (lambda: Draws(["a"], np.array([0, -1]), floats(1, 2), KEYS), "no text at position -1"),
        (lambda: Draws(["a"], TWO, floats(1, 2)[:, None], KEYS), "epsilons has 2 dimensions"),
        (lambda: Draws(["a"], TWO, floats(1, 2), np.zeros((2, 3), np.uint32)), "four words"),
        (lambda: Draws(["a"], TWO, floats(1, 2), np.zeros((2, 4), np.int64)), "four words"),
        (lambda: Observations(PAIR, ["a"], np.array([[0], [1]]), KEYS), "no text at position 1"),
        (lambda: Observations(PAIR, ["a"], np.array([0, 0]), KEYS), "candidates has 1 dimensions"),
        (lambda: Observations(PAIR, ["a"], Ragged.of([[0], None], np.int32), KEYS), "candidates lacks row 1"),
        (lambda: Guesses(floats(1, 2), np.ones(2, bool)), "scores has 1 dimensions"),
        (lambda: Guesses(Ragged.of([None, [1.0]], float), np.ones(2, bool)), "scores lacks row 0"),
        (lambda: Guesses.of([Guess(floats(1, 2)[:, None])]), "one dimension"),
        (lambda: Rewrites.from_texts(["a"], latents=floats(1)), "2 dimensions"),
        (lambda: Rewrites.from_texts(["a", "b"], units=ONE), "units has 1"),
        (
            lambda: PAIR.reveal(["text", "units"]),
            "no part 'units'. Its parts are: text, tokens, latent, error",
        ),
    ],
)
def test_columns_that_make_no_sense_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    "build",
    [
        lambda: Draws(["a"], floats(0, 0), floats(1, 2), KEYS),
        lambda: Rewrites.of([Rewrite("a", (1, 2.5))]),
        lambda: Rewrites.from_texts(["a"], tokens=floats(1)[:, None]),
        lambda: Rewrites.from_texts(["a"], units=0.5),
        lambda: Guesses(np.zeros((2, 1)), floats(1, 0)),
    ],
)
def test_a_fraction_is_not_cut_to_a_whole_number(build):
    with pytest.raises(TypeError):
        build()


def test_a_column_cannot_be_replaced():
    batch = Draws.of(DRAWS)
    with pytest.raises(dataclasses.FrozenInstanceError):
        batch.epsilons = batch.epsilons * 2


def test_rewrites_are_columns():
    batch = Rewrites.of(REWRITES)
    assert batch.texts == [row.text for row in REWRITES]
    assert batch.errors == ["", "too-long", "", "", ""]
    assert batch.failed.tolist() == [False, True, False, False, False]
    assert batch.failed.dtype == np.bool_
    assert batch.units.dtype == np.int64
    assert batch.units.tolist() == [4, -1, 0, 7, -1]
    assert batch.tokens.values.tolist() == [1, 2, 3, 2**62, -1]
    assert batch.tokens.offsets.tolist() == [0, 3, 3, 3, 5, 5]
    assert batch.tokens.missing.tolist() == [False, True, False, False, True]
    assert batch.latents.lengths.tolist() == [2, 0, 3, 0, 0]
    assert batch.latents.missing.tolist() == [False, True, False, True, False]
    assert all(type(token) is int for row in batch if row.tokens for token in row.tokens)
    assert type(batch[0].units) is int


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_latents_keep_their_type_and_lose_their_shape(dtype):
    latent = np.arange(6).reshape(2, 3).astype(dtype)
    batch = Rewrites.of([Rewrite("a", latent=latent), Rewrite("b")])
    assert batch[0].latent.dtype == dtype
    assert batch[0].latent.tolist() == [0, 1, 2, 3, 4, 5]
    without = Rewrites.from_texts(["c"])
    joined = Rewrites.join([without, batch[::-1], without, batch])
    assert joined[2].latent.dtype == dtype
    assert plain(joined[2]) == plain(batch[0])
    assert joined[[0, 2]][1].latent.dtype == joined.reveal(["latent"])[2].latent.dtype == dtype
    assert batch == [Rewrite("a", latent=latent), Rewrite("b")]


def test_rewrites_are_made_from_columns_of_every_form():
    tokens, latents = np.array([[1, 2], [3, 4]], np.int32), np.ones((2, 3), np.float32)
    made = Rewrites.from_texts(("a", "b"), tokens=tokens, latents=latents, units=2)
    ones = np.ones(3, np.float32)
    assert list(map(plain, made)) == [
        plain(Rewrite("a", (1, 2), ones, 2)),
        plain(Rewrite("b", (3, 4), ones, 2)),
    ]
    assert made.tokens.values.dtype == np.int64
    assert made.latents.values.dtype == np.float32
    assert list(PAIR) == [Rewrite("a"), Rewrite("b")]
    ragged = Rewrites.from_texts(["a", "b"], errors=["", "bad"], tokens=[[1], None], units=np.array([-1, 0]))
    assert ragged == [Rewrite("a", (1,)), Rewrite("b", units=0, error="bad")]
    arrays = Rewrites.from_texts(["a", "b"], tokens=[np.array([1]), np.array([])], latents=ragged.latents)
    assert arrays == [Rewrite("a", (1,)), Rewrite("b", ())]
    assert Rewrites.from_texts([], tokens=np.zeros((0, 3), int), latents=np.zeros((0, 2)), units=1) == []


FULL = Rewrites.of([Rewrite("a", (1, 2), floats(1, 2), 3, "bad"), Rewrite("b", (), floats(3), 4)])


@pytest.mark.parametrize(
    ("sees", "left"),
    [
        ([], [Rewrite(""), Rewrite("")]),
        (["text"], [Rewrite("a"), Rewrite("b")]),
        (["tokens"], [Rewrite("", (1, 2)), Rewrite("", ())]),
        (["latent"], [Rewrite("", latent=floats(1, 2)), Rewrite("", latent=floats(3))]),
        (["error"], [Rewrite("", error="bad"), Rewrite("")]),
        (
            ["error", "latent", "text", "tokens"],
            [Rewrite("a", (1, 2), floats(1, 2), None, "bad"), Rewrite("b", (), floats(3))],
        ),
    ],
    ids=["nothing", "text", "tokens", "latent", "error", "everything"],
)
def test_only_the_named_parts_are_revealed(sees, left):
    seen = FULL.reveal(sees)
    assert isinstance(seen, Rewrites)
    assert list(map(plain, seen)) == list(map(plain, left))
    assert seen.units.tolist() == [-1, -1]
    if "tokens" not in sees:
        assert seen.tokens.values.size == 0
        assert seen.tokens.missing.all()
    if "latent" not in sees:
        assert seen.latents.values.size == 0
        assert seen.latents.missing.all()


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


ROWS = [[1, 2], None, [], [3], [4, 5, 6], None]


def rows_of(ragged):
    return [None if (row := ragged.row(i)) is None else row.tolist() for i in range(len(ragged))]


def test_ragged_rows_are_views_or_missing():
    ragged = Ragged.of(ROWS, np.int64)
    assert rows_of(ragged) == ROWS
    assert len(ragged) == 6
    assert repr(ragged) == "<Ragged of 6 rows with 6 values>"
    assert ragged.lengths.tolist() == [2, 0, 0, 1, 3, 0]
    assert ragged.row(-2).tolist() == [4, 5, 6]
    assert np.shares_memory(ragged.row(0), ragged.values)
    assert ragged.matrix() is None
    for wrong in (6, -7):
        with pytest.raises(IndexError):
            ragged.row(wrong)


@given(st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), max_size=6), st.data())
@settings(deadline=2000)
def test_ragged_rows_are_taken_as_from_a_list(rows, data):
    ragged = Ragged.of(rows, np.int64)
    chosen = data.draw(st.lists(st.integers(-len(rows), len(rows) - 1), max_size=8)) if rows else []
    assert rows_of(ragged.take(np.array(chosen, int))) == [rows[i] for i in chosen]
    cut = data.draw(st.slices(len(rows)))
    assert rows_of(ragged.take(cut)) == rows[cut]
    assert rows_of(Ragged.join([ragged, ragged.take(cut)])) == rows + rows[cut]


def test_rows_of_one_length_are_a_matrix_and_back():
    matrix = np.arange(6, dtype=np.float32).reshape(3, 2)
    ragged = Ragged.from_matrix(matrix)
    assert rows_of(ragged) == matrix.tolist()
    assert ragged.missing is None
    assert ragged.matrix().tolist() == matrix.tolist()
    assert np.shares_memory(ragged.matrix(), matrix)
    assert np.shares_memory(ragged.take(slice(1, 3)).values, matrix)
    assert ragged.take([2, 0]).matrix().tolist() == [[4, 5], [0, 1]]
    assert Ragged.of([[], []], float).matrix().shape == (2, 0)
    assert Ragged.from_matrix(np.zeros((0, 3))).matrix().shape == (0, 0)
    assert Ragged.of([[1], None], int).matrix() is None
    assert Ragged.of([[1], [2, 3]], int).matrix() is None
    with pytest.raises(ValueError, match="2 dimensions"):
        Ragged.from_matrix(floats(1))


@pytest.mark.parametrize("row", [np.zeros((2, 1)), np.zeros((0, 2)), np.float64(1), 3])
def test_a_ragged_row_of_another_shape_is_refused(row):
    with pytest.raises(ValueError, match="Every row of a ragged column must have one dimension"):
        Ragged.of([[1.0], row], np.float64)


def test_nobody_missing_is_the_same_as_no_column_of_missing_rows():
    assert Ragged(floats(1), np.array([0, 1]), np.array([False])).missing is None
    assert Ragged.of([[1], []], int).missing is None


@pytest.mark.parametrize(
    ("values", "offsets", "missing"),
    [
        (floats(1, 2), [0, 1], None),
        (floats(1, 2), [1, 2], None),
        (floats(1, 2), [], None),
        (floats(1, 2), [0, 2, 1, 2], None),
        (floats(1, 2)[:, None], [0, 2], None),
        (floats(1, 2), [0, 2], [True]),
        (floats(1, 2), [0, 2], [False, False]),
    ],
)
def test_ragged_columns_that_make_no_sense_are_refused(values, offsets, missing):
    with pytest.raises(ValueError, match="must"):
        Ragged(values, np.array(offsets, np.int64), None if missing is None else np.array(missing))


def test_big_batches_are_cut_and_joined_without_a_small_object(monkeypatch):
    n = 200_000

    def refuse(*_, **__):
        raise AssertionError("a small object was built")

    for name in ("Draw", "Rewrite", "Observation", "Guess"):
        monkeypatch.setattr(kinds, name, refuse)
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
