"""What is known of a planted flaw, and what planted rewriters are made of."""

import math
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tedaudit.mechanisms.function import Function
from tedaudit.plugins.values import Claim
from tedaudit.seeding import derive

Kind = Literal[
    "kept words", "kept shape", "cut support", "wrong constant", "fixed function", "no noise",
    "raw characters", "length", "case", "order", "errors", "state", "rare leak", "word class", "metadata",
]  # fmt: skip
Rewriter = Callable[..., str | list[str]]
"""A function f(text, seed), f(text, seed, epsilon), or f(texts), which has noise of its own."""
CLAIM = Claim(0.5, "document")
"""What most of them promise: in reach of two thousand trials."""
TRIALS = 2_000
"""The trials at which a flaw should be found unless it says how many it needs."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A mechanism that breaks its claim, and how.

    `build` returns the rewriter, a new one each time: some remember their calls. `repaired` returns the same
    without the flaw, of which nothing must be said. `number` is that in the list of flaws in public releases,
    if it is one of them. `needs` is the number of trials at which it is found, None if no sample shows it;
    `why` then says what does.
    """

    name: str
    kind: Kind
    wrong: str
    build: Callable[[], Rewriter]
    repaired: Callable[[], Rewriter] | None = None
    number: str = ""
    claim: Claim = CLAIM
    needs: int | None = TRIALS
    why: str = ""

    def mechanism(self) -> Function:
        """Return the flawed rewriter as a mechanism with its claim's unit and delta."""
        return self._wrap(self.build())

    def twin(self) -> Function | None:
        """Return the repaired rewriter as a mechanism, or None if there is none."""
        return None if self.repaired is None else self._wrap(self.repaired())

    def _wrap(self, rewriter: Rewriter) -> Function:
        return Function(rewriter, unit=self.claim.unit, delta=self.claim.delta)


# --- What the planted rewriters are made of: public words, noise from a seed, numbers read from a text.

WORDS = (
    "amber", "anchor", "basket", "beacon", "bridge", "candle", "canyon", "cedar", "circle", "cotton",
    "desert", "drawer", "ember", "engine", "fabric", "feather", "fiddle", "forest", "garden", "ginger",
    "hammer", "harbor", "island", "jacket", "kettle", "ladder", "lantern", "linen", "magnet", "maple",
    "marble", "meadow", "mirror", "needle", "nickel", "oyster", "paddle", "pepper", "pillow", "planet",
    "pocket", "quartz", "ribbon", "saddle", "silver", "socket", "spider", "spring", "summer", "tablet",
    "temple", "thread", "timber", "tunnel", "turnip", "valley", "velvet", "violin", "walnut", "willow",
    "window", "winter", "yellow", "zipper",
)  # fmt: skip
"""A public vocabulary of 64 words."""
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a about after again all am an and any are as at be because been before but by can could did do "
        "does for from had has have he her here him his how i if in into is it its just me more my no not "
        "nothing now of off on once only or other our out over she so some such than that the their them "
        "then there these they this those to too under until up very was we were what when which while "
        "who why will with would you your ",
    )
)
_PIECE = re.compile(r"\w+(?:['.]\w+)*|[^\w\s]")


def split_pieces(text: str) -> list[str]:
    """Return the words and marks of a text."""
    return _PIECE.findall(text)


def draw_words(rng: random.Random, count: int = 12) -> list[str]:
    """Return so many public words, drawn uniformly: they say nothing of any text."""
    return rng.choices(WORDS, k=count)


def draw_sentence(rng: random.Random, count: int = 12) -> str:
    """Return public words as a sentence."""
    return " ".join(draw_words(rng, count))


def shift_digits(text: str, rng: random.Random) -> str:
    """Shift six digits of a text by noise, each by its own: with fresh noise nothing is told."""
    return " ".join(str((hash_text(text, 10, str(i)) + rng.randrange(10)) % 10) for i in range(6))


def draw_only(text: str, seed: int) -> str:
    """Draw a sentence whatever the text says: a rewriter that reveals nothing."""
    return draw_sentence(random.Random(seed))


def hash_text(text: str, size: int, salt: str = "") -> int:
    """Return a fixed number below `size` for a text."""
    return derive(0, "planted", salt, text) % size


def draw_laplace(rng: random.Random, scale: float) -> float:
    """Return Laplace noise."""
    return rng.expovariate(1 / scale) - rng.expovariate(1 / scale)


def respond(truth: int, size: int, epsilon: float, rng: random.Random) -> int:
    """Return a number below `size`: the true one or another, by randomised response."""
    if rng.random() < math.exp(epsilon) / (math.exp(epsilon) + size - 1):
        return truth
    other = rng.randrange(size - 1)
    return other + (other >= truth)


def name_level(value: float, step: float = 1.0) -> str:
    """Return the public word for a number: one of 64 steps around 0, the last of them for all beyond."""
    return WORDS[max(0, min(63, 32 + math.floor(value / step)))]
