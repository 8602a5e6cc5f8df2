"""ADePT: the sensitivity of its clip, the error of 2021, and what the release writes."""

import math

import numpy as np
import pytest

from tedaudit.errors import ModelError
from tedaudit.mechanisms._noise import sigma_for
from tedaudit.mechanisms.adept import Adept
from tedaudit.models.autoencoders.adept import greedy_decode, load_adept
from tedaudit.plugins.values import Draw
from tiny_models import SENTENCES, one_thread, save_lstm

DRAWS = [Draw(text, epsilon, key) for text in SENTENCES for epsilon in (1.0, 300.0, 1e4) for key in (1, 2, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with one_thread():
        yield str(save_lstm(tmp_path_factory.mktemp("lstm")))


def _mechanism(folder, **given):
    return Adept(**{"model": folder, "device": "cpu", **given})


@pytest.mark.parametrize("noise", ["gaussian", "analytic_gaussian"])
def test_gaussian_noise_covers_twice_the_clip(folder, noise):
    mechanism = _mechanism(folder, noise=noise)
    assert mechanism.sensitivity() == 10.0
    assert mechanism.noise_scale(250.0) == sigma_for(noise, 10.0, 250.0, 1e-5)
    clean = mechanism.encode(SENTENCES).astype(np.float64)
    assert clean.shape == (len(SENTENCES), 32)
    assert np.linalg.norm(clean, axis=1) == pytest.approx([5.0] * len(SENTENCES), rel=1e-6)


def test_laplace_noise_covers_the_l1_distance(folder):
    mechanism = _mechanism(folder, noise="laplace")
    assert mechanism.noise_scale(10.0) == pytest.approx(2 * 5 * math.sqrt(32) / 10)
    assert mechanism.claim(10.0).actual == 10.0


def test_the_error_of_2021_scales_laplace_noise_by_the_l2_distance(folder):
    mechanism = _mechanism(folder, noise="laplace", laplace_sensitivity="l2")
    assert mechanism.noise_scale(10.0) == pytest.approx(2 * 5 / 10)
    assert mechanism.claim(10.0).epsilon == 10.0
    assert mechanism.claim(10.0).actual == pytest.approx(10 * math.sqrt(32))


def test_the_error_of_2021_can_be_seen_in_the_densities(folder):
    # Two latents at opposite ends of the diagonal of the ball: their density ratio is the true epsilon.
    mechanism = _mechanism(folder, noise="laplace", laplace_sensitivity="l2")
    corner = np.full(32, 5 / math.sqrt(32))
    ratio = np.ptp(mechanism.log_density(2 * corner, np.stack([corner, -corner]), 10.0))
    assert ratio == pytest.approx(mechanism.claim(10.0).actual)


def test_gaussian_noise_knows_nothing_of_the_laplace_error(folder):
    one, other = _mechanism(folder), _mechanism(folder, laplace_sensitivity="l2")
    assert one.noise_scale(3.0) == other.noise_scale(3.0)
    assert one.claim(3.0) == other.claim(3.0)


def test_tokens_are_the_greedy_ones_up_to_the_end(folder):
    mechanism = _mechanism(folder)
    rewrites = mechanism.rewrite(DRAWS)
    whole = greedy_decode(
        load_adept(folder, device="cpu"), np.stack([r.latent for r in rewrites]), 20
    ).tolist()
    for rewrite, tokens in zip(rewrites, whole, strict=True):
        stop = tokens.index(3) + 1 if 3 in tokens else 20
        assert rewrite.tokens == tuple(tokens[:stop])
    assert {len(r.tokens) for r in rewrites} > {20}


def test_the_release_keeps_words_after_the_end_and_writes_unk_for_nothing(folder):
    common = {"noise": "analytic_gaussian", "max_tokens": 20}
    cut = _mechanism(folder, **common).rewrite(DRAWS)
    kept = _mechanism(folder, **common, after_end="keep", empty_text="UNK").rewrite(DRAWS)
    assert all(len(r.tokens) == 20 for r in kept)
    ended = [(a, b) for a, b in zip(cut, kept, strict=True) if a.tokens[-1] == 3]
    assert ended
    assert all(b.tokens[: len(a.tokens)] == a.tokens for a, b in ended)
    assert any(len(b.text) > len(a.text) for a, b in ended)
    assert any(a.text == "" for a in cut)
    empty = _mechanism(folder, **common, empty_text="UNK").rewrite(DRAWS)
    assert [r.text or "UNK" for r in cut] == [r.text for r in empty]


def test_the_published_variant_writes_nineteen_tokens(folder):
    rewrites = _mechanism(folder, **Adept.variants["published"]).rewrite(DRAWS[:4])
    assert [len(r.tokens) for r in rewrites] == [19] * 4


def test_special_tokens_are_not_written(folder):
    tokenizer = load_adept(folder, device="cpu").tokenizer
    words = {token: word for word, token in tokenizer.get_vocab().items()}
    for rewrite in _mechanism(folder, after_end="keep").rewrite(DRAWS):
        assert rewrite.text == " ".join(words[token] for token in rewrite.tokens if token > 3)


def test_a_window_beyond_the_training_is_refused(folder):
    with pytest.raises(ModelError, match=r"window is 21, but .* was trained on 20 tokens"):
        _mechanism(folder, window=21).encode(["keys"])
    assert _mechanism(folder, window=8).encode(["keys"]).shape == (1, 32)


def test_the_fingerprint_follows_the_tokenizer(folder, tmp_path):
    from tedaudit.models.autoencoders.adept import save_adept
    from tiny_models import word_tokenizer

    checkpoint = load_adept(folder, device="cpu")
    swapped = tuple(text.replace("park", "pub") for text in SENTENCES)
    save_adept(tmp_path, checkpoint.model, word_tokenizer(swapped))
    one, other = _mechanism(folder).fingerprint(), _mechanism(str(tmp_path)).fingerprint()
    assert one["weights"] == other["weights"]
    assert one["tokenizer"] != other["tokenizer"]


def _run_lstm(mechanism, text, *, padded):
    """Return the state of an LSTM over a text by its formula, in float64, clipped to a norm of 5."""
    checkpoint = mechanism._load_checkpoint()
    parts, tokenizer = checkpoint.model.module, checkpoint.tokenizer
    weights = {name: w.double().numpy() for name, w in parts["encoder"].named_parameters()}
    words = tokenizer(text, add_special_tokens=False)["input_ids"][:18]
    tokens = [tokenizer.bos_token_id, *words, tokenizer.eos_token_id]
    tokens += [tokenizer.pad_token_id] * (20 - len(tokens) if padded else 0)
    hidden = cell = np.zeros(16)
    for token in tokens:
        read = parts["embedding"].weight[token].double().numpy()
        gates = weights["weight_ih_l0"] @ read + weights["bias_ih_l0"]
        gates = gates + weights["weight_hh_l0"] @ hidden + weights["bias_hh_l0"]
        enter, forget, new, show = np.split(gates, 4)
        enter, forget, show = (1 / (1 + np.exp(-gate)) for gate in (enter, forget, show))
        cell = forget * cell + enter * np.tanh(new)
        hidden = show * np.tanh(cell)
    state = np.concatenate([hidden, cell])
    return state * min(1.0, 5.0 / np.linalg.norm(state))


def test_published_does_not_read_padding_and_sound_does(folder):
    texts = [*SENTENCES, "keys", ""]
    for variant, padded in (("published", False), ("sound", True)):
        mechanism = _mechanism(folder, **Adept.variants[variant])
        expected = np.stack([_run_lstm(mechanism, text, padded=padded) for text in texts])
        assert mechanism.encode(texts) == pytest.approx(expected, abs=1e-5)
    assert mechanism.pieces("keys in") == _mechanism(folder, **Adept.variants["published"]).pieces("keys in")


@pytest.mark.parametrize(("trained", "asked"), [(True, False), (False, True)])
def test_a_model_that_was_not_trained_for_a_reading_is_refused(tmp_path, trained, asked):
    model = str(save_lstm(tmp_path, padded=trained, unpadded=False))
    with pytest.raises(ModelError, match=f"padded is {asked}, but .* was trained with"):
        _mechanism(model, padded=asked).encode(SENTENCES)
    assert _mechanism(model, padded=trained).encode(SENTENCES).shape == (5, 32)
    assert np.array_equal(
        _mechanism(model).encode(SENTENCES), _mechanism(model, padded=trained).encode(SENTENCES)
    )
