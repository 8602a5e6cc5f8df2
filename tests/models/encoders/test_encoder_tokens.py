"""The fast way to tokens against the library's own."""

import pytest
import torch

from encoder_examples import find_minilm
from tedaudit.models.encoders.sentence import _load_model, find_tokenizing

TEXTS = [
    "What is the cheapest fare to Boston?",
    "",
    "Zo\u00eb \U0001f469\u200d\U0001f680 12:30",
    "a " * 700,
    "\u4f60\u597d",
]


@pytest.fixture(scope="module")
def model():
    return _load_model(str(find_minilm()))


def test_an_encoder_reads_the_same_tokens_without_the_library(model):
    tokenize = find_tokenizing(model, 0)
    assert tokenize != model.preprocess
    found, expected = tokenize(TEXTS), model.preprocess(TEXTS)  # the library sets its tokenizer to pad
    for key in ("input_ids", "attention_mask"):
        assert found[key].dtype == expected[key].dtype
        assert torch.equal(found[key], expected[key])


def test_texts_without_any_word_are_read(model):
    assert find_tokenizing(model, 0)(["", ""])["attention_mask"].tolist() == [[1, 1], [1, 1]]


def test_an_encoder_that_cuts_its_texts_otherwise_is_left_to_the_library(model, monkeypatch):
    module = type(model[0])
    original = module.preprocess

    def preprocess(self, inputs, **settings):
        return original(self, [f"{text} and more" for text in inputs], **settings)

    monkeypatch.setattr(module, "preprocess", preprocess)
    assert find_tokenizing(model, 0) == model.preprocess
