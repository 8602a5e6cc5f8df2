"""Inputs of DP-MLM's model: the original and a copy with one word masked, as a pair."""

from collections.abc import Sequence
from typing import Any

from tedaudit.inference.masked import MaskedRow

Words = Sequence[str | None]  # None for a slot beyond the end of the text
_RADII = (64, 16, 4, 1)  # words shown on each side if the whole text does not fit


def build_rows(tokenizer: Any, room: int, places: Sequence[tuple[Words, int]]) -> list[MaskedRow]:
    """Return the model input for each (words, slot), with at most `room` tokens.

    Texts that fit are tokenized in one call; longer ones are cut around the masked word, one by one.
    """
    short = [i for i, (words, _) in enumerate(places) if 2 * _count_words(words) <= room]
    pairs = [_mask_word(tokenizer, *places[i], room) for i in short]
    encoded = tokenizer(*map(list, zip(*pairs, strict=True)))["input_ids"] if pairs else []
    whole = {i: ids for i, ids in zip(short, encoded, strict=True) if len(ids) <= room}
    rows = []
    for i, (words, slot) in enumerate(places):
        ids = whole[i] if i in whole else _cut_around(tokenizer, room, words, slot)
        rows.append(_locate_mask(tokenizer, ids))
    return rows


def _mask_word(tokenizer: Any, words: Words, slot: int, radius: int) -> tuple[str, str]:
    """Return the words within the radius around a slot, and the same with that word masked."""
    first, last = max(0, slot - radius), slot + radius + 1
    shown = [str(word) for word in words[first:last] if word is not None]
    masked = [*shown[: slot - first], str(tokenizer.mask_token), *shown[slot - first + 1 :]]
    return " ".join(shown), " ".join(masked)


def _cut_around(tokenizer: Any, room: int, words: Words, slot: int) -> list[int]:
    """Return as much context around the word as fits; at the least the mask alone."""
    for radius in _RADII:
        ids: list[int] = tokenizer(*_mask_word(tokenizer, words, slot, radius))["input_ids"]
        if len(ids) <= room:
            return ids
    bare: list[int] = tokenizer(tokenizer.mask_token)["input_ids"]
    return bare


def _locate_mask(tokenizer: Any, ids: Sequence[int]) -> MaskedRow:
    """Return a row with the position of the last mask token in it."""
    positions = [i for i, token in enumerate(ids) if token == tokenizer.mask_token_id]
    return MaskedRow(tuple(ids), positions[-1])


def _count_words(words: Words) -> int:
    return sum(word is not None for word in words)
