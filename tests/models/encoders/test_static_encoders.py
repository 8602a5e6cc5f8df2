"""Encoders that have a vector per token: the mean of them, and files that do not fit."""

import json
import subprocess
import sys

import numpy as np
import pytest

from encoder_examples import TEXTS, find_minilm, go_offline, refusal, sentences
from tedaudit.models.encoders.sentence import TABLE, SentenceEncoder, StaticEncoder, load_encoder
from tedaudit.models.loading import WEIGHTS, checksum, load_quantised, save_quantised
from tedaudit.models.zoo import find_folder


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    go_offline(monkeypatch)


@pytest.fixture(scope="module")
def folder():
    return find_minilm()


def test_a_model_of_static_embeddings_works_and_takes_more_than_a_thousand_texts(folder, tmp_path):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    table = np.random.default_rng(0).normal(size=(30_522, 16)).astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)]).save(
        str(tmp_path / "static")
    )
    static = SentenceEncoder(str(tmp_path / "static"))
    texts = sentences(1500)
    found = static.encode(texts)
    assert found.shape == (1500, 16)
    expected = SentenceTransformer(str(tmp_path / "static")).encode(texts[:50], normalize_embeddings=True)
    assert np.abs(found[:50] - expected).max() < 1e-5
    assert np.array_equal(static.encode(texts[700:710]), found[700:710])


@pytest.fixture
def static(folder, tmp_path):
    """Return a function that writes a static encoder: the first tokens of a real tokenizer, int8 vectors."""

    def make(rows=2500, **tensors):
        from torch import from_numpy

        whole = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        whole["model"]["vocab"] = {k: i for k, i in whole["model"]["vocab"].items() if i < 2500}
        whole["truncation"] = whole["padding"] = whole["post_processor"] = None
        (tmp_path / "tokenizer.json").write_text(json.dumps(whole), encoding="utf-8")
        table = np.random.default_rng(0).normal(size=(rows, 24)).astype(np.float32)
        save_quantised(tmp_path / WEIGHTS, tensors or {TABLE: from_numpy(table)})
        return tmp_path

    return make


def test_a_static_encoder_gives_the_mean_of_its_tokens_vectors(static):
    from tokenizers import Tokenizer

    there = static()
    table = load_quantised(there / WEIGHTS)[TABLE].numpy()
    tokens = Tokenizer.from_file(str(there / "tokenizer.json")).encode("A time for Four").ids
    mean = table[tokens].mean(axis=0)
    found = load_encoder(str(there)).encode(["A time for Four"])
    assert len(tokens) == 4
    assert found.dtype == np.float32
    assert np.abs(found[0] - mean / np.linalg.norm(mean)).max() < 1e-6


@pytest.mark.parametrize("size", [1, 7, 600])
def test_vectors_of_a_static_encoder_do_not_depend_on_the_batch_in_a_single_bit(static, size):
    encoder = StaticEncoder(str(static()))
    texts = [*TEXTS, *sentences(1200, longest=40, seed=1)]
    parts = [encoder.encode(texts[start : start + size]) for start in range(0, len(texts), size)]
    assert np.array_equal(np.concatenate(parts), encoder.encode(texts))


def test_the_encoder_of_the_zoo_gives_the_vectors_of_the_library_and_does_not_import_it():
    code = """
import sys
from tedaudit.models.encoders.sentence import load_encoder
encoder = load_encoder("zoo:encoder")
encoder.encode(["a"]), encoder.fingerprint()
assert not {"torch", "transformers", "sentence_transformers"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding
    from tokenizers import Tokenizer

    folder = find_folder("zoo:encoder")
    embedding = StaticEmbedding(
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        embedding_weights=load_quantised(folder / WEIGHTS)[TABLE],
    )
    library = SentenceTransformer(modules=[embedding], device="cpu")
    encoder = load_encoder("zoo:encoder")
    texts = [*TEXTS, "Zo\u00eb \U0001f469\u200d\U0001f680 12:30", "\u4f60\u597d", "a " * 700]
    assert np.abs(encoder.encode(texts) - library.encode(texts, normalize_embeddings=True)).max() < 2e-7
    assert encoder.fingerprint() == {"encoder weights": checksum(library)}


def test_a_text_without_tokens_has_a_static_vector_of_zeros(static):
    assert not StaticEncoder(str(static())).encode(["", "the flight"])[0].any()


def test_a_static_encoder_of_the_zoo_is_found_by_its_name(static, monkeypatch):
    from tedaudit.models import places

    there = static()
    monkeypatch.setattr(places, "find_folder", lambda reference: {"zoo:encoder": there}[reference])
    found = StaticEncoder("zoo:encoder")
    assert found.name == "zoo:encoder"
    assert found.fingerprint() == StaticEncoder(str(there)).fingerprint()


def test_a_static_encoder_whose_files_do_not_fit_or_are_cut_is_refused(static):
    import torch

    assert "it has 2500 tokens and 2400 vectors." in refusal(StaticEncoder, str(static(rows=2400)))
    assert TABLE in refusal(StaticEncoder, str(static(other=torch.ones(2, 2))))
    there = static()
    (there / WEIGHTS).write_bytes((there / WEIGHTS).read_bytes()[:5000])
    assert f"Encoder '{there}' could not be loaded" in refusal(StaticEncoder, str(there))
    (static() / "tokenizer.json").unlink()
    assert f"Encoder '{there}' could not be loaded" in refusal(StaticEncoder, str(there))
