"""Plug-ins that keep every rule of the contract suite, to be broken on purpose, and what is then said."""

from typing import ClassVar

import numpy as np
import pytest

from tedaudit.errors import ContractError
from tedaudit.plugins.values import Card, Claim, Guess, Rewrite
from tedaudit.seeding import uniforms


class Noisy:
    """A mechanism that keeps every rule: some words go, by the draw's key."""

    card: ClassVar[Card] = Card(name="noisy", summary="Drops words.")

    def claim(self, epsilon):
        return Claim(epsilon, "document")

    def rewrite(self, draws):
        return [self.one(draw) for draw in draws]

    def one(self, draw):
        words = draw.text.split()[:20]
        kept = uniforms([draw.key], len(words))[0] < 0.7
        return Rewrite(" ".join(word for word, keep in zip(words, kept, strict=True) if keep))


class Overlap:
    """An attack that keeps every rule: counts shared words."""

    card: ClassVar[Card] = Card(name="overlap", summary="Shared words.")

    def guess(self, seen):
        return [Guess(self.scores(observation)) for observation in seen]

    def scores(self, observation):
        words = set(observation.output.text.split())
        return np.array([float(len(words & set(text.split()))) for text in observation.candidates])


def refusal(check, plugin, **options):
    """Return what the suite says about a plug-in that breaks a rule."""
    with pytest.raises(ContractError) as caught:
        check(plugin, **options)
    return str(caught.value)
