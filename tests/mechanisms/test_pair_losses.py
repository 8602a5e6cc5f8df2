"""What mechanisms say of two texts, against every output that there is."""

import math
from itertools import product

import numpy as np
import pytest

from tedaudit.errors import ContractError
from tedaudit.estimators.gdp import find_epsilon
from tedaudit.mechanisms import _masked_rows, _slot_likelihood
from tedaudit.mechanisms._noise import true_epsilon
from tedaudit.mechanisms.adept import Adept
from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.mechanisms.dp_st import DPST
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.protocols import can_compare
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
from tedaudit.testing.likelihood_check import check_comparison
from tiny_models import SENTENCES, one_thread, save_bart, save_gpt2, save_lstm, save_roberta, save_t5
from tiny_triples import PUBLIC, save_parser, save_public_table

WORDS = ("red", "green", "blue", "black")
SHORT = ("she lost", "The doctor", "keys park", "bicycle", "she lost her keys")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    top = tmp_path_factory.mktemp("pairs")
    with one_thread():
        yield {
            "dp-mlm": save_roberta(top / "roberta"),
            "dp-prompt": save_t5(top / "t5"),
            "dp-paraphrase": save_gpt2(top / "gpt2"),
            "dp-bart": save_bart(top / "bart"),
            "adept": save_lstm(top / "lstm"),
            "parser": save_parser(top / "parser"),
            "table": save_public_table(top / "table"),
        }


def make(folders, name, **settings):
    if name in ("dp-mlm", "dp-prompt", "dp-paraphrase"):
        settings = {"low": -2.0, "high": 2.0, "context": 60, **settings}
    return build(Reference("mechanism", name, {"model": str(folders[name]), **settings}))


def compare_draws(mechanism, pairs, epsilon, part="tokens"):
    """Return likelihoods and losses of one release of the first text of each pair, and the releases."""
    done = mechanism.rewrite([Draw(first, epsilon, i) for i, (first, _) in enumerate(pairs)])
    released = [getattr(rewrite, part) for rewrite in done]
    return (*mechanism.compare(released, pairs, epsilon), released)


