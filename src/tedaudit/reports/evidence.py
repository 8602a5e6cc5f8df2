"""How much a rewrite gives away of its source, in words: for ordering examples, and for nothing else.

A cosine is largest for the shortest texts. What convinces a reader is what a rewrite has in common with its
source and with no other candidate, and a rare word says more than a common one.
"""

import math
from collections import Counter
from collections.abc import Sequence

from tedaudit.text.words import split_words

BY_WORDS = frozenset({"cosine", "word cosine"})
"""Scores of attacks whose margins are no evidence by themselves."""
_COUNTED = 50_000  # texts in which words are counted
_READ = 100_000  # characters of a text whose words are read: the same long text may be in a thousand trials


class WordWeigher:
    """Weighs words by how few texts of a corpus have them."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = texts[:_COUNTED]
        self._texts = len(counted)
        self._with = Counter(word for text in counted for word in _split(text))

    def weigh(self, output: str, source: str, others: Sequence[str]) -> float:
        """Return the weight, in nats, of what an output shares with its source and with no other text."""
        shared = _split(output) & _split(source)
        alone = shared.difference(*map(_split, others))
        return sum(math.log((1 + self._texts) / (1 + self._with[word])) for word in alone)


def _split(text: str) -> frozenset[str]:
    return frozenset(split_words(text[:_READ].casefold()))


def share_of_words(source: str, output: str) -> float:
    """Return which share of the distinct words of a source its rewrite has too; 1 if the source has none."""
    words = _split(source)
    return len(words & _split(output)) / len(words) if words else 1.0
