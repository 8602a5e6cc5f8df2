"""Sentence encoders: a real model whose vectors must not depend on the batch, and damaged or absent ones."""

import hashlib
import json
import logging
import random
import shutil
import socket
import sys

import numpy as np
import pytest

from encoder_examples import TEXTS, find_minilm, go_offline, refusal
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.models.encoders.sentence import SentenceEncoder, count_rows, load_encoder
from tiny_models import save_mpnet


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    go_offline(monkeypatch)


@pytest.fixture(scope="module")
def folder():
    return find_minilm()


@pytest.fixture(scope="module")
def encoder(folder):
    return SentenceEncoder(str(folder))


@pytest.fixture(scope="module")
def whole(encoder):
    """All texts, encoded in one call."""
    return encoder.encode(TEXTS)


@pytest.fixture
def copy(folder, tmp_path):
    """Return a function that copies the model, cut to its first layer, with weights and settings changed."""

    def make(name="model", weights=None, **settings):
        from safetensors.numpy import load_file, save_file

        there = tmp_path / name
        shutil.copytree(folder, there, ignore=shutil.ignore_patterns("*.safetensors"))
        whole = folder / "model.safetensors"
        if weights is None:
            (there / whole.name).symlink_to(whole)
        else:
            save_file(weights(load_file(whole)), there / whole.name, {"format": "pt"})
        settings["config"] = {"num_hidden_layers": 1, **settings.get("config", {})}
        for file, changes in settings.items():
            path = there / f"{file}.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return there

    return make


def test_the_model_is_the_one_these_tests_were_made_with(folder):
    weights = (folder / "model.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest().startswith("53aa5117")


def test_vectors_are_those_of_sentence_transformers(whole, folder):
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(folder)).encode(
        TEXTS, normalize_embeddings=True, show_progress_bar=False
    )
    assert whole.shape == (len(TEXTS), 384)
    assert whole.dtype == np.float32
    assert np.abs(whole - expected).max() < 1e-5
    assert np.linalg.norm(whole, axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("size", "texts"), [(1, 5), (7, 20), (512, 20)])
def test_vectors_do_not_depend_on_the_batch_in_a_single_bit(encoder, whole, size, texts):
    parts = [encoder.encode(TEXTS[start : min(start + size, texts)]) for start in range(0, texts, size)]
    assert np.array_equal(np.concatenate(parts), whole[:texts])


def test_vectors_follow_their_texts_through_any_order_and_repetition(encoder, whole):
    order = random.Random(1).choices(range(len(TEXTS)), k=30)
    assert np.array_equal(encoder.encode([TEXTS[i] for i in order]), whole[order])


def test_equal_texts_are_encoded_once(encoder, monkeypatch):
    seen = []
    encode_some = encoder._encode_some
    monkeypatch.setattr(encoder, "_encode_some", lambda texts: (seen.extend(texts), encode_some(texts))[1])
    encoder.encode(["a", "b", "a", "a", "b"])
    assert sorted(seen) == ["a", "b"]


