"""Planted: side channels in the length, the case and the order of what is drawn."""

from itertools import permutations
from random import Random

from tedaudit.trust.planted._parts import draw_only, draw_sentence, draw_words, hash_text
from tedaudit.trust.planted.flaw import Flaw

_ORDERS = tuple(permutations(("first", "second", "third", "fourth")))


def draw_by_length(text: str, seed: int) -> str:
    """Draw five words, and as many more as the text's characters leave when divided by seven."""
    return draw_sentence(Random(seed), 5 + len(text) % 7)


def pad_to_length(text: str, seed: int) -> str:
    """Draw a sentence and pad it with dots to the next ten characters of the text's length."""
    return draw_sentence(Random(seed), 3).ljust(len(text) // 10 * 10, ".")


def shout_for_names(text: str, seed: int) -> str:
    """Draw a sentence, in capitals if the text has three capitals or more."""
    drawn = draw_sentence(Random(seed))
    return drawn.upper() if sum(c.isupper() for c in text) > 2 else drawn


def capitalise_at(text: str, seed: int) -> str:
    """Draw twelve words, one with a capital: which one the text decides."""
    drawn, place = draw_words(Random(seed)), hash_text(text, 12)
    return " ".join(word.capitalize() if i == place else word for i, word in enumerate(drawn))


def order_by_text(text: str, seed: int) -> str:
    """Draw a sentence and put four fixed words in one of the 24 orders."""
    return f"{' '.join(_ORDERS[hash_text(text, 24)])} {draw_sentence(Random(seed))}"


def sort_if_question(text: str, seed: int) -> str:
    """Draw words, in alphabetical order if the text asks something."""
    drawn = draw_words(Random(seed))
    return " ".join(sorted(drawn) if "?" in text else drawn)


FLAWS = (
    Flaw("length-by-characters", "length", "the number of words tells the text's length modulo seven",
         lambda: draw_by_length, lambda: draw_only),
    Flaw("padded-to-length", "length", "the output is padded to the text's length",
         lambda: pad_to_length, lambda: draw_only),
    Flaw("shouts-for-names", "case", "the output is in capitals if the text has many",
         lambda: shout_for_names, lambda: draw_only),
    Flaw("capital-at-place", "case", "the place of the only capital is chosen by the text",
         lambda: capitalise_at, lambda: draw_only),
    Flaw("order-of-words", "order", "the order of four fixed words is chosen by the text",
         lambda: order_by_text, lambda: draw_only),
    Flaw("sorted-for-questions", "order", "words come sorted if the text asks something",
         lambda: sort_if_question, lambda: draw_only),
)  # fmt: skip
