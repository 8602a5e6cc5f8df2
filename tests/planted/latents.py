"""Planted: noise on a vector, of public releases and others: the wrong scale, or not fresh, or none."""

import math
from random import Random
from statistics import median

from planted.flaw import (
    WORDS,
    Flaw,
    Rewriter,
    draw_laplace,
    draw_only,
    draw_sentence,
    draw_words,
    hash_text,
    name_level,
    respond,
    split_pieces,
)
from tedaudit.plugins.values import Claim

_POSITIONS, _LATENT = 6, 64
CLASSICAL = Claim(10.0, "document", delta=0.1)


def _clip(value: float, least: float, most: float) -> float:
    return max(least, min(most, value))


def _read_value(text: str) -> float:
    """Return a number for a text, far outside of the clip range on either side."""
    return 9.0 if hash_text(text, 2, "sign") else -9.0


def clip_too_wide(text: str, seed: int, epsilon: float) -> str:
    """Clip to a range six wide, and add noise for a sensitivity of one."""
    return name_level(_clip(_read_value(text), -3, 3) + draw_laplace(Random(seed), 1 / epsilon))


def clip_right(text: str, seed: int, epsilon: float) -> str:
    """Clip to a range six wide, and add noise for it."""
    return name_level(_clip(_read_value(text), -3, 3) + draw_laplace(Random(seed), 6 / epsilon), 3)


def reuse_noise(text: str, seed: int) -> str:
    """Shift six numbers by one and the same noise: each alone tells nothing, their differences all."""
    shift = Random(seed).randrange(10)
    return " ".join(str((hash_text(text, 10, str(i)) + shift) % 10) for i in range(_POSITIONS))


def shift_each(text: str, seed: int) -> str:
    """Shift each of six numbers by noise of its own."""
    rng = Random(seed)
    return " ".join(str((hash_text(text, 10, str(i)) + rng.randrange(10)) % 10) for i in range(_POSITIONS))


def calibrate_classically(text: str, seed: int, epsilon: float) -> str:
    """Add Gaussian noise by the classical formula, which is proved up to epsilon 1 only."""
    sigma = 2 * math.sqrt(2 * math.log(1.25 / CLASSICAL.delta)) / epsilon
    return name_level(_clip(_read_value(text), -1, 1) + Random(seed).gauss(0, sigma), sigma / 4)


def clip_norm(text: str, seed: int, epsilon: float) -> str:
    """Clip a vector's norm to 3, and add noise for values within half of one."""
    rng, angle = Random(seed), math.tau * hash_text(text, 360, "angle") / 360
    vector = (3 * math.cos(angle), 3 * math.sin(angle))
    return " ".join(name_level(value + draw_laplace(rng, 0.5 / epsilon)) for value in vector)


def clip_norm_right(text: str, seed: int, epsilon: float) -> str:
    """Clip a vector's norm to 3, and add noise for the most that its values can differ by together."""
    rng, angle = Random(seed), math.tau * hash_text(text, 360, "angle") / 360
    vector = (3 * math.cos(angle), 3 * math.sin(angle))
    return " ".join(name_level(v + draw_laplace(rng, 6 * math.sqrt(2) / epsilon), 4) for v in vector)


def clip_l2_for_laplace(text: str, seed: int, epsilon: float) -> str:
    """Clip 64 values by their L2 norm, add Laplace noise for 2C in the place of 16C, release the median."""
    rng = Random(seed)
    value = math.copysign(1 / math.sqrt(_LATENT), _read_value(text))
    noisy = [value + draw_laplace(rng, 2 / epsilon) for _ in range(_LATENT)]
    return " ".join(["amber"] * round(_clip(32 + 32 * median(noisy), 0, 63)))


def estimate_bounds(text: str, seed: int, epsilon: float) -> str:
    """Noise the lengths of eight words within bounds that are those of this very text."""
    rng, lengths = Random(seed), [len(piece) for piece in split_pieces(text)][:8]
    low, high = min(lengths), max(lengths)
    noisy = [length + draw_laplace(rng, 8 * (high - low + 1) / epsilon) for length in lengths]
    return " ".join(name_level(_clip(value, low, high)) for value in noisy)


def use_public_bounds(text: str, seed: int, epsilon: float) -> str:
    """Noise the lengths of eight words within public bounds."""
    rng, lengths = Random(seed), [min(9, len(piece)) for piece in split_pieces(text)][:8]
    lengths += [0] * (8 - len(lengths))
    return " ".join(name_level(_clip(n + draw_laplace(rng, 72 / epsilon), 0, 9)) for n in lengths)


def split_by_length(text: str, seed: int, epsilon: float) -> str:
    """Noise sixteen values, each with epsilon divided by the private number of words."""
    rng, count = Random(seed), max(1, len(text.split()))
    noisy = [hash_text(text, 2, str(i)) + draw_laplace(rng, count / epsilon) for i in range(16)]
    return " ".join(WORDS[_magnitude(value)] for value in noisy)


def split_by_slots(text: str, seed: int, epsilon: float) -> str:
    """Noise sixteen values, each with a sixteenth of epsilon."""
    rng = Random(seed)
    noisy = [hash_text(text, 2, str(i)) + draw_laplace(rng, 16 / epsilon) for i in range(16)]
    return " ".join(WORDS[_magnitude(value)] for value in noisy)


def _magnitude(value: float) -> int:
    return int(_clip(2 * math.log2(abs(value) + 1e-9) + 10, 0, 63))


RELEASED = (
    Flaw("clip-range-too-wide", "wrong constant",
         "values are clipped to a range six times as wide as the sensitivity that the noise is for",
         lambda: clip_too_wide, lambda: clip_right, "10"),
    Flaw("noise-shared-by-positions", "no noise", "one noise value is added to every position",
         lambda: reuse_noise, lambda: shift_each, "11"),
    Flaw("classical-gaussian", "wrong constant",
         "the classical Gaussian formula is used far above epsilon 1: 10 is claimed with delta 0.1, the "
         "noise gives delta 0.41",
         lambda: calibrate_classically, None, "12", CLASSICAL, 400_000,
         "an abstaining bound on exact losses: a claim of 10 allows one wrong guess in 22,000"),
    Flaw("norm-clipped-for-values", "wrong constant",
         "the norm is clipped, and the noise is for the sensitivity of clipped values",
         lambda: clip_norm, lambda: clip_norm_right, "13"),
    Flaw("bounds-from-data", "wrong constant", "clip bounds are estimated on the private text itself",
         lambda: estimate_bounds, lambda: use_public_bounds, "19"),
    Flaw("budget-by-length", "wrong constant", "epsilon per value is divided by the private number of words",
         lambda: split_by_length, lambda: split_by_slots, "20"),
    Flaw("l2-clip-with-laplace", "wrong constant",
         "an L2-clipped vector gets Laplace noise as if its L1 norm had been clipped",
         lambda: clip_l2_for_laplace, None, "22", Claim(3.0, "document"), 8_000,
         "more trials: the median of 64 noisy values tells less than the worst case of their sum"),
)  # fmt: skip


# --- Planted: noise that is no noise. It is seeded by the text, too small, on a part only, or used again.


def seed_by_text(text: str, seed: int) -> str:
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


NOISES = (
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
