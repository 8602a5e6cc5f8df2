"""How items of a vocabulary are written, and rows of them joined into texts, with a memory of both."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.treebank import has_mark, is_inert, join_around, join_words


@lru_cache(maxsize=8)
def load_spellings(tokenizer: Any, skip_special: bool) -> "ItemSpellings":
    """Return the spellings of a tokenizer's vocabulary, which stay known from batch to batch."""
    return ItemSpellings(partial(_decode, tokenizer, skip_special))


class ItemSpellings:
    """Spells items; which rules of joining may be about each is found out once."""

    def __init__(self, spell: Callable[[int], str]) -> None:
        self._spell = spell
        self._known: dict[int, str] = {}
        self._ruled: set[str] = set()  # words that a rule is about
        self._words = np.zeros(0, dtype=object)
        self._is_known, self._is_ruled, self._is_marked = (np.zeros(0, dtype=np.bool_) for _ in range(3))

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
        tables = self._is_ruled, self._is_marked
        ruled, marked = (np.asarray(table[items].any(axis=1), dtype=np.bool_).tolist() for table in tables)
        for row, has_rule, has_marks in zip(self._words[items].tolist(), ruled, marked, strict=True):
            words = tuple(filter(None, row))
            if not has_rule:
                texts.append(" ".join(words))
                continue
            if words not in known:
                known[words] = self._join(words) if has_marks else join_words(words)
            texts.append(known[words])
        return texts

    def _join(self, words: tuple[str, ...]) -> str:
        """Join words of which some hold a mark."""
        ruled = self._ruled
        return join_around(words, [place for place, word in enumerate(words) if word in ruled])

    def _learn(self, items: npt.NDArray[np.int64]) -> None:
        """Spell items that are new."""
        size = int(items.max(initial=-1)) + 1
        if size > len(self._words):
            missing = size - len(self._words)
            self._words = np.append(self._words, np.full(missing, "", dtype=object))
            nothing = np.zeros(missing, dtype=np.bool_)
            self._is_known, self._is_ruled, self._is_marked = (
                np.append(table, nothing) for table in (self._is_known, self._is_ruled, self._is_marked)
            )
        is_used = np.zeros(len(self._words), dtype=np.bool_)
        is_used[items] = True
        for item in np.flatnonzero(is_used & ~self._is_known).tolist():
            word = self._words[item] = self.spell(item)
            if word and not is_inert(word):
                self._is_ruled[item], self._is_marked[item] = True, has_mark(word)
                self._ruled.add(word)
        self._is_known |= is_used


def _decode(tokenizer: Any, skip_special: bool, item: int) -> str:
    if not 0 <= item < len(tokenizer):
        return ""
    return str(tokenizer.decode([item], skip_special_tokens=skip_special)).strip()
