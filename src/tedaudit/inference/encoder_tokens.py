"""Texts to the tokens that a sentence encoder reads, several times faster than by its library.

The library's own path handles every text and every number in Python. Which way is taken is found out once
for each encoder: one that gives the same tokens for a few awkward texts, or else the library's.
"""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

Features = Mapping[str, Any]
_PROBE = ["A short one.", "", "  Two  spaces, \u00dcml\u00e4ute and 12 numbers ", "word " * 2000]
_KNOWN = {"input_ids", "attention_mask", "token_type_ids"}


def find_tokenizing(model: Any, pad: int) -> Callable[[list[str]], Features]:
    """Return what makes the features of texts for a SentenceTransformer model."""
    expected: Features = model.preprocess(_PROBE)
    library: Callable[[list[str]], Features] = model.preprocess
    if "attention_mask" in expected:
        fast = getattr(getattr(model, "tokenizer", None), "backend_tokenizer", None)
        if fast is None or not _has_known_tables(expected):
            return library
        fast.no_padding()
        if model.max_seq_length:
            fast.enable_truncation(model.max_seq_length)
        padded = partial(_tokenize_padded, fast, pad)
        return padded if _is_same_table(padded(_PROBE), expected) else library
    static = getattr(model[0], "tokenizer", None)
    if set(expected) != {"input_ids", "offsets"} or not hasattr(static, "encode_batch_fast"):
        return library
    flat = partial(_tokenize_flat, static)
    found = flat(_PROBE)
    is_same = all(_is_equal(found[key], expected[key]) for key in expected)
    return flat if is_same else library


def _tokenize_padded(fast: Any, pad: int, texts: list[str]) -> Features:
    """Return token ids and the mask of what is not padding, as tables."""
    import torch

    rows = [encoding.ids for encoding in fast.encode_batch_fast(texts)]
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(1, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, pad, dtype=np.int64)
    ids[mask] = np.concatenate(rows) if lengths.any() else []
    return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask.astype(np.int64))}


def _tokenize_flat(fast: Any, texts: list[str]) -> Features:
    """Return the token ids of all texts one after the other, and where each begins, for static encoders."""
    import torch

    rows = [encoding.ids for encoding in fast.encode_batch_fast(texts, add_special_tokens=False)]
    ends = np.cumsum([len(row) for row in rows], dtype=np.int64)
    ids = np.fromiter(chain.from_iterable(rows), np.int64, int(ends[-1]))
    return {"input_ids": torch.from_numpy(ids), "offsets": torch.from_numpy(np.append(0, ends[:-1]))}


def _has_known_tables(features: Features) -> bool:
    """Return whether a model reads ids and a mask alone, and types only if all are the first."""
    if {key for key, value in features.items() if hasattr(value, "shape")} - _KNOWN:
        return False
    return "token_type_ids" not in features or not bool(features["token_type_ids"].any())


def _is_same_table(actual: Features, expected: Features) -> bool:
    """Return whether two tables agree but for what padding is filled with."""
    if not _is_equal(actual["attention_mask"].bool(), expected["attention_mask"].bool()):
        return False
    is_read = expected["attention_mask"].bool()
    return bool((actual["input_ids"] == expected["input_ids"])[is_read].all())


def _is_equal(one: Any, other: Any) -> bool:
    return one.shape == other.shape and bool((one == other).all())
