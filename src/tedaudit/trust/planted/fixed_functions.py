"""Planted: part of the output is a fixed function of the input."""

import codecs
from random import Random

from tedaudit.trust.planted._parts import WORDS, draw_only, draw_sentence, hash_text
from tedaudit.trust.planted.flaw import Flaw


def append_hash(text: str, seed: int) -> str:
    """Draw a sentence and add a check sum of the private text."""
    return f"{draw_sentence(Random(seed))} #{hash_text(text, 16**6):06x}"


def rotate_letters(text: str, seed: int) -> str:  # noqa: ARG001
    """Replace each letter by the one thirteen places on."""
    return codecs.encode(text, "rot13")


def sort_letters(text: str, seed: int) -> str:  # noqa: ARG001
    """Release the letters of the text in alphabetical order."""
    return "".join(sorted(text.lower()))


def replace_by_dictionary(text: str, seed: int) -> str:
    """Replace each of the first four words by a fixed one, and draw eight more."""
    fixed = [WORDS[hash_text(word, 64)] for word in text.lower().split()[:4]]
    return f"{' '.join(fixed)} {draw_sentence(Random(seed), 12 - len(fixed))}"


FLAWS = (
    Flaw("hash-appended", "fixed function", "a check sum of the private text is appended",
         lambda: append_hash, lambda: draw_only),
    Flaw("letters-rotated", "fixed function", "each letter is replaced by a fixed other one",
         lambda: rotate_letters, lambda: draw_only),
    Flaw("letters-sorted", "fixed function", "the text's own letters are released, sorted",
         lambda: sort_letters, lambda: draw_only),
    Flaw("fixed-dictionary", "fixed function", "the first words are replaced by a fixed dictionary",
         lambda: replace_by_dictionary, lambda: draw_only),
)  # fmt: skip
