"""Mechanisms whose privacy loss is known exactly: what is measured of them must fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import numpy as np

from tedaudit.seeding import normals
from tedaudit.trust.planted._parts import respond
from tedaudit.types import Array, Card, Claim, Draw, Floats, Rewrite

TEXTS = ("The answer is yes.", "The answer is no.")
"""The two texts that are told apart: with more, pairs that look alike would blur what is known."""


def answer_randomly(text: str, seed: int, epsilon: float) -> str:
    """Return one of the two texts by randomised response: its epsilon is exact."""
    return TEXTS[respond(TEXTS.index(text), 2, epsilon, Random(seed))]


@dataclass(frozen=True)
class GaussianBit:
    """Adds standard normal noise to a number that differs by `mu` between the two texts."""

    mu: float = 1.0
    card: ClassVar[Card] = Card(
        name="gaussian-bit",
        summary="A number with Gaussian noise.",
        claim="mu-GDP, exactly; none for epsilon alone",
    )

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - the noise does not depend on it
        """Promise nothing at delta 0: no epsilon would hold."""
        return None

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Release the noisy number."""
        noise = normals([draw.key for draw in draws], 1)
        latents = np.asarray(self.encode([draw.text for draw in draws])) + noise
        return [Rewrite("released", latent=latent) for latent in latents]

    def encode(self, texts: Sequence[str]) -> Array:
        """Return the number of each text."""
        return np.array([[self.mu * TEXTS.index(text)] for text in texts])

    def log_density(self, latent: Array, latents: Sequence[Array] | Array, epsilon: float) -> Floats:  # noqa: ARG002
        """Return the normal log density around each number."""
        distance = np.asarray(latents, dtype=np.float64)[:, 0] - float(latent[0])
        return np.asarray(-0.5 * distance**2 - 0.5 * math.log(math.tau), dtype=np.float64)
