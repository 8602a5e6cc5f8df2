"""Chunks on their way to workers: what comes out is what went in, and what is shared travels once."""

import numpy as np
import pytest

from engine_examples import POOL, make_draws
from helpers import reference, sentences
from tedaudit.batches import Observations, OwnRewrites, Rewrites
from tedaudit.errors import PluginError
from tedaudit.execution.units import GuessChunk, RewriteChunk
from tedaudit.execution.wire import _KEPT, Shelf, unpack, unpack_thing
from tedaudit.nominal import Nominal
from tedaudit.plugins.registry import Reference
from tedaudit.seeding import key_words
from tedaudit.types import Rewrite

REWRITES = [
    Rewrite("a\ud800 half", (1, 2, 3), np.array([0.5, -1.5], dtype=np.float32), 3),
    Rewrite("", error="raised-ValueError"),
    Rewrite("line\u2028separator\n", (), None, 0),
]


def _travel(shelf, chunk):
    """Return a chunk as a worker gets it."""
    parcel, needs = shelf.pack(chunk)
    there = {}
    for number in sorted(needs):
        there[number] = unpack_thing(bytearray(shelf.parcel(number)), there)
    return unpack(bytearray(parcel), there)


def test_chunks_come_out_as_they_went_in():
    keys = key_words([1, 2, 2**127])
    seen = Observations(Rewrites.of(REWRITES), POOL, np.array([[0, 1], [2, 3], [4, 11]]), keys)
    own = OwnRewrites(POOL, np.array([3, 3, 5], dtype=np.int32), Rewrites.of(REWRITES))
    attack, mechanism = reference("attack", "lexical"), reference("mechanism", "word-rr", slots=5)
    chunk = GuessChunk(attack, seen, mechanism, Nominal(4.0), tuple(sentences(5)), own)
    back = _travel(Shelf(), chunk)
    assert (back.plugin, back.mechanism, back.epsilon) == (attack, mechanism, Nominal(4.0))
    assert back.plugin.identity == attack.identity
    assert (back.observations, back.practice, back.own) == (seen, chunk.practice, own)
    assert back.own.pool is back.observations.pool  # which travelled once
    whole = GuessChunk(attack, Observations(Rewrites.of(REWRITES), POOL, None, keys))
    assert _travel(Shelf(), whole).observations == whole.observations
    rewriting = RewriteChunk(mechanism, make_draws(1, 5, 5), own=True)
    back = _travel(Shelf(), rewriting)
    assert (back.draws, back.own, back.repeats) == (rewriting.draws, True, False)


def test_settings_keep_the_difference_between_lists_and_tuples():
    plugin = Reference("mechanism", "word-rr", {"vocabulary": ("a", "b"), "slots": [1, {"x": (2,)}]})
    back = _travel(Shelf(), RewriteChunk(plugin, make_draws(1)))
    assert back.plugin.identity == plugin.identity


def test_what_chunks_share_is_packed_once():
    shelf = Shelf()
    pool = tuple(sentences(200))
    chunks = [
        Observations(Rewrites.from_texts(["x"]), pool, np.array([[i, i + 1]]), key_words([i]))
        for i in range(5)
    ]
    packed = [shelf.pack(GuessChunk(reference("attack", "lexical"), seen)) for seen in chunks]
    assert {needs for _, needs in packed} == {frozenset({1})}
    assert max(len(parcel) for parcel, _ in packed) < 1500 < len(shelf.parcel(1))
    assert shelf.parcel(1) is shelf.parcel(1)


def test_a_live_object_is_the_same_object_for_every_chunk():
    shelf, there = Shelf(), {}

    def rewrite(text):
        return text[::-1]

    plugin = Reference("mechanism", "function", {"function": rewrite})
    parcels = [shelf.pack(RewriteChunk(plugin, make_draws(n))) for n in (1, 2)]
    for number in sorted(parcels[0][1] | parcels[1][1]):
        there[number] = unpack_thing(shelf.parcel(number), there)
    one, other = [unpack(parcel, there).plugin.params["function"] for parcel, _ in parcels]
    assert one is other
    assert one("abc") == "cba"


def test_the_shelf_forgets_the_oldest_things_that_nothing_needs():
    shelf = Shelf()
    pools = [(f"text {n}", "other") for n in range(_KEPT + 5)]
    for pool in pools:
        seen = Observations(Rewrites.from_texts(["x"]), pool, None, key_words([1]))
        shelf.pack(GuessChunk(reference("attack", "lexical"), seen))
    assert shelf.forget(frozenset({1, 3})) == [2, 4, 5]
    assert shelf.forget(frozenset()) == [1, 3]
    with pytest.raises(KeyError):
        shelf.parcel(1)
    own = OwnRewrites(pools[-1], np.zeros(1, dtype=np.int32), Rewrites.from_texts(["y"]))
    _, needs = shelf.pack(own_chunk := GuessChunk(reference("attack", "resample"), seen, own=own))
    assert len(needs) == 2
    assert max(needs) not in shelf.forget(needs)
    assert _travel(shelf, own_chunk).own == own


def test_an_object_that_cannot_travel_is_named():
    plugin = Reference("mechanism", "function", {"function": (line for line in "abc").__next__})
    with pytest.raises(
        PluginError, match=r"cannot travel to another process \(TypeError.*`serial`, or name it"
    ):
        Shelf().pack(RewriteChunk(plugin, make_draws(1)))
