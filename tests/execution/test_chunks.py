import math
from functools import partial

import numpy as np
import pytest

from helpers import Latents, reference
from tedaudit.errors import PluginError
from tedaudit.execution.chunks import (
    GuessChunk,
    RewriteChunk,
    read_chunk,
    read_result,
    write_chunk,
    write_result,
)
from tedaudit.registry import Reference
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
    return [
        *(Rewrite(text) for text in ODD_TEXTS),
        Rewrite("t", (1, 2, 3), np.array([0.1, -3e38], dtype=np.float32), 3),
        Rewrite("", error="failed"),
        Rewrite("l", (), np.zeros((2, 3))),
    ]


def test_a_rewrite_chunk_travels_through_a_file(tmp_path):
    plugin = Reference("mechanism", "word-rr", {"slots": 3, "vocabulary": ["a", "b"]})
    draws = [
        Draw(text, epsilon, 2**127 + i) for i, text in enumerate(ODD_TEXTS) for epsilon in (0.1, math.inf)
    ]
    write_chunk(tmp_path / "c", RewriteChunk(plugin, draws))
    back = read_chunk(tmp_path / "c")
    assert isinstance(back, RewriteChunk)
    assert back.plugin == plugin
    assert list(back.draws) == draws
    assert len(back) == len(draws)


@pytest.mark.parametrize("candidates", [None, np.arange(30, dtype=np.int32).reshape(10, 3) % 7])
def test_a_guess_chunk_travels_through_a_file_with_everything_that_the_attack_may_see(tmp_path, candidates):
    chunk = GuessChunk(
        Reference("attack", "lexical"), tuple(ODD_TEXTS), _outputs(), candidates, [2**120] * 10
    )
    write_chunk(tmp_path / "c", chunk)
    back = read_chunk(tmp_path / "c")
    assert isinstance(back, GuessChunk)
    assert (back.plugin, back.pool, list(back.tie_keys)) == (chunk.plugin, chunk.pool, chunk.tie_keys)
    assert len(back) == 10
    for old, new in zip(chunk.observations(0, 99), back.observations(0, 99), strict=True):
        _same(old.output, new.output)
        assert tuple(old.candidates) == tuple(new.candidates)
        assert old.tie_key == new.tie_key
    if candidates is None:
        assert back.observations(0, 1)[0].candidates is back.pool
    else:
        assert back.candidates.dtype == np.int32


def test_observations_hold_the_texts_of_the_candidates_in_order():
    candidates = np.array([[2, 0], [1, 2]], dtype=np.int32)
    chunk = GuessChunk(
        reference("attack", "lexical"), ("a", "b", "c"), [Rewrite("x")] * 2, candidates, [5, 6]
    )
    assert [o.candidates for o in chunk.observations(0, 2)] == [("c", "a"), ("b", "c")]
    assert [o.tie_key for o in chunk.observations(1, 2)] == [6]


def test_rewrites_travel_back_with_tokens_latents_and_errors(tmp_path):
    write_result(tmp_path / "r", _outputs())
    chunk = RewriteChunk(reference("mechanism", "identity"), [Draw("", 1.0, 1)] * 10)
    for old, new in zip(_outputs(), read_result(tmp_path / "r", chunk), strict=True):
        _same(old, new)


def test_guesses_travel_back_bit_by_bit(tmp_path):
    guesses = [Guess(np.array([0.1, 1 / 3, -math.inf])), Guess(np.array([math.nan] * 2), usable=False)]
    write_result(tmp_path / "r", guesses)
    chunk = GuessChunk(reference("attack", "lexical"), ("a", "b"), [Rewrite("x")] * 2, None, [1, 2])
    back = read_result(tmp_path / "r", chunk)
    assert [guess.usable for guess in back] == [True, False]
    for old, new in zip(guesses, back, strict=True):
        np.testing.assert_array_equal(old.scores, new.scores)


def test_a_chunk_without_work_has_a_result_without_rows(tmp_path):
    rewrite = RewriteChunk(reference("mechanism", "identity"), [])
    guess = GuessChunk(reference("attack", "lexical"), ("a", "b"), [], np.zeros((0, 2), np.int32), [])
    for number, chunk in enumerate((rewrite, guess)):
        source, target = tmp_path / f"{number}.in", tmp_path / f"{number}.out"
        write_chunk(source, chunk)
        assert len(read_chunk(source)) == 0
        write_result(target, [])
        assert read_result(target, chunk) == []


def test_latents_of_an_earlier_chunk_in_the_same_place_are_not_taken_for_new_ones(tmp_path):
    pool, keys = ("a", "b"), [1]
    plugin = reference("attack", "lexical")
    for output in (Rewrite("x", latent=np.ones(3)), Rewrite("x")):
        write_chunk(tmp_path / "c", GuessChunk(plugin, pool, [output], None, keys))
        write_result(tmp_path / "r", [output])
    assert read_chunk(tmp_path / "c").outputs[0].latent is None
    chunk = RewriteChunk(reference("mechanism", "identity"), [Draw("x", 1.0, 1)])
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
        write_chunk(tmp_path / "c", RewriteChunk(plugin, [Draw("a", 1.0, 1)]))
    assert not (tmp_path / "c").exists()


def test_the_mechanism_travels_with_the_guesses_of_an_attack_that_knows_it(tmp_path):
    chunk = GuessChunk(
        reference("attack", "likelihood"), ("a", "b"), [Rewrite("a", tokens=(1, 0))], None, [1],
        reference("mechanism", "word-rr", slots=2), 3.5,
    )  # fmt: skip
    write_chunk(tmp_path / "c", chunk)
    back = read_chunk(tmp_path / "c")
    assert back.mechanism == chunk.mechanism
    assert back.epsilon == 3.5
    write_chunk(
        tmp_path / "c", GuessChunk(reference("attack", "lexical"), ("a", "b"), [Rewrite("a")], None, [1])
    )
    plain = read_chunk(tmp_path / "c")
    assert plain.mechanism is None
    assert plain.epsilon == float("inf")
