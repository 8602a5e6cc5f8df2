"""Mechanisms whose privacy loss is known exactly, or is none: what is measured of them must fit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import numpy as np

from tedaudit.seeding import normals
from tedaudit.trust.planted.flaw import Rewriter, draw_sentence, respond
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


# --- Rewriters that reveal nothing: of these nothing must be said.

_OUTPUTS = tuple(draw_sentence(Random(number), 3 + number % 9) for number in range(20))


@dataclass(frozen=True, slots=True)
class Null:
    """A rewriter whose output has nothing to do with its input."""

    name: str
    rewrite: Rewriter


def _always_the_same(text: str, seed: int) -> str:  # noqa: ARG001
    return "Thank you for your message."


def _one_of_twenty(text: str, seed: int) -> str:  # noqa: ARG001
    return Random(seed).choice(_OUTPUTS)


def _of_any_length(text: str, seed: int) -> str:  # noqa: ARG001
    rng = Random(seed)
    return draw_sentence(rng, rng.randrange(60))


def _failing_at_random(text: str, seed: int) -> str:  # noqa: ARG001
    rng = Random(seed)
    if rng.random() < 0.3:
        raise (ValueError if rng.random() < 0.5 else KeyError)("at random")
    return draw_sentence(rng)


def _in_any_script(text: str, seed: int) -> str:  # noqa: ARG001
    from tedaudit.trust.planted.scripts import SCRIPTS, write_texts

    rng = Random(seed)
    return write_texts(rng.choice(SCRIPTS), 1, rng.randrange(2**31))[0]


NULLS = (
    Null("constant", _always_the_same),
    Null("fixed distribution", _one_of_twenty),
    Null("varied length", _of_any_length),
    Null("random failures", _failing_at_random),
    Null("texts of any script", _in_any_script),
)
