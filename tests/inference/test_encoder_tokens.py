"""The fast ways to tokens against the library's own."""

import pytest
import torch

from tedaudit.inference.encoders import _load_model, find_tokenizing

TEXTS = [
    "What is the cheapest fare to Boston?",
    "",
    "Zo\u00eb \U0001f469\u200d\U0001f680 12:30",
    "a " * 700,
    "\u4f60\u597d",
]


@pytest.fixture(scope="module")
def static():
    return _load_model("zoo:encoder")


def test_a_static_encoder_reads_the_same_tokens_without_the_library(static):
    tokenize = find_tokenizing(static, 0)
    assert tokenize != static.preprocess
    expected, found = static.preprocess(TEXTS), tokenize(TEXTS)
    assert set(found) == set(expected) == {"input_ids", "offsets"}
    for key, value in expected.items():
        assert found[key].dtype == value.dtype
        assert torch.equal(found[key], value)


def test_texts_without_any_token_are_read(static):
    found = find_tokenizing(static, 0)(["", ""])
    assert found["input_ids"].tolist() == []
    assert found["offsets"].tolist() == [0, 0]


def test_an_encoder_that_cuts_its_texts_otherwise_is_left_to_the_library(static, monkeypatch):
    module = type(static[0])
    original = module.preprocess

    def preprocess(self, inputs, **settings):
        return original(self, [f"{text} and more" for text in inputs], **settings)

    monkeypatch.setattr(module, "preprocess", preprocess)
    assert find_tokenizing(static, 0) == static.preprocess
