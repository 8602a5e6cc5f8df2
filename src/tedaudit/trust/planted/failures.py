"""Planted: what fails, and how, depends on the text."""

from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence, hash_text
from tedaudit.trust.planted.flaw import Flaw


def fail_on_digits(text: str, seed: int) -> str:
    """Draw a sentence, and fail on a text with three digits or more."""
    if sum(c.isdigit() for c in text) > 2:
        raise ValueError("digits")
    return draw_sentence(Random(seed))


def fail_by_kind(text: str, seed: int) -> str:
    """Fail in two calls of five, with an error whose type the text decides."""
    rng = Random(seed)
    if rng.random() < 0.4:
        raise (KeyError if hash_text(text, 2) else ValueError)("cannot be rewritten")
    return draw_sentence(rng)


def fail_at_random(text: str, seed: int) -> str:  # noqa: ARG001
    """Fail in two calls of five, whatever the text."""
    rng = Random(seed)
    if rng.random() < 0.4:
        raise ValueError("cannot be rewritten")
    return draw_sentence(rng)


def empty_if_short(text: str, seed: int) -> str:
    """Draw a sentence, and nothing for a text of fewer than eighty characters."""
    return draw_sentence(Random(seed)) if len(text) >= 80 else ""


FLAWS = (
    Flaw("fails-on-digits", "errors", "texts with digits fail",
         lambda: fail_on_digits, lambda: fail_at_random),
    Flaw("kind-of-error", "errors", "failures come at random, but their type is chosen by the text",
         lambda: fail_by_kind, lambda: fail_at_random),
    Flaw("empty-if-short", "errors", "short texts give an empty output",
         lambda: empty_if_short, lambda: draw_only),
)  # fmt: skip