@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 4])
def test_word_rr_loses_epsilon_in_every_slot_that_differs(slots, size):
    mechanism = WordRR(slots=slots, vocabulary=WORDS[:size])
    outputs = list(product(range(size + 1), repeat=slots))
    texts = [" ".join(words) for words in product(WORDS[:size], repeat=slots)] + [""]
    likelihoods = np.array([mechanism.log_likelihood(drawn, texts, 1.7) for drawn in outputs])
    for place, first in enumerate(texts):
        losses = likelihoods[:, [place]] - likelihoods  # by output and second text
        pairs = [(first, second) for _ in outputs for second in texts]
        scores, told = mechanism.compare([drawn for drawn in outputs for _ in texts], pairs, 1.7)
        worst = np.broadcast_to(np.abs(losses).max(axis=0), losses.shape)
        assert np.allclose(told.largest, worst.ravel(), rtol=1e-6, atol=1e-12)
        assert np.allclose(np.subtract(*scores.T), losses.ravel(), rtol=1e-6, atol=1e-12)
        assert np.array_equal(np.diff(told.terms.offsets), np.full(losses.size, slots))
        terms = told.terms.values.reshape(losses.size, slots)
        assert np.allclose(terms.sum(axis=1), losses.ravel(), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("cells", [1 << 28, 1])
def test_the_largest_loss_of_dp_mlm_is_that_of_the_worst_output(folders, monkeypatch, cells):
    monkeypatch.setattr(_slot_likelihood, "_CELLS", {"cpu": cells, "cuda": cells})
    mechanism = make(folders, "dp-mlm", slots=2)
    size = mechanism._number_slots().size
    pairs = [(SHORT[0], SHORT[1]), (SHORT[2], SHORT[0]), (SHORT[3], SHORT[4]), (SHORT[0], SHORT[0])]
    _, told, _ = compare_draws(mechanism, pairs, 9.0)
    for pair, largest in zip(pairs, told.largest, strict=True):
        single = [
            mechanism.log_likelihoods([(item, item) for item in range(size)], [pair] * size, 9.0),
            mechanism.log_likelihoods([(item, 0) for item in range(size)], [pair] * size, 9.0),
        ]
        base = np.subtract(*single[1][0])  # what the items (0, 0) lose
        first = np.array([np.subtract(*row) for row in single[1]])  # slot 1 varies, slot 2 is 0
        second = np.array([np.subtract(*row) for row in single[0]]) - first + base
        every = first[:, None] + second[None, :] - base
        assert largest == pytest.approx(np.abs(every).max(), rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("variant", ["sound", "published"])
@pytest.mark.parametrize("name", ["dp-mlm", "dp-prompt", "dp-paraphrase"])
def test_comparisons_have_the_likelihoods_that_were_asked_for_alone(folders, name, variant):
    mechanism = make(folders, name, variant=variant)
    texts = [*SHORT, "The bicycle of the doctor.", "a doctor lost the keys"]
    pairs = [(one, other) for one in texts for other in texts[:3]]
    scores, told, released = compare_draws(mechanism, pairs, 40.0)
    alone = mechanism.log_likelihoods(released, pairs, 40.0)
    assert scores == pytest.approx(np.array(alone), rel=1e-9)
    for row, (first, second) in zip(told, scores, strict=True):
        if row.terms is None:
            assert np.isinf([first, second]).any()
        else:
            assert row.terms.sum() == pytest.approx(first - second, abs=1e-6)
        assert not row.largest < abs(first - second) - 1e-3


def test_a_kept_word_is_an_infinite_loss(folders):
    mechanism = make(folders, "dp-mlm", variant="published")
    pairs = [("she lost her keys", "he lost her keys"), ("doctor lost keys", "Doctor lost keys")]
    pairs += [("she lost her keys", "she lost her bicycle")]
    _, told, _ = compare_draws(mechanism, pairs, 5.0)
    assert told.largest[:2].tolist() == [math.inf, math.inf]  # a stop word, a capital letter
    assert 0 < told.largest[2] < 5.0 * 3


@pytest.mark.parametrize("kind", [DPBart, Adept])
def test_gaussian_latents_have_their_distance_and_epsilon_follows(folders, kind):
    mechanism = kind(model=str(folders[kind.card.name]), device="cpu", max_tokens=3)
    pairs = [(SENTENCES[0], SENTENCES[1]), (SENTENCES[1], SENTENCES[1])]
    scores, told, released = compare_draws(mechanism, pairs, 3.0, "latent")
    first, second = (np.asarray(row, dtype=np.float64) for row in mechanism.encode(pairs[0]))
    distance, sigma = float(np.linalg.norm(first - second)), mechanism.noise_scale(3.0)
    assert told.mu == pytest.approx([distance / sigma, 0.0])
    assert told.largest.tolist() == [math.inf, 0.0]
    for delta in (0.05, 0.01, 1e-3, 1e-5):
        known = true_epsilon(distance, sigma, delta)
        assert find_epsilon(float(told.mu[0]), delta) == pytest.approx(known, abs=1e-6)
    alone = mechanism.log_density(released[0], mechanism.encode(pairs[0]), 3.0)
    assert scores[0] == pytest.approx(alone)


def test_laplace_noise_on_a_latent_has_a_largest_loss(folders):
    mechanism = Adept(model=str(folders["adept"]), device="cpu", max_tokens=3, noise="laplace")
    pairs = [(SENTENCES[0], SENTENCES[1])]
    _, told, _ = compare_draws(mechanism, pairs, 3.0, "latent")
    first, second = (np.asarray(row, dtype=np.float64) for row in mechanism.encode(pairs[0]))
    assert told.largest[0] == pytest.approx(np.abs(first - second).sum() / mechanism.noise_scale(3.0))
    assert np.isnan(told.mu[0])


def test_noise_that_every_position_repeats_hides_no_other_text(folders):
    mechanism = make(folders, "dp-bart", positions="text", device="cpu")
    pairs = [(SENTENCES[0], SENTENCES[1]), (SENTENCES[0], SENTENCES[0])]
    _, told, _ = compare_draws(mechanism, pairs, 3.0, "latent")
    assert told.largest.tolist() == [math.inf, 0.0]
    assert np.isnan(told.mu[0])


@pytest.mark.parametrize("choice", ["private", "whole", "nearest"])
def test_the_largest_loss_of_dp_st_is_that_of_the_worst_triples(folders, choice):
    mechanism = DPST(
        model=str(folders["dp-prompt"]), extractor=f"spacy:{folders['parser']}", table=str(folders["table"]),
        device="cpu", max_tokens=4, triples=2, template="Say {triples}", cluster_choice=choice,
    )  # fmt: skip
    texts = ("my sister bought a red bicycle", "she lost the keys in the park", "hello there")
    for pair in product(texts, texts):
        losses = []
        for drawn in product(range(len(PUBLIC)), repeat=2):
            first, second = mechanism.log_likelihood(drawn, pair, 8.0)
            if first > -math.inf or second > -math.inf:
                losses.append(abs(first - second))
        _, told, _ = compare_draws(mechanism, [pair], 8.0)
        assert told.largest[0] == pytest.approx(max(losses), abs=1e-9)
        if told[0].terms is not None:
            assert len(told[0].terms) == 2


def test_whoever_changes_the_likelihood_changes_the_comparison():
    class Other(WordRR):
        def log_likelihood(self, tokens, candidates, epsilon):
            return -super().log_likelihood(tokens, candidates, epsilon)

    assert can_compare(WordRR())
    assert not can_compare(Other())
    assert not can_compare(object())


@pytest.mark.parametrize(
    ("wrong", "said"), [("scores", "the same"), ("terms", "add up"), ("largest", "above")]
)
def test_the_contract_refuses_comparisons_that_contradict_the_likelihood(wrong, said):
    class Wrong(WordRR):
        def compare(self, released, pairs, epsilon):
            scores, told = super().compare(released, pairs, epsilon)
            if wrong == "scores":
                return 2 * scores, told
            change = {"terms": {"terms": told.terms.values * 2}, "largest": {"largest": told.largest / 2}}
            for name, values in change[wrong].items():
                column = values if name == "largest" else type(told.terms)(values, told.terms.offsets)
                object.__setattr__(told, name, column)
            return scores, told

    texts = ("red green", "blue black", "black red", "green blue")
    check_comparison(WordRR(slots=2, vocabulary=WORDS), "right", texts, 6.0)
    with pytest.raises(ContractError, match=said):
        check_comparison(Wrong(slots=2, vocabulary=WORDS), "wrong", texts, 6.0)


def test_the_model_runs_once_for_all_epsilons_of_the_same_texts(folders, monkeypatch):
    mechanism = make(folders, "dp-mlm", slots=4)
    pairs, runs = [(SHORT[0], SHORT[1]), (SHORT[2], SHORT[4])], []
    first, _, released = compare_draws(mechanism, pairs, 2.0)
    original = type(mechanism)._compute_logits
    monkeypatch.setattr(type(mechanism), "_compute_logits", lambda *given: runs.append(1) or original(*given))
    again, _ = mechanism.compare(released, pairs, 2.0)
    other, _ = mechanism.compare(released, pairs, 30.0)
    assert not runs
    assert again == pytest.approx(first)
    assert other == pytest.approx(np.array(mechanism.log_likelihoods(released, pairs, 30.0)))
    runs.clear()
    mechanism.compare(released[:1], pairs[:1], 2.0)
    assert len(runs) == 1  # other texts, another run
    for epsilon in (2.0, 30.0):  # blocks of texts in turn, epsilon by epsilon
        mechanism.compare(released, pairs, epsilon)
        mechanism.compare(released[:1], pairs[:1], epsilon)
    assert len(runs) == 1


def test_logits_are_kept_as_far_as_there_is_room(folders, monkeypatch):
    mechanism, runs = make(folders, "dp-mlm", slots=4), []
    pairs = [(SHORT[0], SHORT[1]), (SHORT[2], SHORT[4])]
    _, _, released = compare_draws(mechanism, pairs, 2.0)
    original = type(mechanism)._compute_logits
    monkeypatch.setattr(type(mechanism), "_compute_logits", lambda *given: runs.append(1) or original(*given))

    def run_both():
        runs.clear()
        mechanism._last_logits.clear()
        for _ in range(3):
            for one in (0, 1):
                mechanism.compare(released[one : one + 1], pairs[one : one + 1], 2.0)
        return len(runs)

    assert run_both() == 2
    sizes = [logits.numel() for _, _, logits in mechanism._last_logits.values()]
    monkeypatch.setattr(_slot_likelihood, "_REMEMBERED", {"cpu": max(sizes)})
    assert run_both() == 6  # one at a time
    monkeypatch.setattr(_slot_likelihood, "_REMEMBERED", {"cpu": 0})
    assert run_both() == 6
    assert not mechanism._last_logits


@pytest.mark.parametrize("variant", ["sound", "published"])
def test_a_comparison_takes_no_more_model_rows_than_the_likelihoods(folders, monkeypatch, variant):
    mechanism, rows = make(folders, "dp-mlm", variant=variant), []
    original = _masked_rows.masked_logits

    def count(checkpoint, given):
        rows.append(len(given))
        return original(checkpoint, given)

    texts = [*SHORT, "The bicycle of the doctor.", "a doctor lost the keys"]
    pairs = [(one, other) for one in texts for other in texts]
    _, _, released = compare_draws(mechanism, pairs, 8.0)
    monkeypatch.setattr(_masked_rows, "masked_logits", count)
    mechanism.log_likelihoods(released, pairs, 8.0)
    alone = sum(rows)
    rows.clear()
    mechanism._last_logits.clear()
    mechanism.compare(released, pairs, 8.0)
    assert sum(rows) <= alone
