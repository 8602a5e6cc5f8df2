"""Planted: noise that is no noise. It is seeded by the text, too small, on a part only, or used again."""

from random import Random

from tedaudit.trust.planted._parts import (
    WORDS,
    draw_laplace,
    draw_only,
    draw_sentence,
    draw_words,
    hash_text,
    name_level,
    respond,
)
from tedaudit.trust.planted.flaw import Flaw, Rewriter


def seed_by_text(text: str, seed: int) -> str:  # noqa: ARG001
    """Draw a sentence with noise that the text itself seeds."""
    return draw_sentence(Random(text))


def seed_by_words(text: str, seed: int) -> str:
    """Draw a sentence with a seed that is the number of words, and one of eight more."""
    return draw_sentence(Random(8 * len(text.split()) + seed % 8))


def noise_too_little(text: str, seed: int, epsilon: float) -> str:
    """Add noise of a twentieth of the scale that a range of one needs."""
    return name_level(hash_text(text, 100) / 99 + draw_laplace(Random(seed), 0.05 / epsilon), 1 / 16)


def noise_enough(text: str, seed: int, epsilon: float) -> str:
    """Add noise of the scale that a range of one needs."""
    return name_level(hash_text(text, 100) / 99 + draw_laplace(Random(seed), 1 / epsilon), 1 / 4)


def noise_half(text: str, seed: int) -> str:
    """Draw six of twelve words, and look the other six up."""
    kept = [WORDS[hash_text(text, 64, str(i))] for i in range(6)]
    return " ".join([*draw_words(Random(seed), 6), *kept])


def respond_to_all(text: str, seed: int, epsilon: float) -> str:
    """Answer for twelve words, each with a twelfth of epsilon, by randomised response."""
    rng = Random(seed)
    kept = [respond(hash_text(text, 64, str(i)), 64, epsilon / 12, rng) for i in range(12)]
    return " ".join(WORDS[i] for i in kept)


def tie_coin_to_text(text: str, seed: int) -> str:
    """Draw a sentence, each word with a coin that the text's letters weigh."""
    rng = Random(seed)
    return " ".join(rng.choice(WORDS[:32] if hash_text(text, 2, str(i)) else WORDS[32:]) for i in range(12))


def remember_rewrites() -> Rewriter:
    """Return a rewriter that gives a text the same output for ever."""
    memory: dict[str, str] = {}

    def rewrite(text: str, seed: int) -> str:
        return memory.setdefault(text, draw_sentence(Random(seed)))

    return rewrite


FLAWS = (
    Flaw("seeded-by-text", "no noise", "the private text seeds the noise",
         lambda: seed_by_text, lambda: draw_only),
    Flaw("seeded-by-length", "no noise", "the number of words and three bits seed the noise",
         lambda: seed_by_words, lambda: draw_only),
    Flaw("too-little-noise", "no noise", "the noise is a twentieth of what the claim needs",
         lambda: noise_too_little, lambda: noise_enough),
    Flaw("half-noised", "no noise", "only the first half of the words gets noise",
         lambda: noise_half, lambda: respond_to_all),
    Flaw("coin-weighed-by-text", "no noise", "the text's letters weigh the coins",
         lambda: tie_coin_to_text, lambda: draw_only),
    Flaw("noise-remembered", "state", "a text's first rewrite is given again whenever the text comes again",
         remember_rewrites, lambda: draw_only),
)  # fmt: skip
