"""The LSTM auto-encoder computes what its equations say, and its folder brings it back."""

import json

import numpy as np
import pytest
from scipy.special import expit

from tedaudit.errors import ModelError
from tedaudit.models.autoencoders.adept import (
    AdeptConfig,
    AdeptModel,
    encode,
    greedy_decode,
    load_adept,
    read_tokens,
    save_adept,
)
from tedaudit.models.loading import WEIGHTS, save_quantised
from tiny_models import SENTENCES, one_thread, save_lstm, save_tokenizer, word_tokenizer


@pytest.fixture(scope="module", params=[False, True], ids=["own-output", "tied-output"])
def folder(request, tmp_path_factory):
    with one_thread():
        yield str(save_lstm(tmp_path_factory.mktemp("lstm"), tied=request.param))


@pytest.fixture
def loaded(folder):
    return load_adept(folder, device="cpu")


def _weights(checkpoint):
    return {name: value.double().numpy() for name, value in checkpoint.model.state_dict().items()}


def _lstm(weights, part, read, hidden, cell):
    """One step of an LSTM by its equations."""
    gates = weights[f"{part}.weight_ih_l0"] @ read + weights[f"{part}.bias_ih_l0"]
    gates = gates + weights[f"{part}.weight_hh_l0"] @ hidden + weights[f"{part}.bias_hh_l0"]
    enter, forget, new, leave = np.split(gates, 4)
    cell = expit(forget) * cell + expit(enter) * np.tanh(new)
    return expit(leave) * np.tanh(cell), cell


def _latent(checkpoint, tokens):
    weights = _weights(checkpoint)
    hidden = cell = np.zeros(checkpoint.model.config.hidden)
    for token in tokens:
        hidden, cell = _lstm(weights, "encoder", weights["embedding.weight"][token], hidden, cell)
    return np.concatenate([hidden, cell])


def _greedy(checkpoint, latent, length):
    weights = _weights(checkpoint)
    hidden, cell = np.split(latent.astype(np.float64), 2)
    token, drawn = checkpoint.tokenizer.bos_token_id, []
    for _ in range(length):
        hidden, cell = _lstm(weights, "decoder", weights["embedding.weight"][token], hidden, cell)
        logits = weights["output.weight"] @ hidden + weights["output.bias"]
        if checkpoint.model.config.tied:
            logits = weights["embedding.weight"] @ logits
        token = int(logits.argmax())
        drawn.append(token)
    return drawn


def test_the_latent_is_the_last_hidden_and_cell_state(loaded):
    tokens = read_tokens(loaded, SENTENCES, 20)
    wanted = np.stack([_latent(loaded, row) for row in tokens])
    assert encode(loaded, tokens) == pytest.approx(wanted, abs=1e-4)


def test_greedy_decoding_takes_the_likeliest_token_step_by_step(loaded):
    latents = np.random.default_rng(0).normal(scale=2.0, size=(12, 32)).astype(np.float32)
    drawn = greedy_decode(loaded, latents, 20).tolist()
    assert drawn == [_greedy(loaded, latent, 20) for latent in latents]
    assert len({tuple(tokens) for tokens in drawn}) > 5


def test_decoding_and_encoding_do_not_depend_on_the_batch(loaded):
    latents = np.random.default_rng(1).normal(size=(70, 32)).astype(np.float32)
    together = greedy_decode(loaded, latents, 20)
    tokens = read_tokens(loaded, [f"{a} {b}" for a in SENTENCES for b in SENTENCES], 20)
    clean = encode(loaded, tokens)
    for i in (0, 13, 63, 64, 69):
        assert np.array_equal(greedy_decode(loaded, latents[i : i + 1], 20)[0], together[i])
        assert np.array_equal(encode(loaded, tokens[i % 25 : i % 25 + 1])[0], clean[i % 25])


def test_a_text_is_read_between_start_and_end_and_padded(loaded):
    words = loaded.tokenizer.get_vocab()
    short, empty, long = read_tokens(loaded, ["My KEYS zebra", "", "park " * 10_000], 20)
    assert short == (2, words["my"], words["keys"], 1, 3, *[0] * 15)
    assert empty == (2, 3, *[0] * 18)
    assert long == (2, *[words["park"]] * 18, 3)


def test_a_model_that_does_not_read_padding_stops_at_the_end_token(tmp_path):
    import torch

    checkpoint = load_adept(str(save_lstm(tmp_path, padded=False)), device="cpu")
    tokens = read_tokens(checkpoint, [*SENTENCES, "", "keys"], 20)
    assert [len(row) for row in tokens] == [len(text.split()) + 2 for text in (*SENTENCES, "", "keys")]
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in tokens], batch_first=True)
    parts = checkpoint.model.module
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        parts["embedding"](padded), [len(row) for row in tokens], batch_first=True, enforce_sorted=False
    )
    with torch.inference_mode():
        _, (hidden, cell) = parts["encoder"](packed)
    assert encode(checkpoint, tokens) == pytest.approx(torch.cat([hidden[0], cell[0]], 1).numpy(), abs=1e-5)


