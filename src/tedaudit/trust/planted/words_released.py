"""Flaws of public releases that rewrite word by word: some of what the text says or looks like is kept."""

from random import Random

from tedaudit.trust.planted._parts import (
    STOP_WORDS,
    WORDS,
    draw_only,
    draw_sentence,
    draw_words,
    split_pieces,
)
from tedaudit.trust.planted.flaw import Flaw

_SLOTS, _WINDOW = 12, 8


def keep_stop_words(text: str, seed: int) -> str:
    """Draw every word but stop words and marks, of which twelve are released as they are."""
    rng, pieces = Random(seed), split_pieces(text)
    kept = [piece for piece in pieces if piece.lower() in STOP_WORDS or not piece[0].isalnum()]
    return " ".join([*(kept + draw_words(rng))[:_SLOTS], *draw_words(rng)])


def copy_case(text: str, seed: int) -> str:
    """Draw twelve words, each with a capital if the private word in its place has one."""
    words = text.split()[:_SLOTS]
    words += [""] * (_SLOTS - len(words))
    drawn = draw_words(Random(seed))
    return " ".join(
        new.capitalize() if old[:1].isupper() else new for old, new in zip(words, drawn, strict=True)
    )


def keep_word_count(text: str, seed: int) -> str:
    """Draw as many words as the text has."""
    return draw_sentence(Random(seed), len(text.split()))


def cap_at_input(text: str, seed: int) -> str:
    """Draw up to forty words, but no more than the text has."""
    rng = Random(seed)
    return draw_sentence(rng, min(rng.randrange(1, 41), len(text.split())))


def _draw_forty(text: str, seed: int) -> str:  # noqa: ARG001
    rng = Random(seed)
    return draw_sentence(rng, rng.randrange(1, 41))


def keep_far_words(text: str, seed: int) -> str:
    """Draw the words within a window of eight, release the next four as they are."""
    words = [*text.split(), *[WORDS[0]] * _SLOTS][:_SLOTS]
    return " ".join([*draw_words(Random(seed), _WINDOW), *words[_WINDOW:]])


def pass_unknown_words(text: str, seed: int) -> str:
    """Draw words of the vocabulary and stop words; others, names above all, pass in a public number."""
    rng = Random(seed)
    unknown = [piece for piece in split_pieces(text) if piece.istitle() and piece.lower() not in STOP_WORDS]
    return " ".join((unknown[:3] + draw_words(rng))[:_SLOTS])


FLAWS = (
    Flaw("stop-words-kept", "kept words", "stop words and punctuation are released as they are",
         lambda: keep_stop_words, lambda: draw_only, "1"),
    Flaw("case-copied", "kept shape", "the case of each word's first letter is copied from the private word",
         lambda: copy_case, lambda: draw_only, "2"),
    Flaw("word-count-kept", "kept shape", "as many words come out as went in",
         lambda: keep_word_count, lambda: draw_only, "3"),
    Flaw("capped-at-input", "kept shape", "the output is never longer than the private input",
         lambda: cap_at_input, lambda: _draw_forty, "4"),
    Flaw("far-words-unchanged", "kept words", "words beyond a window of eight come back unchanged",
         lambda: keep_far_words, lambda: draw_only, "16"),
    Flaw("unknown-words-pass", "kept words", "words outside the vocabulary, such as names, pass through",
         lambda: pass_unknown_words, lambda: draw_only, "17"),
)  # fmt: skip
