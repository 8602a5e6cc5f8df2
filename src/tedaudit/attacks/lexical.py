"""Guess the candidate that shares most words and character n-grams with the output.

Needs no model. Features are weighted by how rare they are in the candidate pool, which the
adversary knows by assumption.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tedaudit.attacks._similarity import Similarity
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.plugins.batches import Guesses
from tedaudit.plugins.values import Card, Observation


@dataclass
class Lexical:
    """Cosine of hashed TF-IDF vectors."""

    tosses_coins: ClassVar[bool] = False  # it never reads the tie keys, which are not derived for it then
    card: ClassVar[Card] = Card(
        name="lexical",
        summary="Compares words, word pairs and character n-grams, weighted by rarity. No model.",
        departures=("not in the paper: a baseline that runs everywhere",),
        score="word cosine",
    )
    _similarity: Similarity = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._similarity = Similarity(LexicalEncoder())

    def prepare(self, pool: Sequence[str]) -> None:
        """Learn which features are rare."""
        self._similarity.prepare(pool)

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by what they share with the output."""
        return self._similarity.guess(seen)
