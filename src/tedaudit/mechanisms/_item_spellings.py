"""How items of a vocabulary are written, and rows of them joined into texts, with a memory of both."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.inference.treebank import is_inert, join_around


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
    if not 0 <= item < len(tokenizer):
        return ""
    return str(tokenizer.decode([item], skip_special_tokens=skip_special)).strip()
