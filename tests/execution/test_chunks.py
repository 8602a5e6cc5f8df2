import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from helpers import Latents, reference
from tedaudit.batches import Draws, Guesses, Observations, Ragged, Rewrites
from tedaudit.errors import PluginError
from tedaudit.execution.chunks import (
    GuessChunk,
    RewriteChunk,
    read_chunk,
    read_result,
    write_chunk,
    write_result,
)
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.registry import Reference
from tedaudit.seeding import key_words
from tedaudit.types import Draw, Guess, Rewrite

ODD_TEXTS = [
    "",
    "plain",
    "naïve 漢字",
    "two\nlines\r\n",
    "\u2028\x0c\x00",
    "half \ud800 a pair",
    '"quoted" \\n',
]


def _same(left, right):
    assert (left.text, left.tokens, left.units, left.error) == (
        right.text, right.tokens, right.units, right.error,
    )  # fmt: skip
    assert (left.latent is None) == (right.latent is None)
    if left.latent is not None:
        assert left.latent.dtype == right.latent.dtype
        assert left.latent.tolist() == right.latent.tolist()


def _outputs():
    return Rewrites.of(
        [
            *(Rewrite(text) for text in ODD_TEXTS),
            Rewrite("t", (1, 2, 3), np.array([0.1, -3e38], dtype=np.float32), 3),
            Rewrite("", error="failed"),
            Rewrite("l", (), np.zeros(6, dtype=np.float32)),
        ]
    )


def _seen(outputs, pool=("a", "b"), candidates=None):
    return Observations(Rewrites.of(outputs), pool, candidates, key_words(range(1, len(outputs) + 1)))


def test_a_rewrite_chunk_travels_through_a_file(tmp_path):
    plugin = Reference("mechanism", "word-rr", {"slots": 3, "vocabulary": ["a", "b"]})
    draws = [
        Draw(text, epsilon, 2**127 + i) for i, text in enumerate(ODD_TEXTS) for epsilon in (0.1, math.inf)
    ]
    write_chunk(tmp_path / "c", RewriteChunk(plugin, Draws.of(draws)))
    back = read_chunk(tmp_path / "c")
    assert isinstance(back, RewriteChunk)
    assert back.plugin == plugin
    assert list(back.draws) == draws
    assert len(back) == len(draws)


@pytest.mark.parametrize(
    "candidates",
    [
        None,
        np.arange(30, dtype=np.int32).reshape(10, 3) % 7,
        Ragged.of([np.arange(2 + row % 3) for row in range(10)], np.int32),
    ],
    ids=["everybody", "matrix", "ragged"],
)
def test_a_guess_chunk_travels_through_a_file_with_everything_that_the_attack_may_see(tmp_path, candidates):
    seen = Observations(_outputs(), tuple(ODD_TEXTS), candidates, key_words([2**120 + n for n in range(10)]))
    chunk = GuessChunk(Reference("attack", "lexical"), seen, practice=("one text", "another"))
    write_chunk(tmp_path / "c", chunk)
    back = read_chunk(tmp_path / "c")
    assert isinstance(back, GuessChunk)
    assert (back.plugin, back.practice, len(back)) == (chunk.plugin, chunk.practice, 10)
    assert back.observations == seen
    assert back.observations.pool == tuple(ODD_TEXTS)
    for old, new in zip(chunk.batch(0, 99), back.batch(0, 99), strict=True):
        _same(old.output, new.output)
        assert tuple(old.candidates) == tuple(new.candidates)
        assert old.tie_key == new.tie_key
    if candidates is None:
        assert back.batch(0, 1)[0].candidates is back.observations.pool
    elif isinstance(candidates, np.ndarray):
        assert back.observations.candidates.dtype == np.int32