def test_no_texts_give_no_rows(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_encoding_leaves_global_generators_alone(encoder):
    import torch

    before = random.getstate(), torch.random.get_rng_state().tolist()
    encoder.encode(["a text"])
    assert before == (random.getstate(), torch.random.get_rng_state().tolist())


def test_a_loaded_model_is_kept_and_lexical_is_made_anew(folder):
    assert load_encoder(str(folder)) is load_encoder(str(folder))
    assert isinstance(load_encoder("lexical"), LexicalEncoder)
    assert load_encoder("lexical") is not load_encoder("lexical")  # it learns from the pool it is fitted to


def test_the_fingerprint_follows_the_weights(copy):
    def nudged(weights):
        name = min(weights)
        weights[name] = weights[name] + np.float32(1e-3)
        return weights

    one, same, other = (
        SentenceEncoder(str(place)) for place in (copy("one"), copy("same"), copy("other", nudged))
    )
    assert one.fingerprint() == same.fingerprint() != other.fingerprint()


def test_an_encoder_that_lacks_a_weight_is_refused_and_the_weight_is_named(copy):
    name = "encoder.layer.0.output.dense.weight"
    told = refusal(
        SentenceEncoder, str(copy(weights=lambda found: {k: found[k] for k in found if k != name}))
    )
    assert f"lacks 1 of the weights that it needs here: {name}. They would be random" in told


def test_loading_an_encoder_leaves_the_library_as_it_was(folder):
    from transformers import PreTrainedModel

    before = vars(PreTrainedModel)["from_pretrained"]
    SentenceEncoder(str(folder))
    assert vars(PreTrainedModel)["from_pretrained"] is before


def test_an_encoder_without_a_pooler_has_one_fingerprint(copy):
    def drop_pooler(weights):
        return {name: weights[name] for name in weights if not name.startswith("pooler.")}

    there = str(copy(weights=drop_pooler))
    assert SentenceEncoder(there).fingerprint() == SentenceEncoder(there).fingerprint()


def test_an_encoder_cuts_a_text_where_its_positions_end(tmp_path):
    encoder = SentenceEncoder(str(save_mpnet(tmp_path)))
    assert encoder.encode(["my sister bought a red bicycle " * 30]).shape == (1, 16)


EMBEDDINGS = "embeddings.word_embeddings.weight"


def test_weights_that_are_not_numbers_are_refused(copy):
    def broken(weights):
        weights["encoder.layer.0.attention.self.query.weight"][0, 0] = np.nan
        return weights

    damaged = SentenceEncoder(str(copy(weights=broken)))
    message = refusal(damaged.encode, ["one text", "another"])
    assert "not numbers (NaN or infinity) for 2 of 2 texts" in message
    assert "'lexical'" in message
    assert "weights that are not numbers" in refusal(damaged.fingerprint)


def test_a_text_whose_vector_is_not_finite_is_refused_and_others_are_not(copy, encoder):
    token = encoder._model.tokenizer.convert_tokens_to_ids("lisbon")

    def broken(weights):
        weights[EMBEDDINGS][token] = np.inf
        return weights

    damaged = SentenceEncoder(str(copy(weights=broken)))
    assert "for 1 of 2 texts" in refusal(damaged.encode, ["to lisbon", "to london"])
    assert np.isfinite(damaged.encode(["to london"])).all()


def test_a_model_that_pads_on_the_left_is_padded_on_the_right(copy):
    lefty = SentenceEncoder(str(copy("left", tokenizer_config={"padding_side": "left"})))
    righty = SentenceEncoder(str(copy("right", tokenizer_config={"padding_side": "right"})))
    mixed = ["short", "this one is a good deal longer than the other one"]
    assert np.array_equal(lefty.encode(mixed), righty.encode(mixed))


def test_a_window_that_is_not_a_multiple_of_the_padding_is_not_exceeded(copy):
    def narrow(weights):
        weights["embeddings.position_embeddings.weight"] = weights["embeddings.position_embeddings.weight"][
            :20
        ].copy()
        weights.pop("embeddings.position_ids", None)
        return weights

    place = copy(
        weights=narrow, config={"max_position_embeddings": 20}, sentence_bert_config={"max_seq_length": 20}
    )
    found = SentenceEncoder(str(place)).encode(["one two three " * n for n in range(1, 9)])
    assert np.isfinite(found).all()
    assert np.array_equal(found[6], found[7])  # both are cut to the window


@pytest.mark.parametrize("name", ["no-such-owner/no-such-model", "lexicall"])
def test_a_model_that_is_not_here_is_refused_at_once_when_offline(folder, name, monkeypatch):
    asked = []

    def refuse(*address, **_):
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # nobody has said so beforehand
    message = refusal(load_encoder, name)
    assert 1 <= len(asked) <= 3  # the libraries would try 24 times, for a minute
    assert f"Encoder '{name}' could not be loaded" in message
    assert "'lexical' needs none" in message
    assert "\n" not in message


def test_a_damaged_or_incomplete_folder_is_refused(copy, tmp_path):
    whole = copy("cut")
    start = (whole / "model.safetensors").read_bytes()[:5000]
    (whole / "model.safetensors").unlink()  # a link to the true one
    (whole / "model.safetensors").write_bytes(start)
    bare = copy("bare")
    (bare / "model.safetensors").unlink()
    garbled = copy("garbled")
    (garbled / "config.json").write_text("{not json")
    (tmp_path / "empty").mkdir()
    for place in (whole, bare, garbled, tmp_path / "empty"):
        assert f"Encoder '{place}' could not be loaded" in refusal(load_encoder, str(place))


def test_without_sentence_transformers_the_command_to_install_it_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    message = refusal(load_encoder, "some/model")
    assert "needs sentence-transformers, which is not installed" in message
    assert "pip install 'tedaudit[models]'" in message
    assert "'lexical'" in message
    assert isinstance(load_encoder("lexical"), LexicalEncoder)


def test_loading_is_quiet_and_leaves_the_logger_as_it_was(folder, caplog):
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    with caplog.at_level(logging.WARNING):
        SentenceEncoder(str(folder))
        refusal(SentenceEncoder, "no-such-owner/no-such-model")
    assert logger.level == level
    assert not [record for record in caplog.records if record.name.startswith("sentence_transformers")]


def test_a_pass_on_a_gpu_has_a_bounded_number_of_tokens():
    assert {count_rows(width, gpu=False) for width in (0, 8, 384, 8192)} == {16}
    assert count_rows(8, gpu=True) == count_rows(64, gpu=True) == 1024
    assert [count_rows(width, gpu=True) * width for width in (128, 384, 512)] == [65_536, 65_280, 65_536]
    assert count_rows(8192, gpu=True) == 16
