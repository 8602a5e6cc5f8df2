"""How probable a text is that DP-MLM publishes, whatever was drawn for it.

Several draws may be written as one text: tokens that are spelled alike, an empty item in another slot, words
that are cut otherwise. What may have been written is a graph of the text alone; how probable it is at each
slot depends on the candidate.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tedaudit.mechanisms._masked_rows import Words
from tedaudit.mechanisms._released_slots import SlotNumbers
from tedaudit.mechanisms._slot_likelihood import SlotLikelihood, Tables
from tedaudit.mechanisms._text_lattice import Lattice, Wordlist, add_logarithms, add_up_draws, build_lattice
from tedaudit.plugins.batches.columns import Mask, Positions, compute_offsets
from tedaudit.plugins.values import Floats

Pair = tuple[str, str]  # a text and a candidate
LookUp = Callable[[Positions, Positions], Floats]  # of log-probabilities, by rows of the model and items
_NOT_DRAWN = -1  # instead of a row of the model


@dataclass(frozen=True, slots=True)
class TextLikelihood:
    """The likelihood of what is released, and how releases are written.

    Empty words may leave no trace in a text, and words whose draw fails may come back as they are.
    """

    release: SlotLikelihood
    skips_empty: bool
    returns_words: bool

    def score(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Return the log-probability of every text for each of its candidates."""
        scores = [np.full(len(row), -math.inf) for row in candidates]
        words = {text: self.release.split(text) for row in candidates for text in row}
        for block in self.release.make_blocks(candidates, words):
            pairs = [(texts[i], candidate) for i in block for candidate in candidates[i]]
            found = self._score_pairs(list(dict.fromkeys(pairs)), words, epsilon)
            for i in block:
                scores[i][:] = [found[texts[i], candidate] for candidate in candidates[i]]
        return scores

    def _score_pairs(
        self, pairs: Sequence[Pair], words: Mapping[str, Words], epsilon: float
    ) -> dict[Pair, float]:
        """Do it for distinct pairs; the model sees those that may be, each of them once."""
        numbers, skips = self.release.numbers, self.skips_empty
        sources = {candidate: self._expect(words[candidate]) for _, candidate in pairs}
        written = list_written(numbers.spell, numbers.size, numbers.copy_case, skips)
        unchanged = {word for source in sources.values() for word in source.unchanged.values()}
        lists = written.words, Wordlist(word for word in unchanged if not written.has(word))
        most = max((len(source.rows) for source in sources.values()), default=0)
        graphs = {
            text: _Graph.label(build_lattice(text, lists, most), written, skips)
            for text in dict.fromkeys(text for text, _ in pairs)
        }
        able = _find_possible(pairs, graphs, sources)
        tables = self.release.read_block([candidate for _, candidate in able], epsilon)
        sources = {candidate: self._find(candidate, words[candidate], tables) for _, candidate in able}
        found = _add_up(able, graphs, sources, tables.look_up_all)
        return dict.fromkeys(pairs, -math.inf) | dict(zip(able, found.tolist(), strict=True))

    def _expect(self, words: Words) -> "_Source":
        """Return the slots of a candidate before the model is asked: where a draw may fail, it may not."""
        numbers = self.release.numbers
        is_kept = np.array([numbers.find_kept(word) is not None for word in words], dtype=np.bool_)
        unchanged = {
            slot: str(word) if is_kept[slot] else numbers.copy(str(word))
            for slot, word in enumerate(words)
            if is_kept[slot] or (self.returns_words and word is not None)
        }
        return _Source(np.where(is_kept, _NOT_DRAWN, 0), self._find_capitals(words), unchanged)

    def _find(self, text: str, words: Words, tables: Tables) -> "_Source":
        """Return the slots of a candidate as the model has read it."""
        rows = np.array([tables.row_of.get((text, slot), _NOT_DRAWN) for slot in range(len(words))])
        unchanged = {
            slot: word for slot, word in self._expect(words).unchanged.items() if rows[slot] == _NOT_DRAWN
        }
        return _Source(rows.astype(np.int64), self._find_capitals(words), unchanged)

    def _find_capitals(self, words: Words) -> Mask:
        return np.array([self.release.numbers.shows_capital(word) for word in words], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Source:
    """Slots of a candidate: the model's row if a word is drawn, the case, and words that come unchanged."""

    rows: Positions
    has_capital: Mask
    unchanged: Mapping[int, str]

    @property
    def key(self) -> tuple[object, ...]:
        """All of it, to be compared."""
        return self.rows.tobytes(), self.has_capital.tobytes(), *self.unchanged.items()


@dataclass(frozen=True, slots=True)
class _Written:
    """Which items are written as a word, without and with the capital letter of a source; and all words."""

    items: tuple[Mapping[str, list[int]], Mapping[str, list[int]]]
    words: Wordlist

    def has(self, word: str) -> bool:
        """Return whether an item is written like that."""
        return word in self.items[False] or word in self.items[True]


@lru_cache(maxsize=8)
def list_written(spell: Callable[[int], str], size: int, copy_case: bool, skips_empty: bool) -> _Written:
    """Return how all items are written; a vocabulary is spelled once."""
    numbers = SlotNumbers(size, frozenset(), keep_punctuation=False, copy_case=copy_case, spell=spell)
    found: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for has_capital in (False, True)[: 1 + copy_case]:
        for item in range(size):
            found[has_capital].setdefault(numbers.write_item(item, has_capital), []).append(item)
    return _Written(found, Wordlist(word for word in found[0] | found[1] if word or not skips_empty))


@dataclass(frozen=True, slots=True)
class _Graph:
    """A lattice, and the items that are written as each of its words; nothing is the word after the last."""

    lattice: Lattice
    items: tuple["_Labels", "_Labels"]

    @classmethod
    def label(cls, lattice: Lattice, written: _Written, skips_empty: bool) -> "_Graph":
        """Find the items of a lattice, without and with a capital letter."""
        words = [*lattice.words, *[""] * skips_empty]
        return cls(lattice, (_Labels.find(words, written.items[0]), _Labels.find(words, written.items[1])))

    def weigh(self, source: _Source, look_up: LookUp) -> Floats:
        """Return the log-probability that each slot of a candidate writes each word, and nothing."""
        weights = np.full((len(source.rows), len(self.lattice.words) + 1), -math.inf)
        for has_capital, labels in zip((False, True), self.items, strict=True):
            slots = np.flatnonzero((source.has_capital == has_capital) & (source.rows != _NOT_DRAWN))
            if len(slots) and len(labels.items):
                rows, which = np.unique(source.rows[slots], return_inverse=True)
                sums = add_logarithms(look_up(rows, labels.items), labels.starts)
                weights[np.ix_(slots, labels.places)] = sums[which]
        for slot, word in source.unchanged.items():
            if word in self.lattice.words:
                weights[slot, self.lattice.words.index(word)] = 0.0
        return weights


@dataclass(frozen=True, slots=True)
class _Labels:
    """The places of words that some item is written as, and these items, one word after the other."""

    places: Positions
    items: Positions
    starts: Positions

    @classmethod
    def find(cls, words: Sequence[str], items: Mapping[str, list[int]]) -> "_Labels":
        """Look up the items of words."""
        found = [(place, items[word]) for place, word in enumerate(words) if word in items]
        flat = np.array([item for _, some in found for item in some], dtype=np.int64)
        starts = compute_offsets(np.array([len(some) for _, some in found], dtype=np.int64))[:-1]
        return cls(np.array([place for place, _ in found], dtype=np.int64), flat, starts)


def _find_possible(
    pairs: Sequence[Pair], graphs: Mapping[str, _Graph], sources: Mapping[str, _Source]
) -> list[Pair]:
    """Return the pairs whose text some draw gives; candidates whose slots are alike are looked at once."""
    alike: dict[tuple[object, ...], str] = {}
    first = {text: alike.setdefault(source.key, text) for text, source in sources.items()}
    tried = list(dict.fromkeys((text, first[candidate]) for text, candidate in pairs))
    found = _add_up(tried, graphs, sources, lambda rows, items: np.zeros((len(rows), len(items))))
    possible = {pair for pair, score in zip(tried, found, strict=True) if score > -math.inf}
    return [(text, candidate) for text, candidate in pairs if (text, first[candidate]) in possible]


def _add_up(
    pairs: Sequence[Pair], graphs: Mapping[str, _Graph], sources: Mapping[str, _Source], look_up: LookUp
) -> Floats:
    """Return the log-probability of the text of each pair for its candidate."""
    return add_up_draws(
        (graphs[text].lattice, graphs[text].weigh(sources[candidate], look_up)) for text, candidate in pairs
    )
