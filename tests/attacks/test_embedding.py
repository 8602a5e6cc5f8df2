"""The external embedding attack with a real encoder: exact over batches, loaded late, sparing with work."""

import numpy as np
import pytest

from encoder_examples import find_minilm, go_offline
from tedaudit.attacks.embedding import Embedding
from tedaudit.errors import EncoderError
from tedaudit.plugins.registry import determinants
from tedaudit.plugins.values import Observation, Rewrite

POOL = (
    "book a table for four", "the flight was late", "send the invoice today", "it rained all week",
    "turn down the heat", "my tooth hurts", "the film was good", "where is the night bus",
    "she lost her keys",
)  # fmt: skip
OUTPUTS = ["", *(" ".join(text.split()[1:]) for text in POOL)]


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    go_offline(monkeypatch)


@pytest.fixture(scope="module")
def attack():
    ready = Embedding(str(find_minilm()))
    ready.prepare(POOL)
    return ready


def pairs():
    return [
        Observation(Rewrite(output), (POOL[place % 9], POOL[(place + 5) % 9]), place)
        for place, output in enumerate(OUTPUTS)
    ]


def whole(pool=POOL):
    return [Observation(Rewrite(output), pool, place) for place, output in enumerate(OUTPUTS)]


def scores(attack, seen, size=10_000):
    parts = [attack.guess(seen[start : start + size]) for start in range(0, len(seen), size)]
    return np.array([guess.scores for part in parts for guess in part])


@pytest.mark.parametrize("make", [pairs, whole])
@pytest.mark.parametrize(("size", "outputs"), [(1, 3), (7, 10)])
def test_scores_do_not_depend_on_the_batch_in_a_single_bit(attack, make, size, outputs):
    assert np.array_equal(scores(attack, make()[:outputs], size), scores(attack, make())[:outputs])


@pytest.mark.parametrize("outputs", [1, 3, 63, 64, 65, 200])
def test_products_with_a_large_pool_do_not_depend_on_the_number_of_outputs(attack, outputs):
    """The vectors are exact (see the encoder's own tests); here the products are, at sizes that matter."""
    from tedaudit.attacks._similarity import Similarity

    rows = np.random.default_rng(0).normal(size=(700, 384))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = {f"text {i}": row for i, row in enumerate(rows.astype(np.float32))}

    class Known:
        name = "known"

        def fit(self, texts): ...

        def encode(self, texts):
            return np.array([table[text] for text in texts])

    similarity = Similarity(Known())
    pool = tuple(table)[200:]
    similarity.prepare(pool)
    seen = [Observation(Rewrite(text), pool, 0) for text in list(table)[:200]]
    everything = np.array([guess.scores for guess in similarity.guess(seen)])
    some = np.array([guess.scores for guess in similarity.guess(seen[:outputs])])
    last = np.array([guess.scores for guess in similarity.guess(seen[-outputs:])])
    assert np.array_equal(some, everything[:outputs])
    assert np.array_equal(last, everything[-outputs:])
    assert everything == pytest.approx(rows[:200] @ rows[200:].T, abs=1e-7)
    backwards = [Observation(Rewrite(text), pool[::-1], 0) for text in list(table)[:200]]
    assert np.array_equal([guess.scores[::-1] for guess in similarity.guess(backwards)], everything)


def test_scores_of_the_whole_pool_are_those_of_each_candidate(attack):
    assert np.array_equal(scores(attack, whole()), scores(attack, whole(list(POOL))))


def test_scores_are_cosines_of_embeddings(attack):
    encoder = attack._similarity._encoder
    outputs, pool = encoder.encode(OUTPUTS).astype(np.float64), encoder.encode(POOL).astype(np.float64)
    assert scores(attack, whole(list(POOL))) == pytest.approx(outputs @ pool.T, abs=1e-7)


def test_an_unchanged_text_scores_one_and_more_than_any_other(attack):
    found = scores(attack, [Observation(Rewrite(text), POOL, 0) for text in POOL])
    assert found.argmax(axis=1).tolist() == list(range(9))
    assert found.max(axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("make", [pairs, whole])
def test_each_distinct_output_is_encoded_once_and_the_pool_not_again(attack, make, monkeypatch):
    encoder, encoded = attack._similarity._encoder, []
    encode = encoder.encode
    monkeypatch.setattr(encoder, "encode", lambda texts: (encoded.extend(texts), encode(texts))[1])
    attack.guess([o for o in make() for _ in range(3)])
    assert sorted(encoded) == sorted(set(OUTPUTS))


def test_an_attack_that_was_not_prepared_gives_the_same_scores(attack):
    fresh = Embedding(attack.encoder)
    assert np.array_equal(scores(fresh, pairs()[:4]), scores(attack, pairs()[:4]))


def test_the_model_is_loaded_when_first_used_and_not_before():
    late = Embedding("no-such-owner/no-such-model")
    assert late == Embedding("no-such-owner/no-such-model")
    pytest.importorskip("sentence_transformers")
    for use in (lambda: late.prepare(POOL), lambda: late.guess(pairs()), late.fingerprint):
        with pytest.raises(EncoderError, match="Encoder 'no-such-owner/no-such-model' could not be loaded"):
            use()


def test_results_are_determined_by_the_weights(attack):
    found = determinants(attack)
    assert found["name"] == "embedding"
    assert found["encoder"] == attack.encoder
    assert len(found["encoder weights"]) == 16
