"""Planted: the words of one class are kept, all others drawn."""

from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_words, split_pieces
from tedaudit.trust.planted.flaw import Flaw


def _keep(text: str, seed: int, kept: list[str]) -> str:  # noqa: ARG001
    """Release twelve words, of which up to two are kept."""
    return " ".join((kept[:2] + draw_words(Random(seed)))[:12])


def keep_names(text: str, seed: int) -> str:
    """Keep words with a capital that do not begin the text."""
    return _keep(text, seed, [piece for piece in split_pieces(text)[1:] if piece.istitle()])


def keep_numbers(text: str, seed: int) -> str:
    """Keep numbers."""
    return _keep(text, seed, [piece for piece in split_pieces(text) if piece[0].isdigit()])


def keep_longest(text: str, seed: int) -> str:
    """Keep the longest word."""
    return _keep(text, seed, [max(split_pieces(text), key=len, default="")])


def keep_last(text: str, seed: int) -> str:
    """Keep the last word, without its case."""
    return _keep(text, seed, [piece.lower() for piece in split_pieces(text) if piece[0].isalnum()][-1:])


FLAWS = tuple(
    Flaw(name, "word class", wrong, build, lambda: draw_only)
    for name, wrong, build in (
        ("names-kept", "names pass as they are", lambda: keep_names),
        ("numbers-kept", "numbers pass as they are", lambda: keep_numbers),
        ("longest-word-kept", "the longest word passes as it is", lambda: keep_longest),
        ("last-word-kept", "the last word passes as it is", lambda: keep_last),
    )
)
