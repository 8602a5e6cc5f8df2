"""Inputs of DP-MLM's model: the original and a copy with one word masked, as a pair; and its logits."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.loading import Checkpoint, send
from tedaudit.models.sampling.exponential import UNIFORMS, Clip, noise_on
from tedaudit.models.sampling.masked import MaskedRow, masked_logits
from tedaudit.models.triples.treebank import is_inert, join_around
from tedaudit.plugins.batches import Draws, Ragged
from tedaudit.plugins.batches.columns import Positions, compute_offsets
from tedaudit.plugins.batches.sequences import number_texts

Words = Sequence[str | None]  # None for a slot beyond the end of the text
Place = tuple[str, int]  # a text and a slot in it
Split = Callable[[str], list[str]]
_RADII = (64, 16, 4, 1)  # words shown on each side if the whole text does not fit
_SPARE = 32  # tokens that the release leaves free when it halves the model's room
_SLACK = 64  # tokens by which a count of tokens, word by word, may be wrong
_TEXTS = 1024  # texts whose inputs are kept
_SLOTS = 4096  # slots beyond the end of a text that are drawn at a time
_UNUSED = re.compile(r"\[unused\d+\]")


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
        return Places(words=words, drawn=drawn, rows=rows, lost={})
    built = {
        (text, slot): row
        for text, slots in charged.items()
        for slot, row in zip(
            slots, build_released_rows(tokenizer, room, tuple(words[text]), slots, split), strict=True
        )
    }
    lost = {text: {slot for slot in slots if built[text, slot] is None} for text, slots in charged.items()}
    found = [(place, row) for place in drawn if (row := built[place]) is not None]
    return Places(words=words, drawn=[place for place, _ in found], rows=[row for _, row in found], lost=lost)


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


# --- Where the noise of every draw and slot lies, so that a slot's draws are found without a loop over
# them.

Items = Any  # a tensor of items on the device


class DrawShelf:
    """A cell for every slot of every draw, one draw after the other, and the uniforms in it.

    Noise lies on the device, where it was made. What is drawn is put down as it comes and fetched at the end,
    so that nobody waits for the device meanwhile.
    """

    noise: Any  # a tensor (cells, 4)
    offsets: Positions  # where the cells of each draw begin

    def __init__(self, draws: Draws, words: Mapping[str, Sequence[Any]], device: Any) -> None:
        """Draw the noise; texts with equally many slots share one call."""
        import torch

        names, text = number_texts(draws.texts)
        slots = np.array([len(words[name]) for name in names], dtype=np.int64)
        self.offsets = compute_offsets(slots[text])
        lengths = np.unique(slots).tolist()
        if len(lengths) == 1:
            self.noise = noise_on(device, draws.keys, lengths[0]).reshape(-1, UNIFORMS)
        else:
            shape = int(self.offsets[-1]), UNIFORMS
            self.noise = torch.empty(shape, dtype=torch.float64, device=device)
            for length in lengths:
                members = np.flatnonzero(slots[text] == length)
                cells = self.offsets[members][:, None] + np.arange(length)
                self.noise[send(cells, device)] = noise_on(device, draws.keys[members], length)
        self._number = {name: number for number, name in enumerate(names)}
        self._order = np.argsort(text, kind="stable")  # draws by text
        self._ends = compute_offsets(np.bincount(text, minlength=len(names)))
        self._drawn: list[tuple[Positions, Items]] = []

    def find(self, places: Sequence[tuple[str, int]]) -> tuple[Positions, Positions, npt.NDArray[Any]]:
        """Return the draws of some places (text and slot), their cells, and how many each place has."""
        text = np.array([self._number[name] for name, _ in places], dtype=np.int64)
        slot = np.array([slot for _, slot in places], dtype=np.int64)
        counts = np.diff(self._ends)[text]
        begins = np.repeat(self._ends[text] - (np.cumsum(counts) - counts), counts)
        numbers = self._order[begins + np.arange(len(begins))]
        return numbers, self.offsets[numbers] + np.repeat(slot, counts), counts

    def put(self, cells: Positions, items: Items) -> None:
        """Keep what was drawn for some cells."""
        self._drawn.append((cells, items))

    def fetch(self, missing: int) -> Ragged:
        """Return the items of every draw; `missing` for cells of which none was drawn."""
        found = np.full(len(self.noise), missing, dtype=np.int64)
        for cells, items in self._drawn:
            found[cells] = items.cpu().numpy()
        return Ragged(found, self.offsets)


# --- How items of a vocabulary are written, and rows of them joined into texts, with a memory of both.


@lru_cache(maxsize=8)
def load_spellings(tokenizer: Any, skip_special: bool) -> "ItemSpellings":
    """Return the spellings of a tokenizer's vocabulary, which stay known from batch to batch."""
    return ItemSpellings(partial(_decode, tokenizer, skip_special))


