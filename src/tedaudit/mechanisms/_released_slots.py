"""What DP-MLM releases at every slot, as numbers: a drawn item, its capital letter, a kept or a copied word.

With these numbers the rewritten text is known, so that a likelihood of them is one of the whole release.
Items are numbered as in the vocabulary. An item written with a capital letter because the private word has
one is numbered after all of them, and a kept word after those, by its place among all words that can be kept.
A word that is copied because its draw failed is spelled out in negative numbers, after a space.
"""

import string
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

Slot = int | str  # a number, or the word that was copied
_MARKS = string.punctuation


@dataclass(frozen=True)
class SlotNumbers:
    """Numbers what is released; `size` counts the items that can be drawn."""

    size: int
    stop_words: frozenset[str]
    keep_punctuation: bool
    copy_case: bool
    spell: Callable[[int], str]
    _kept: dict[str, int] = field(init=False, repr=False, compare=False)
    _words: list[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        marks = list_marks() if self.keep_punctuation else []
        words = list(dict.fromkeys([*sorted(self.stop_words), *marks]))
        object.__setattr__(self, "_words", words)
        object.__setattr__(self, "_kept", {word: 2 * self.size + i for i, word in enumerate(words)})

    @property
    def releases_items(self) -> bool:
        """Whether every slot releases the item that was drawn, whatever the word in it."""
        return not self._kept and not self.copy_case

    def find_kept(self, word: str | None) -> int | None:
        """Return the number of a word that is released unchanged; None for one that is drawn."""
        return None if word is None else self._kept.get(word)

    def number(self, word: str | None, item: int) -> int:
        """Return the number of an item that was drawn in place of a word."""
        return item + self.size * (self.shows_capital(word) and self._has_case(item))

    def shows_capital(self, word: str | None) -> bool:
        """Return whether what is drawn in place of a word gets a capital letter."""
        return self.copy_case and _is_capital(word)

    def copy(self, word: str) -> str:
        """Return a word as it is released if its draw failed."""
        if not self.copy_case:
            return word
        return word.capitalize() if _is_capital(word) else word.lower()

    def write(self, slot: Slot) -> str:
        """Return what stands in the text for a slot."""
        if isinstance(slot, str):
            return slot
        if slot >= 2 * self.size:
            return self._words[slot - 2 * self.size]
        return self.write_item(slot % self.size, has_capital=slot >= self.size)

    def write_item(self, item: int, has_capital: bool) -> str:
        """Return how an item is written in place of a word with a capital letter, or without one."""
        spelling = self.spell(item)
        if not self.copy_case:
            return spelling
        return spelling.capitalize() if has_capital else spelling.lower()

    def explain(self, slot: Slot, word: str | None) -> int | None:
        """Return the item that must be drawn in place of a word to release a slot; None if none can be."""
        if isinstance(slot, str) or not 0 <= slot < 2 * self.size:
            return None
        item = slot % self.size
        return item if self.number(word, item) == slot else None

    def fits(self, slots: Sequence[Slot], words: Sequence[str | None], lost: Set[int] | None = None) -> bool:
        """Return whether these words can release these slots; `lost` says at which of them the draw fails."""
        if len(slots) != len(words):
            return False
        for place, (slot, word) in enumerate(zip(slots, words, strict=True)):
            kept = self.find_kept(word)
            copied = isinstance(slot, str) if lost is None else place in lost
            if kept is not None:
                possible = slot == kept
            elif copied:
                possible = word is not None and slot == self.copy(word)
            else:
                possible = self.explain(slot, word) is not None
            if not possible:
                return False
        return True

    def draws_alike(
        self,
        words: Sequence[str | None],
        others: Sequence[str | None],
        lost: Set[int],
        lost_of_others: Set[int],
    ) -> bool:
        """Return whether two texts differ in nothing but draws: every release of one is one of the other."""
        if len(words) != len(others) or lost != lost_of_others:
            return False
        return all(
            self.find_kept(word) == self.find_kept(other)
            and (place not in lost or self.copy(str(word)) == self.copy(str(other)))
            and (
                place in lost
                or not self.copy_case
                or self.find_kept(word) is not None
                or _is_capital(word) == _is_capital(other)
            )
            for place, (word, other) in enumerate(zip(words, others, strict=True))
        )

    def _has_case(self, item: int) -> bool:
        spelling = self.spell(item)
        return spelling.capitalize() != spelling.lower()


def to_tokens(slots: Sequence[Slot]) -> tuple[int, ...]:
    """Return slots as numbers alone; a copied word is a space and its letters, all negative."""
    tokens: list[int] = []
    for slot in slots:
        tokens += [slot] if isinstance(slot, int) else [-1 - ord(letter) for letter in f" {slot}"]
    return tuple(tokens)


def to_slots(tokens: Sequence[int]) -> list[Slot]:
    """Return the slots that these numbers stand for."""
    slots: list[Slot] = []
    for token in map(int, tokens):
        if token >= 0:
            slots.append(token)
        elif token == -1 - ord(" "):
            slots.append("")
        else:
            slots[-1] = f"{slots[-1]}{chr(-1 - token)}"
    return slots


def list_marks() -> list[str]:
    """Return the words that count as punctuation: every run of signs as they stand in string.punctuation."""
    ends = range(1, len(_MARKS) + 1)
    return [_MARKS[start:end] for start in range(len(_MARKS)) for end in ends if end > start]


def _is_capital(word: str | None) -> bool:
    return bool(word) and str(word)[0].isupper()
