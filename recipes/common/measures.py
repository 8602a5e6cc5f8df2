"""How much of one text is in another."""

import re
from collections import Counter
from collections.abc import Sequence

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without marks."""
    return _WORD.findall(text.lower())


def overlap(source: str, written: str) -> float:
    """Return the F1 of the words of two texts: 1 where both have the same ones, in any order."""
    a, b = Counter(words(source)), Counter(words(written))
    shared = sum((a & b).values())
    return 2 * shared / max(1, sum(a.values()) + sum(b.values()))


def mean_overlap(sources: Sequence[str], written: Sequence[str]) -> float:
    """Return the mean F1 over pairs of texts."""
    return sum(map(overlap, sources, written)) / max(1, len(sources))


def mentioned(facts: Sequence[str], text: str) -> float:
    """Return the share of the facts' words that a text has."""
    wanted = Counter(word for fact in facts for word in words(fact))
    return sum((wanted & Counter(words(text))).values()) / max(1, sum(wanted.values()))
