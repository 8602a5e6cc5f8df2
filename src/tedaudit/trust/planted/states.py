"""Planted: rewriters that remember their calls."""

from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence
from tedaudit.trust.planted.flaw import Flaw, Rewriter


def tell_every_seventh() -> Rewriter:
    """Return a rewriter that gives every seventh text away."""
    calls = 0

    def rewrite(text: str, seed: int) -> str:
        nonlocal calls
        calls += 1
        return text if calls % 7 == 0 else draw_sentence(Random(seed))

    return rewrite


def tell_previous() -> Rewriter:
    """Return a rewriter whose output ends with the first words of the text before."""
    before = ""

    def rewrite(text: str, seed: int) -> str:
        nonlocal before
        told, before = " ".join(before.split()[:4]), text
        return f"{draw_sentence(Random(seed))} {told}"

    return rewrite


def count_repeats() -> Rewriter:
    """Return a rewriter that says whether it has seen the text before."""
    seen: set[str] = set()

    def rewrite(text: str, seed: int) -> str:
        told = "again" if text in seen else "new"
        seen.add(text)
        return f"{draw_sentence(Random(seed))} {told}"

    return rewrite


FLAWS = (
    Flaw("every-seventh-call", "state", "every seventh call returns the text as it is",
         tell_every_seventh, lambda: draw_only),
    Flaw("previous-text-told", "state", "an output tells the first words of the text of the call before",
         tell_previous, lambda: draw_only),
    Flaw("repeats-told", "state", "an output tells whether its text came before",
         count_repeats, lambda: draw_only),
)  # fmt: skip
