"""Inputs of DP-MLM's model: the original and a copy with one word masked, as a pair; and its logits."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np

from tedaudit.inference.loading import Checkpoint
from tedaudit.inference.masked import MaskedRow, masked_logits
from tedaudit.inference.sampling import Clip
from tedaudit.mechanisms._masked_pairs import pair_builder

Words = Sequence[str | None]  # None for a slot beyond the end of the text
Place = tuple[str, int]  # a text and a slot in it
Split = Callable[[str], list[str]]
_RADII = (64, 16, 4, 1)  # words shown on each side if the whole text does not fit
_SPARE = 32  # tokens that the release leaves free when it halves the model's room
_SLACK = 64  # tokens by which a count of tokens, word by word, may be wrong
_TEXTS = 1024  # texts whose inputs are kept
_SLOTS = 4096  # slots beyond the end of a text that are drawn at a time


@dataclass(frozen=True, slots=True)
class Places:
    """The words of some texts, the places where one is drawn and what the model reads for each.

    Words that the release fails to mask are `lost`: it returns them as they are.
    """

    words: Mapping[str, Words]
    drawn: list[Place]
    rows: list[MaskedRow]
    lost: Mapping[str, Set[int]]


def lay_out(
    tokenizer: Any,
    room: int,
    words: Mapping[str, Words],
    find_kept: Callable[[str | None], int | None],
    split: Split | None,
) -> Places:
    """Return the places of all texts, laid out as the release does if it is told how to split texts."""
    charged = {
        text: tuple(slot for slot, word in enumerate(slots) if word is not None and find_kept(word) is None)
        for text, slots in words.items()
    }
    drawn = [(text, slot) for text, slots in charged.items() for slot in slots]
    if split is None:
        rows = build_rows(tokenizer, room, [(words[text], slots) for text, slots in charged.items()])
        return Places(words, drawn, rows, {})
    built = {
        (text, slot): row
        for text, slots in charged.items()
        for slot, row in zip(
            slots, build_released_rows(tokenizer, room, tuple(words[text]), slots, split), strict=True
        )
    }
    lost = {text: {slot for slot in slots if built[text, slot] is None} for text, slots in charged.items()}
    found = [(place, row) for place in drawn if (row := built[place]) is not None]
    return Places(words, [place for place, _ in found], [row for _, row in found], lost)


def slot_logits(
    checkpoint: Checkpoint, places: Places, clip: Clip, *, with_empty: bool
) -> Iterator[tuple[list[Place], Any, Any]]:
    """Yield places, the row of each, and rows of logits over the vocabulary and, if asked, the empty item.

    The empty item has the lowest utility in a slot with a word. Beyond the end of the text it has the
    highest and every word the lowest, whatever the text, so that all such slots share one row.
    """
    import torch

    for numbers, logits in masked_logits(checkpoint, places.rows):
        lowest = torch.full((len(numbers), int(with_empty)), clip.low, device=logits.device)
        yield [places.drawn[i] for i in numbers], np.arange(len(numbers)), torch.cat([logits, lowest], dim=1)
    beyond = [
        (text, slot) for text, words in places.words.items() for slot, w in enumerate(words) if w is None
    ]
    empty = torch.full((1, int(checkpoint.model.config.vocab_size) + 1), clip.low, device=checkpoint.device)
    empty[0, -1] = clip.high
    for start in range(0, len(beyond), _SLOTS):
        block = beyond[start : start + _SLOTS]
        yield block, np.zeros(len(block), dtype=np.int64), empty


def build_rows(tokenizer: Any, room: int, texts: Sequence[tuple[Words, Sequence[int]]]) -> list[MaskedRow]:
    """Return the model input for each of some slots of texts, with at most `room` tokens.

    Texts that fit are put together from the tokens of their words, or else tokenized in one call; longer ones
    are cut around the masked word, one by one.
    """
    shown = [[word for word in words if word is not None] for words, _ in texts]
    short = [i for i, (_, slots) in enumerate(texts) if slots and 2 * len(shown[i]) <= room]
    built = pair_builder(tokenizer).build([(shown[i], texts[i][1]) for i in short])
    found = {i: rows for i, rows in zip(short, built, strict=True) if rows is not None}
    left = [(i, slot) for i in short if i not in found for slot in texts[i][1]]
    pairs = [_mask_word(tokenizer, texts[i][0], slot, room) for i, slot in left]
    encoded = tokenizer(*map(list, zip(*pairs, strict=True)))["input_ids"] if pairs else []
    for (i, _), ids in zip(left, encoded, strict=True):
        found.setdefault(i, []).append(_locate_mask(tokenizer, ids))
    rows = list[MaskedRow]()
    for i, (words, slots) in enumerate(texts):
        if i in found and all(len(row.ids) <= room for row in found[i]):
            rows += found[i]
            continue
        for number, slot in enumerate(slots):
            fits = i in found and len(found[i][number].ids) <= room
            cut = None if fits else _cut_around(tokenizer, room, words, slot)
            rows.append(found[i][number] if cut is None else _locate_mask(tokenizer, cut))
    return rows


@lru_cache(maxsize=_TEXTS)  # a likelihood attack asks for the same texts over and over
def build_released_rows(
    tokenizer: Any, room: int, words: tuple[str, ...], slots: tuple[int, ...], split: Split
) -> list[MaskedRow | None]:
    """Return the inputs for the words in these slots as the release builds them; None if one is not masked.

    A space stands before either text. The words are joined, split once more and counted to find the word
    again. The masked text is cut to a window of nearly half the room, around the *token* whose number is
    that of the word among all words, so that a word far from the beginning falls out. Even a window of the
    whole text is decoded from its tokens: a tokenizer that adds a space in front leaves it there.
    """
    width = max(1, (room - _SPARE) // 2)
    starts = [max(0, int(slot - width / 2)) for slot in slots]
    again = split(" ".join(words))
    last = _count_tokens_before(tokenizer, again)
    found, masked = list[int](), list[str]()
    for i, place in enumerate(_find_again(words, slots, again)):
        if place is not None and last[place] < starts[i] + width + _SLACK:
            found.append(i)
            masked.append(" ".join([*again[:place], str(tokenizer.mask_token), *again[place + 1 :]]))
    encoded = tokenizer(masked, add_special_tokens=False, verbose=False)["input_ids"] if found else []
    windows = [ids[starts[i] : starts[i] + width] for i, ids in zip(found, encoded, strict=True)]
    texts = [f" {tokenizer.decode(window, skip_special_tokens=False)}" for window in windows]
    limit = max(2, room - _SPARE)
    original = _cut_end(tokenizer, f" {' '.join(words).replace('MASK', '')}", limit)
    pairs = [original] * len(found), texts
    whole = tokenizer(*pairs, truncation="only_first", max_length=limit)["input_ids"] if found else []
    rows: list[MaskedRow | None] = [None] * len(slots)
    for i, ids in zip(found, whole, strict=True):
        if tokenizer.mask_token_id in ids:
            rows[i] = MaskedRow(list(ids), ids.index(tokenizer.mask_token_id))
    return rows


def _cut_end(tokenizer: Any, text: str, limit: int) -> str:
    """Return a beginning of a text that still has so many tokens: the rest of a long one is never read."""
    start = text[: 64 * limit]
    return start if len(tokenizer(start, verbose=False)["input_ids"]) > limit + 1 else text


def _count_tokens_before(tokenizer: Any, words: Sequence[str]) -> list[int]:
    """Return about how many tokens stand before each word."""
    alone = tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"] if words else []
    return list(accumulate((len(ids) for ids in alone), initial=0))


def _find_again(words: Sequence[str], slots: Sequence[int], again: Sequence[str]) -> list[int | None]:
    """Return where the words in these slots stand in another list, as the n-th of their kind, or None."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(again):
        places.setdefault(word, []).append(place)
    seen: Counter[str] = Counter()
    found: dict[int, int | None] = {}
    for slot, word in enumerate(words):
        same = places.get(word, [])
        found[slot] = same[seen[word]] if seen[word] < len(same) else None
        seen[word] += 1
    return [found[slot] for slot in slots]


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
    return MaskedRow(list(ids), positions[-1])
