"""Draws and rewrites, each with its columns."""

import dataclasses
import pickle

import numpy as np
import pytest

from batch_examples import DRAWS, LAST, REWRITES, floats, plain
from tedaudit.plugins.batches import Draws, Guesses, Observations, Rewrites
from tedaudit.plugins.batches.columns import Ragged
from tedaudit.plugins.values import Draw, Guess, Observation, Rewrite
from tedaudit.seeding import key_words


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