def test_observations_hold_the_texts_of_the_candidates_in_order():
    candidates = np.array([[2, 0], [1, 2]], dtype=np.int32)
    chunk = GuessChunk(reference("attack", "lexical"), _seen([Rewrite("x")] * 2, ("a", "b", "c"), candidates))
    assert [o.candidates for o in chunk.batch(0, 2)] == [("c", "a"), ("b", "c")]
    assert [o.tie_key for o in chunk.batch(1, 2)] == [2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rewrites_travel_back_with_tokens_latents_and_errors(tmp_path, dtype):
    outputs = Rewrites.of(
        [replace(row, latent=None if row.latent is None else row.latent.astype(dtype)) for row in _outputs()]
    )
    write_result(tmp_path / "r", outputs)
    chunk = RewriteChunk(reference("mechanism", "identity"), Draws.of([Draw("", 1.0, 1)] * 10))
    for old, new in zip(outputs, read_result(tmp_path / "r", chunk), strict=True):
        _same(old, new)


@pytest.mark.parametrize("shown", [None, np.array([1, 0, 2], dtype=np.int32)])
@pytest.mark.parametrize("sizes", [(3, 3), (3, 2)])
def test_guesses_travel_back_bit_by_bit(tmp_path, sizes, shown):
    guesses = [
        Guess(np.array([0.1, 1 / 3, -math.inf])[: sizes[0]], shown=shown),
        Guess(np.array([math.nan] * sizes[1]), usable=False),
    ]
    write_result(tmp_path / "r", Guesses.of(guesses))
    chunk = GuessChunk(reference("attack", "lexical"), _seen([Rewrite("x")] * 2))
    back = read_result(tmp_path / "r", chunk)
    assert [guess.usable for guess in back] == [True, False]
    for old, new in zip(guesses, back, strict=True):
        np.testing.assert_array_equal(old.scores, new.scores)
        assert (old.shown is None) == (new.shown is None)
        if old.shown is not None:
            assert new.shown.tolist() == old.shown.tolist()


def test_a_chunk_without_work_has_a_result_without_rows(tmp_path):
    rewrite = RewriteChunk(reference("mechanism", "identity"), Draws.of([]))
    guess = GuessChunk(reference("attack", "lexical"), _seen([], candidates=np.zeros((0, 2), np.int32)))
    for number, (chunk, batch) in enumerate(((rewrite, Rewrites), (guess, Guesses))):
        source, target = tmp_path / f"{number}.in", tmp_path / f"{number}.out"
        write_chunk(source, chunk)
        assert len(read_chunk(source)) == 0
        write_result(target, batch.of([]))
        assert read_result(target, chunk) == []


def test_latents_of_an_earlier_chunk_in_the_same_place_are_not_taken_for_new_ones(tmp_path):
    plugin = reference("attack", "lexical")
    for output in (Rewrite("x", latent=np.ones(3)), Rewrite("x")):
        write_chunk(tmp_path / "c", GuessChunk(plugin, _seen([output])))
        write_result(tmp_path / "r", Rewrites.of([output]))
    assert read_chunk(tmp_path / "c").observations[0].output.latent is None
    chunk = RewriteChunk(reference("mechanism", "identity"), Draws.of([Draw("x", 1.0, 1)]))
    assert read_result(tmp_path / "r", chunk)[0].latent is None


@pytest.mark.parametrize(
    "plugin",
    [
        Reference("mechanism", "latents", live=Latents()),
        Reference("mechanism", "function", {"function": str.upper}),
        Reference("mechanism", "function", {"function": partial(str.replace, "a")}),
    ],
)
def test_an_object_of_this_process_cannot_travel_and_the_error_says_what_can(tmp_path, plugin):
    with pytest.raises(PluginError, match=rf"'{plugin.name}' is an object.*py:package\.module:name"):
        write_chunk(tmp_path / "c", RewriteChunk(plugin, Draws.of([Draw("a", 1.0, 1)])))
    assert not (tmp_path / "c").exists()


def test_the_mechanism_travels_with_the_guesses_of_an_attack_that_knows_it(tmp_path):
    seen = _seen([Rewrite("a", tokens=(1, 0))])
    mechanism = reference("mechanism", "word-rr", slots=2)
    chunk = GuessChunk(reference("attack", "likelihood"), seen, mechanism, Nominal(3.5))
    write_chunk(tmp_path / "c", chunk)
    back = read_chunk(tmp_path / "c")
    assert back.mechanism == chunk.mechanism
    assert back.epsilon == 3.5
    write_chunk(tmp_path / "c", GuessChunk(reference("attack", "lexical"), seen))
    plain = read_chunk(tmp_path / "c")
    assert plain.mechanism is None
    assert plain.epsilon is NO_EPSILON
