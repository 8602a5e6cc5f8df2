"""Inputs of DP-MLM's model put together from the tokens of words: a text is not tokenized for every mask.

Tokenizers cut texts at spaces, so the tokens of a word depend on whether it comes first, after a word or
after a mask, and on nothing else. For every text that is checked: against the tokenizer's own tokens with
the first, a middle and the last word masked. A text for which it does not hold is left to the tokenizer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

from tedaudit.inference.masked import MaskedRow

_ANCHOR = "x"  # a word that others are put after
_WORDS = 1 << 17  # whose tokens are remembered
Ids = list[int]


@dataclass(frozen=True, slots=True)
class _Word:
    """The tokens of a word at the beginning, after another word and after a mask."""

    first: Ids
    later: Ids
    after_mask: Ids


@lru_cache(maxsize=8)
def pair_builder(tokenizer: Any) -> "PairBuilder":
    """Return the builder of a tokenizer, which remembers the tokens of words."""
    return PairBuilder(tokenizer)


class PairBuilder:
    """Builds pairs of a text and a copy with one word masked."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._mask = int(tokenizer.mask_token_id)
        self._special = frozenset(tokenizer.all_special_ids)
        self._words: dict[str, _Word | None] = {}
        self._anchor, first, later = self._encode(
            [_ANCHOR, str(tokenizer.mask_token), f"{_ANCHOR} {tokenizer.mask_token}"]
        )
        self._first_mask = first[: _find(self._mask, first) + 1]
        self._later_mask = later[len(self._anchor) : _find(self._mask, later) + 1]

    def build(self, texts: Sequence[tuple[Sequence[str], Sequence[int]]]) -> list[list[MaskedRow] | None]:
        """Return a row for each of some slots of every text; None for a text that must be tokenized."""
        self._learn({word: None for words, _ in texts for word in words})
        tried = [sorted({slots[0], slots[len(slots) // 2], slots[-1]}) for _, slots in texts]
        pairs = [
            (" ".join(words), " ".join([*words[:slot], str(self._tokenizer.mask_token), *words[slot + 1 :]]))
            for (words, _), some in zip(texts, tried, strict=True)
            for slot in some
        ]
        rows = self._encode(*map(list, zip(*pairs, strict=True)), add_special_tokens=True) if pairs else []
        found: list[list[MaskedRow] | None] = []
        at = 0
        for (words, slots), some in zip(texts, tried, strict=True):
            found.append(self._build_one(words, slots, some, rows[at : at + len(some)]))
            at += len(some)
        return found

    def _build_one(
        self, words: Sequence[str], slots: Sequence[int], tried: Sequence[int], rows: Sequence[Ids]
    ) -> list[MaskedRow] | None:
        known = [self._words[word] for word in words]
        if None in known:
            return None
        parts = [word.later if place else word.first for place, word in enumerate(known) if word is not None]
        whole = [token for part in parts for token in part]
        ends = [0, *accumulate(map(len, parts))]

        def mask(slot: int) -> tuple[Ids, int]:
            before = whole[: ends[slot]] + (self._later_mask if slot else self._first_mask)
            following = known[slot + 1] if slot + 1 < len(known) else None
            if following is None:
                return before, len(before) - 1
            return before + following.after_mask + whole[ends[slot + 2] :], len(before) - 1

        frame = self._find_frame(rows[0], whole, mask(tried[0])[0])
        if frame is None:
            return None
        start, middle, end = frame
        opening = start + whole + middle
        for slot, row in zip(tried, rows, strict=True):
            if opening + mask(slot)[0] + end != row:
                return None
        masked = map(mask, slots)
        return [MaskedRow(opening + ids + end, len(opening) + place) for ids, place in masked]

    def _find_frame(self, row: Ids, first: Ids, second: Ids) -> tuple[Ids, Ids, Ids] | None:
        """Return what stands before, between and after the two texts of a row: special tokens alone."""
        start = next((place for place, token in enumerate(row) if token not in self._special), 0)
        middle = start + len(first)
        second_at = len(row)
        while second_at > middle and row[second_at - len(second) : second_at] != second:
            second_at -= 1
        begin = second_at - len(second)
        if row[start:middle] != first or begin < middle:
            return None
        frame = row[:start], row[middle:begin], row[second_at:]
        return frame if all(self._special.issuperset(part) for part in frame) else None

    def _learn(self, words: dict[str, None]) -> None:
        """Find the tokens of words that are not known yet."""
        if len(self._words) > _WORDS:
            self._words.clear()
        new = [word for word in words if word not in self._words]
        if not new:
            return
        first = self._encode(new)
        later = self._encode([f"{_ANCHOR} {word}" for word in new])
        after = self._encode([f"{self._tokenizer.mask_token} {word}" for word in new])
        for word, *found in zip(new, first, later, after, strict=True):
            self._words[word] = self._take_apart(*found)

    def _take_apart(self, first: Ids, later: Ids, after: Ids) -> _Word | None:
        """Return the tokens of a word from those of texts with it; None if they are not the word's alone."""
        anchor = self._anchor
        if later[: len(anchor)] != anchor or not self._special.isdisjoint([*first, *later]):
            return None
        return _Word(first, later[len(anchor) :], after[_find(self._mask, after) + 1 :])

    def _encode(self, *texts: list[str], add_special_tokens: bool = False) -> list[Ids]:
        found: list[Ids] = self._tokenizer(*texts, add_special_tokens=add_special_tokens, verbose=False)[
            "input_ids"
        ]
        return found


def _find(token: int, ids: Ids) -> int:
    """Return where a token first stands; beyond the end if it does not."""
    return ids.index(token) if token in ids else len(ids)
