"""Planted: rewriters that remember calls, fail by text, or keep a fixed function of it in or beside words."""

import codecs
from random import Random

from planted.flaw import (
    WORDS,
    Flaw,
    Rewriter,
    draw_only,
    draw_sentence,
    hash_text,
    shift_digits,
    split_pieces,
)


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


STATES = (
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


# --- Planted: what fails, and how, depends on the text.


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


def fail_at_random(text: str, seed: int) -> str:
    """Fail in two calls of five, whatever the text."""
    rng = Random(seed)
    if rng.random() < 0.4:
        raise ValueError("cannot be rewritten")
    return draw_sentence(rng)


def empty_if_short(text: str, seed: int) -> str:
    """Draw a sentence, and nothing for a text of fewer than eighty characters."""
    return draw_sentence(Random(seed)) if len(text) >= 80 else ""


FAILURES = (
    Flaw("fails-on-digits", "errors", "texts with digits fail",
         lambda: fail_on_digits, lambda: fail_at_random),
    Flaw("kind-of-error", "errors", "failures come at random, but their type is chosen by the text",
         lambda: fail_by_kind, lambda: fail_at_random),
    Flaw("empty-if-short", "errors", "short texts give an empty output",
         lambda: empty_if_short, lambda: draw_only),
)  # fmt: skip


# --- Planted: part of the output is a fixed function of the input.


def append_hash(text: str, seed: int) -> str:
    """Draw a sentence and add a check sum of the private text."""
    return f"{draw_sentence(Random(seed))} #{hash_text(text, 16**6):06x}"


def rotate_letters(text: str, seed: int) -> str:
    """Replace each letter by the one thirteen places on."""
    return codecs.encode(text, "rot13")


def sort_letters(text: str, seed: int) -> str:
    """Release the letters of the text in alphabetical order."""
    return "".join(sorted(text.lower()))


def replace_by_dictionary(text: str, seed: int) -> str:
    """Replace each of the first four words by a fixed one, and draw eight more."""
    fixed = [WORDS[hash_text(word, 64)] for word in text.lower().split()[:4]]
    return f"{' '.join(fixed)} {draw_sentence(Random(seed), 12 - len(fixed))}"


FIXED_FUNCTIONS = (
    Flaw("hash-appended", "fixed function", "a check sum of the private text is appended",
         lambda: append_hash, lambda: draw_only),
    Flaw("letters-rotated", "fixed function", "each letter is replaced by a fixed other one",
         lambda: rotate_letters, lambda: draw_only),
    Flaw("letters-sorted", "fixed function", "the text's own letters are released, sorted",
         lambda: sort_letters, lambda: draw_only),
    Flaw("fixed-dictionary", "fixed function", "the first words are replaced by a fixed dictionary",
         lambda: replace_by_dictionary, lambda: draw_only),
)  # fmt: skip


# --- Planted: the words are drawn, and something about the text is kept beside them.

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


METADATA = tuple(
    Flaw(name, "metadata", wrong, build, lambda: draw_only)
    for name, wrong, build in (
        ("last-mark-kept", "the output ends with the text's last mark", lambda: keep_last_mark),
        ("sentence-count-kept", "there are as many sentences as in the text", lambda: keep_sentence_count),
        ("size-in-header", "a header tells the text's size", lambda: write_header),
        ("commas-kept", "commas stand where they stood in the text", lambda: keep_commas),
    )
)
