"""Planted: the words are drawn, and something about the text is kept beside them."""

from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence, split_pieces
from tedaudit.trust.planted.flaw import Flaw

_MARKS = ".!?"


def keep_last_mark(text: str, seed: int) -> str:
    """Draw a sentence that ends as the text does."""
    return draw_sentence(Random(seed)) + (text[-1:] if text[-1:] in _MARKS else "")


def keep_sentence_count(text: str, seed: int) -> str:
    """Draw as many sentences as the text has."""
    rng, count = Random(seed), max(1, sum(text.count(mark) for mark in _MARKS))
    return " ".join(f"{draw_sentence(rng, 4)}." for _ in range(min(count, 9)))


def write_header(text: str, seed: int) -> str:
    """Draw a sentence under a header with the text's size in bytes."""
    return f"[{len(text.encode())} bytes] {draw_sentence(Random(seed))}"


def keep_commas(text: str, seed: int) -> str:
    """Draw twelve words with commas in the places where the text has them."""
    drawn, pieces = draw_sentence(Random(seed)).split(), split_pieces(text)[:12]
    commas = {i for i, piece in enumerate(pieces) if piece == ","}
    return " ".join(f"{word}," if i in commas else word for i, word in enumerate(drawn))


FLAWS = tuple(
    Flaw(name, "metadata", wrong, build, lambda: draw_only)
    for name, wrong, build in (
        ("last-mark-kept", "the output ends with the text's last mark", lambda: keep_last_mark),
        ("sentence-count-kept", "there are as many sentences as in the text", lambda: keep_sentence_count),
        ("size-in-header", "a header tells the text's size", lambda: write_header),
        ("commas-kept", "commas stand where they stood in the text", lambda: keep_commas),
    )
)
