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
    texts = [str(text) for text in tokenizer.batch_decode(known, skip_special_tokens=True)] if known else []
    return [texts[distinct[tuple(tokens)]] for tokens in sequences]
