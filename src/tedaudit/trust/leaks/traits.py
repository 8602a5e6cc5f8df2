"""What can be seen of an output, down to single characters, and a naive Bayes classifier over it."""

import math
from collections import Counter
from collections.abc import Sequence

from tedaudit.types import Rewrite
from tedaudit.words import is_mark, split_words

Trait = tuple[str, str]  # what kind of trait, and its value
_LONGEST = 1500  # characters of an output that are looked at one by one


def list_traits(output: Rewrite) -> frozenset[Trait]:
    """Return the traits of an output: error code, length, looks, words, and pieces of the raw characters."""
    if output.error:
        return frozenset({("error code", output.error)})
    text = output.text
    words = split_words(text[:_LONGEST])
    capitals = sum(word[:1].isupper() for word in words)
    found = {
        ("error code", ""),
        ("length", str(len(text))),
        ("rough length", str(round(4 * math.log2(1 + len(text))))),
        ("number of words", str(len(words))),
        ("number of capitalised words", str(capitals)),
        ("number of digits", str(sum(character.isdigit() for character in text))),
        ("number of punctuation marks", str(sum(is_mark(character) for character in text))),
        ("whole output", text),
        ("beginning", text[:3]),
        ("end", text[-3:]),
        ("last character", text[-1:]),
    }
    found.update(("word", word) for word in words)
    shown = text[:_LONGEST]
    found.update(("characters", shown[i : i + n]) for n in (1, 3) for i in range(len(shown) - n + 1))
    return frozenset(found)


class Recogniser:
    """Tells two groups of outputs apart by the traits they have; both are equally large."""

    def __init__(self, first: Sequence[frozenset[Trait]], second: Sequence[frozenset[Trait]]) -> None:
        counts = (Counter(t for own in first for t in own), Counter(t for own in second for t in own))
        self._weights = {
            trait: math.log((counts[0][trait] + 0.5) / (counts[1][trait] + 0.5))
            for trait in counts[0].keys() | counts[1].keys()
        }

    def score(self, traits: frozenset[Trait]) -> float:
        """Return how much an output looks like the first group rather than the second."""
        return math.fsum(self._weights.get(trait, 0.0) for trait in traits)

    def clue(self) -> Trait:
        """Return the plainest of the most telling traits: of fixed outputs all are as telling."""
        order = sorted(
            self._weights.items(), key=lambda item: (-round(abs(item[1]), 6), _RANK[item[0][0]], item[0][1])
        )
        return order[0][0] if order else ("", "")


_KINDS = (
    "error code", "length", "number of words", "number of capitalised words", "number of digits",
    "number of punctuation marks", "last character", "rough length", "word", "beginning", "end",
    "whole output", "characters",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_KINDS)}
