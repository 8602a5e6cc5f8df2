"""Tokens to text, many at once."""

from collections.abc import Sequence
from typing import Any


def decode_all(tokenizer: Any, sequences: Sequence[Sequence[int]]) -> list[str]:
    """Return the text of every sequence, without special tokens; equal ones are decoded once.

    Models pad their vocabulary: numbers that the tokenizer does not have stand for nothing.
    """
    size = len(tokenizer)  # asking is slow
    distinct = {tokens: place for place, tokens in enumerate(dict.fromkeys(map(tuple, sequences)))}
    known = [list(tokens) for tokens in distinct]
    for tokens in known:
        if tokens and max(tokens) >= size:
            tokens[:] = [token for token in tokens if token < size]
    texts = _decode(tokenizer, known) if known else []
    return [texts[distinct[tuple(tokens)]] for tokens in sequences]


def _decode(tokenizer: Any, sequences: list[list[int]]) -> list[str]:
    """Return the text of every sequence; on all cores if the library would change nothing afterwards."""
    if decodes_plainly(tokenizer):
        decoded = tokenizer.backend_tokenizer.decode_batch(sequences, skip_special_tokens=True)
    else:
        decoded = tokenizer.batch_decode(sequences, skip_special_tokens=True)
    return [str(text) for text in decoded]


def decodes_plainly(tokenizer: Any) -> bool:
    """Return whether the library's tokenizer writes the text, and nothing is changed afterwards."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return backend is not None and not tokenizer.clean_up_tokenization_spaces and not _has_own_way(tokenizer)


def _has_own_way(tokenizer: Any) -> bool:
    """Return whether the class of a tokenizer decodes otherwise than the library's tokenizers do."""
    from transformers import PreTrainedTokenizerFast

    names = "decode", "_decode", "batch_decode"
    return any(getattr(type(tokenizer), name) is not getattr(PreTrainedTokenizerFast, name) for name in names)