class ItemSpellings:
    """Spells items; whether a rule of joining is about one is found out once."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        self._spell = spell
        self._known: dict[int, str] = {}
        self._ruled: set[str] = set()  # words that a rule is about
        self._words = np.zeros(0, dtype=object)
        self._is_known, self._is_ruled = np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_)

    def spell(self, item: int) -> str:
        """Return the string of an item; "" for the empty item."""
        found = self._known.get(item)
        if found is None:
            found = self._known[item] = self._spell(item)
        return found

    def join(self, items: npt.NDArray[np.int64]) -> list[str]:
        """Join rows of items into texts as nltk's detokenizer does, without the empty items."""
        self._learn(items)
        known: dict[tuple[str, ...], str] = {}  # with little noise few of them differ
        texts = []
        ruled = np.asarray(self._is_ruled[items].any(axis=1), dtype=np.bool_).tolist()
        for row, has_rule in zip(self._words[items].tolist(), ruled, strict=True):
            words = tuple(filter(None, row))
            if not has_rule:
                texts.append(" ".join(words))
                continue
            if words not in known:
                places = [place for place, word in enumerate(words) if word in self._ruled]
                known[words] = join_around(words, places)
            texts.append(known[words])
        return texts

    def _learn(self, items: npt.NDArray[np.int64]) -> None:
        """Spell items that are new."""
        size = int(items.max(initial=-1)) + 1
        if size > len(self._words):
            missing = size - len(self._words)
            self._words = np.append(self._words, np.full(missing, "", dtype=object))
            nothing = np.zeros(missing, dtype=np.bool_)
            self._is_known, self._is_ruled = (
                np.append(table, nothing) for table in (self._is_known, self._is_ruled)
            )
        is_used = np.zeros(len(self._words), dtype=np.bool_)
        is_used[items] = True
        for item in np.flatnonzero(is_used & ~self._is_known).tolist():
            word = self._words[item] = self.spell(item)
            if word and not is_inert(word):
                self._is_ruled[item] = True
                self._ruled.add(word)
        self._is_known |= is_used


def _decode(tokenizer: Any, skip_special: bool, item: int) -> str:
    if not 0 <= item < len(tokenizer) or (skip_special and item in find_fragments(tokenizer)):
        return ""
    return str(tokenizer.decode([item], skip_special_tokens=skip_special)).strip()


@lru_cache(maxsize=8)
def find_fragments(tokenizer: Any) -> frozenset[int]:
    """Return the tokens of vocabularies such as BERT's that are no words: ends of words and unused places."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    prefix: str | None = getattr(getattr(backend, "model", None), "continuing_subword_prefix", None)
    if not prefix:
        return frozenset()
    vocabulary: Mapping[str, int] = tokenizer.get_vocab()
    return frozenset(
        item for token, item in vocabulary.items() if token.startswith(prefix) or _UNUSED.fullmatch(token)
    )


# --- Inputs of DP-MLM's model put together from the tokens of words: a text is not tokenized for every
# mask.
#
# Tokenizers cut texts at spaces, so the tokens of a word depend on whether it comes first, after a word or
# after a mask, and on nothing else. For every text that is checked: against the tokenizer's own tokens with
# the first, a middle and the last word masked. A text for which it does not hold is left to the tokenizer.

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
