"""Planted: rewriters that remember their calls, or let the texts of one call see each other."""

from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence, shift_digits
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


def count_previous() -> Rewriter:
    """Return a rewriter whose output has the number of words of the text before."""
    before = ""

    def rewrite(text: str, seed: int) -> str:
        nonlocal before
        told, before = len(before.split()), text
        return f"{draw_sentence(Random(seed), 2)} {told}"

    return rewrite


def share_noise() -> Rewriter:
    """Return a rewriter of lists that draws noise once a call, for all texts of it."""
    calls = Random(1)

    def rewrite(texts: list[str]) -> list[str]:
        seed = calls.getrandbits(64)
        return [shift_digits(text, Random(seed)) for text in texts]

    return rewrite


def merge_duplicates() -> Rewriter:
    """Return a rewriter of lists that rewrites equal texts of a call once."""
    calls = Random(2)

    def rewrite(texts: list[str]) -> list[str]:
        made = {text: draw_sentence(calls) for text in dict.fromkeys(texts)}
        return [made[text] for text in texts]

    return rewrite


def tell_neighbour() -> Rewriter:
    """Return a rewriter of lists whose outputs end with the first words of the text before in the call."""
    calls = Random(3)

    def rewrite(texts: list[str]) -> list[str]:
        before = ["", *texts[:-1]]
        return [f"{draw_sentence(calls)} {' '.join(text.split()[:4])}" for text in before]

    return rewrite


FLAWS = (
    Flaw("every-seventh-call", "state", "every seventh call returns the text as it is",
         tell_every_seventh, lambda: draw_only),
    Flaw("previous-text-told", "state", "an output tells the first words of the text of the call before",
         tell_previous, lambda: draw_only),
    Flaw("repeats-told", "state", "an output tells whether its text came before",
         count_repeats, lambda: draw_only),
    Flaw("previous-length-told", "state", "an output tells how many words the text of the call before had",
         count_previous, lambda: draw_only),
    Flaw("noise-shared-in-call", "state", "all texts of a call get the same noise",
         share_noise, lambda: draw_only),
    Flaw("duplicates-merged", "state", "equal texts of a call are rewritten once",
         merge_duplicates, lambda: draw_only),
    Flaw("neighbour-told", "state", "an output tells the first words of the text before it in the call",
         tell_neighbour, lambda: draw_only),
)  # fmt: skip
