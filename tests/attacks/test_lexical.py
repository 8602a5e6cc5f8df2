"""The attack by shared words: exact over batches, right on easy cases, each output encoded once."""

import random

import numpy as np
import pytest

from tedaudit.api import load_corpus
from tedaudit.attacks import _similarity
from tedaudit.attacks.lexical import Lexical
from tedaudit.plugins.batches import Observations, Rewrites
from tedaudit.plugins.protocols import Prepares
from tedaudit.plugins.values import Observation, Rewrite
from tedaudit.seeding import key_words

POOL = load_corpus("demo").texts[:120]


def shortened(text):
    return " ".join(word for place, word in enumerate(text.split()) if place % 3)


OUTPUTS = ["", "?!", "\U0001f600", *(shortened(text) for text in POOL[:57])]


def pairs(seed=0, k=2):
    """Return observations of k candidates each."""
    rng = random.Random(seed)
    return [
        Observation(Rewrite(output), tuple(rng.sample(POOL, k)), place)
        for place, output in enumerate(OUTPUTS)
    ]


def whole():
    """Return observations whose candidates are the pool itself."""
    return [Observation(Rewrite(output), POOL, place) for place, output in enumerate(OUTPUTS)]


@pytest.fixture
def attack():
    ready = Lexical()
    ready.prepare(POOL)
    return ready


def scores(attack, seen, size=10_000):
    return [
        guess.scores
        for start in range(0, len(seen), size)
        for guess in attack.guess(seen[start : start + size])
    ]


def equal(some, others):
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize("make", [pairs, whole])
@pytest.mark.parametrize("size", [1, 7])
def test_scores_do_not_depend_on_the_batch_in_a_single_bit(attack, make, size):
    assert equal(scores(attack, make(), size), scores(attack, make()))


def test_scores_of_the_whole_pool_are_those_of_each_candidate(attack):
    one_by_one = [Observation(o.output, list(POOL), o.tie_key) for o in whole()]
    assert np.array(scores(attack, whole())) == pytest.approx(np.array(scores(attack, one_by_one)), abs=1e-13)


def test_candidates_keep_their_scores_in_any_order(attack):
    seen = pairs(k=5)
    turned = [Observation(o.output, o.candidates[::-1], o.tie_key) for o in seen]
    assert equal([row[::-1] for row in scores(attack, seen)], scores(attack, turned))


def test_sets_of_different_sizes_may_be_in_one_batch(attack):
    mixed = [o for both in zip(pairs(k=2), pairs(k=4), strict=True) for o in both]
    found = scores(attack, mixed)
    assert equal(found[0::2], scores(attack, pairs(k=2)))
    assert equal(found[1::2], scores(attack, pairs(k=4)))


class Counting:
    """An encoder that remembers what it encoded."""

    def __init__(self, encoder):
        self._encoder, self.encoded = encoder, []

    def __getattr__(self, name):
        return getattr(self._encoder, name)

    def encode(self, texts):
        self.encoded += texts
        return self._encoder.encode(texts)


@pytest.mark.parametrize("make", [pairs, whole])
def test_each_distinct_output_is_encoded_once_and_the_pool_not_again(attack, make):
    counting = Counting(attack._similarity._encoder)
    attack._similarity._encoder = counting
    attack.guess([o for o in make() for _ in range(3)])
    assert sorted(counting.encoded) == sorted([*set(OUTPUTS), *POOL])
    counting.encoded = []
    attack.guess(make())
    assert sorted(counting.encoded) == sorted(set(OUTPUTS))


@pytest.mark.parametrize("known", [True, False])
def test_few_candidates_of_a_large_pool_are_encoded_and_no_others(known):
    """A million texts and a thousand trials: two thousand texts are read, and not a million."""
    attack, pool = Lexical(), POOL if known else list(POOL)
    attack.prepare(POOL)
    batch = Observations(
        Rewrites.of([Rewrite("x"), Rewrite("y")]), pool, np.array([[3, 9], [9, 50]]), key_words([1, 2])
    )
    counting = Counting(attack._similarity._encoder)
    attack._similarity._encoder = counting
    found = attack.guess(batch)
    assert sorted(counting.encoded) == sorted(["x", "y", POOL[3], POOL[9], POOL[50]])
    whole = Lexical()
    whole.prepare(POOL)
    whole._similarity._load_table()
    assert equal([guess.scores for guess in found], [guess.scores for guess in whole.guess(batch)])


def test_the_vectors_of_a_very_large_pool_are_never_all_in_memory(attack, monkeypatch):
    expected = scores(attack, pairs())
    monkeypatch.setattr(_similarity, "_LARGE", 100)
    careful = Lexical()
    careful.prepare(POOL)
    assert equal(scores(careful, pairs(), 40), expected)
    assert careful._similarity._table is None
    assert attack._similarity._table is not None


def test_candidates_outside_the_pool_are_encoded_once_each(attack):
    counting = Counting(attack._similarity._encoder)
    attack._similarity._encoder = counting
    strangers = ("an unknown text", "another one")
    attack.guess(
        [Observation(Rewrite("x"), strangers, 0), Observation(Rewrite("x"), (*strangers[:1], POOL[0]), 1)]
    )
    assert sorted(counting.encoded) == sorted(["x", *strangers, POOL[0]])


def test_an_unchanged_text_scores_one_and_more_than_any_other(attack):
    found = scores(attack, [Observation(Rewrite(text), POOL, 0) for text in POOL])
    assert [int(row.argmax()) for row in found] == list(range(len(POOL)))
    assert [row.max() for row in found] == pytest.approx([1.0] * len(POOL))


def test_an_output_that_shares_nothing_scores_nothing(attack):
    for output in ("", "\u4e2d\u6587", "\x00"):
        assert scores(attack, [Observation(Rewrite(output), POOL[:3], 0)])[0].tolist() == [0, 0, 0]


def test_rare_words_weigh_more_once_the_pool_is_known():
    pool = ["please call anna", "please call bert", "please call carl", "please write anna dear"]
    output = Observation(Rewrite("please anna"), ("please call carl", "anna"), 0)
    ready, blank = Lexical(), Lexical()
    ready.prepare(pool * 5)
    known, unknown = ready.guess([output])[0].scores, blank.guess([output])[0].scores
    assert known[1] / known[0] > unknown[1] / unknown[0]


def test_it_sees_texts_only_and_every_guess_is_usable(attack):
    assert Lexical.card.sees == ("text",)
    assert isinstance(attack, Prepares)
    assert all(guess.usable and guess.scores.dtype == np.float64 for guess in attack.guess(pairs()))
