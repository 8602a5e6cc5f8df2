"""Flaws of public releases in their draws: outputs that only one text can give, and noise that is known."""

import math
from random import Random

import numpy as np

from planted.flaw import (
    WORDS,
    Flaw,
    draw_only,
    draw_sentence,
    hash_text,
    shift_digits,
    split_pieces,
)

_CLUSTERS, _NEAR, _SIZE = 8, 4, 4096


def _score(text: str, word: str) -> float:
    """Return how well a public word fits a text, from 0 to 1."""
    return hash_text(f"{word}|{text}", 1000) / 999


def _draw(scores: list[float], epsilon: float, rng: Random) -> str:
    """Draw a word by the exponential mechanism for scores of sensitivity 1."""
    top = max(scores)
    weights = [math.exp(epsilon / 2 * (score - top)) for score in scores]
    return rng.choices(WORDS, weights)[0]


def cut_to_top(text: str, seed: int, epsilon: float) -> str:
    """Draw a word from the five that fit the text best."""
    best = sorted(WORDS, key=lambda word: -_score(text, word))[:5]
    weights = [math.exp(epsilon / 2 * _score(text, word)) for word in best]
    return Random(seed).choices(best, weights)[0]


def skip_clipping(text: str, seed: int, epsilon: float) -> str:
    """Draw a word by scores that reach 60, as if they reached 1."""
    return _draw([60 * _score(text, word) for word in WORDS], epsilon, Random(seed))


def draw_by_score(text: str, seed: int, epsilon: float) -> str:
    """Draw a word from all by scores within 0 and 1, as the exponential mechanism does."""
    return _draw([_score(text, word) for word in WORDS], epsilon, Random(seed))


def return_raw_without_triple(text: str, seed: int) -> str:
    """Return a drawn sentence, or the text itself if no verb of a short list makes it a triple."""
    verbs = {"is", "was", "are", "has", "have", "got", "can", "will"}
    if verbs & {piece.lower() for piece in split_pieces(text)}:
        return draw_sentence(Random(seed))
    return text


def pick_nearest_cluster(text: str, seed: int) -> str:
    """Draw a word from the text's cluster, which is chosen without noise; clusters share no word."""
    return Random(seed).choice(WORDS[hash_text(text, _CLUSTERS) :: _CLUSTERS])


def _draw_from_all_clusters(text: str, seed: int) -> str:
    return Random(seed).choice(WORDS)


def overflow(text: str, seed: int, epsilon: float) -> str:
    """Weigh words by exp of a number that grows with the text: a long one overflows."""
    weights = [math.exp(epsilon * 12 * len(text) * (place + 1) / 64) for place in range(64)]
    Random(seed).choices(WORDS, [1 / weight for weight in weights])
    return draw_sentence(Random(seed))


def misjudge_rest(text: str, seed: int, epsilon: float) -> str:
    """Draw one of four near words, or any other: the others count as one word, whatever their number."""
    rng = Random(seed)
    near = sorted(WORDS, key=lambda word: -_score(text, word))[:_NEAR]
    rest = [word for word in WORDS if word not in near]
    weights = [*[math.exp(epsilon / 2)] * _NEAR, 1.0]  # 1 for all of the rest; right would be its size
    drawn = rng.choices([*near, ""], weights)[0]
    return drawn or rng.choice(rest)


def count_rest(text: str, seed: int, epsilon: float) -> str:
    """Draw one of four near words, or any other, each other word with a weight of its own."""
    near = sorted(WORDS, key=lambda word: -_score(text, word))[:_NEAR]
    return Random(seed).choices(WORDS, [math.exp(epsilon / 2 * (word in near)) for word in WORDS])[0]


def round_to_zero(text: str, seed: int, epsilon: float) -> str:
    """Draw a number by sums of probabilities in half precision, in which the smallest ones vanish."""
    return str(_draw_number(text, seed, epsilon, np.float16))


def draw_number(text: str, seed: int, epsilon: float) -> str:
    """Draw a number by sums of probabilities in double precision."""
    return str(_draw_number(text, seed, epsilon, np.float64))


def _draw_number(text: str, seed: int, epsilon: float, precision: type[np.floating]) -> int:
    liked = (np.arange(_SIZE) + hash_text(text, _SIZE)) % _SIZE < _SIZE // 8
    weights = np.exp(epsilon / 2 * liked)
    sums = np.add.accumulate((weights / weights.sum()).astype(precision), dtype=precision)
    return int(np.searchsorted(sums, Random(seed).random() * float(sums[-1]), side="right")) // 64


RELEASED = (
    Flaw("top-words-only", "cut support", "words are drawn from the five that fit the private text best",
         lambda: cut_to_top, lambda: draw_by_score, "5"),
    Flaw("scores-not-clipped", "wrong constant", "scores are not clipped: their sensitivity is unbounded",
         lambda: skip_clipping, lambda: draw_by_score, "6"),
    Flaw("raw-without-triple", "kept words", "a text without a triple is returned as it is",
         lambda: return_raw_without_triple, lambda: draw_only, "7"),
    Flaw("nearest-cluster", "cut support", "the cluster to draw from is chosen without noise",
         lambda: pick_nearest_cluster, lambda: _draw_from_all_clusters, "8"),
    Flaw("overflow", "errors", "exp overflows for long texts: whether a call fails depends on the text",
         lambda: overflow, lambda: draw_only, "9"),
    Flaw("rest-misjudged", "wrong constant", "all words outside the near set share the weight of one",
         lambda: misjudge_rest, lambda: count_rest, "18"),
    Flaw("rounded-to-zero", "cut support",
         "probabilities are summed in half precision, so that some words become impossible",
         lambda: round_to_zero, lambda: draw_number, "21"),
)  # fmt: skip


# --- Flaws of public releases in where their noise comes from.

_WORKERS = 8


def fix_seed(text: str, seed: int) -> str:
    """Take all noise from a generator with a public seed."""
    return shift_digits(text, Random(42))


def fork_workers(text: str, seed: int) -> str:
    """Take noise from one of eight calls that every forked worker makes from the same state."""
    return shift_digits(text, Random(seed % _WORKERS))


def seed_freshly(text: str, seed: int) -> str:
    """Take noise from the seed of the call."""
    return shift_digits(text, Random(seed))


SEEDS_RELEASED = (
    Flaw("fixed-seed", "no noise", "the seed is fixed and public: the noise can be computed again",
         lambda: fix_seed, lambda: seed_freshly, "14"),
    Flaw("forked-workers", "no noise",
         "workers are forked from one state and replaced after eight calls: there are eight noises in all",
         lambda: fork_workers, lambda: seed_freshly, "15"),
)  # fmt: skip