def test_a_folder_brings_back_weights_sizes_and_tokenizer(tmp_path):
    import torch

    tokenizer = word_tokenizer()
    torch.manual_seed(4)
    model = AdeptModel(AdeptConfig(vocabulary=len(tokenizer) + 3, embedding=5, hidden=7, window=9))
    save_adept(tmp_path, model, tokenizer)
    assert {file.name for file in tmp_path.iterdir()} >= {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
    }
    back = load_adept(str(tmp_path), device="cpu")
    assert back.model.config == model.config
    assert back.tokenizer.get_vocab() == tokenizer.get_vocab()
    assert set(back.model.state_dict()) == set(model.state_dict())
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in back.model.state_dict().items())
    assert not any(weight.requires_grad for weight in back.model.parameters())


def test_weights_stored_as_integers_come_back_close(tmp_path):
    save_adept(tmp_path, AdeptModel(AdeptConfig(vocabulary=40, embedding=5, hidden=7)), word_tokenizer())
    exact = load_adept(str(tmp_path), device="cpu").model.state_dict()
    save_quantised(tmp_path / WEIGHTS, exact)
    (tmp_path / "model.safetensors").unlink()
    load_adept.cache_clear()
    back = load_adept(str(tmp_path), device="cpu").model.state_dict()
    assert set(back) == set(exact)
    for name, value in exact.items():
        assert back[name].numpy() == pytest.approx(value.numpy(), abs=float(value.abs().max()) / 254 + 1e-6)


def test_a_folder_without_weights_is_refused(tmp_path):
    (save_lstm(tmp_path) / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="could not be loaded"):
        load_adept(str(tmp_path), device="cpu")


def test_a_folder_that_lacks_a_weight_is_refused_and_the_weight_is_named(tmp_path):
    from safetensors.torch import load_file, save_file

    weights = load_file(save_lstm(tmp_path) / "model.safetensors")
    del weights["decoder.bias_hh_l0"]
    save_file(weights, tmp_path / "model.safetensors")
    with pytest.raises(ModelError, match=r"lacks 1 of the weights .*: decoder\.bias_hh_l0\."):
        load_adept(str(tmp_path), device="cpu")


def test_sizes_default_to_those_of_the_paper():
    assert AdeptConfig() == AdeptConfig(vocabulary=20_000, embedding=300, hidden=512, window=20)


def test_training_by_teacher_forcing_sees_the_logits_that_decoding_sees(loaded):
    import torch

    latents = np.random.default_rng(2).normal(size=(3, 32)).astype(np.float32)
    drawn = torch.from_numpy(greedy_decode(loaded, latents, 6))
    read = torch.cat([torch.full((3, 1), 2), drawn[:, :-1]], dim=1)
    with torch.inference_mode():
        logits, _ = loaded.model.step(read, loaded.model.start(torch.from_numpy(latents)))
    assert torch.equal(logits.argmax(dim=2), drawn)


def test_a_name_that_is_not_a_folder_points_to_the_zoo():
    with pytest.raises(ModelError, match=r"'some/adept' is not a folder .* zoo:adept"):
        load_adept("some/adept", device="cpu")


def test_a_folder_of_something_else_is_refused(tmp_path):
    save_lstm(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bart"}))
    with pytest.raises(ModelError, match=r"config\.json does not describe an ADePT model"):
        load_adept(str(tmp_path), device="cpu")
    (tmp_path / "config.json").write_text(json.dumps({"vocabulary": 38, "embedding": 12, "hidden": 5}))
    with pytest.raises(ModelError, match="could not be loaded"):
        load_adept(str(tmp_path), device="cpu")


def test_a_tokenizer_without_start_token_is_refused(tmp_path):
    tokenizer = save_tokenizer(tmp_path / "tokenizer")
    save_adept(tmp_path, AdeptModel(AdeptConfig(vocabulary=500, embedding=4, hidden=4)), tokenizer)
    with pytest.raises(ModelError, match="lacks these special tokens: bos"):
        load_adept(str(tmp_path), device="cpu")


def test_a_tokenizer_larger_than_the_vocabulary_is_refused(tmp_path):
    save_adept(tmp_path, AdeptModel(AdeptConfig(vocabulary=9, embedding=4, hidden=4)), word_tokenizer())
    with pytest.raises(ModelError, match="has room for 9 tokens"):
        load_adept(str(tmp_path), device="cpu")
