r"""How the lexical encoder cuts a pool of texts into words: by a rule that looks at the pool alone.

`\w+` finds the words of English. A sentence of a script without spaces is then one word, so that only a
rewrite which keeps three characters in a row shares anything with its source; and since `\w` has no combining
marks, a word of Hindi falls apart into letters. If the pool is plainly not Latin, a combining mark belongs to
its word, a letter of a script without spaces is a word (neighbours are pairs of words, as everywhere), and
texts are compared in one normal form. All other pools are read as they always were.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from tedaudit.scripts import measure_scripts
from tedaudit.words import unspaced_pattern, word_pattern

PLAIN, CHARACTERS = "", "characters of unspaced scripts are words"
LEAST = 0.01  # of letters and marks that are not Latin letters: from there on a pool is read by characters
_PLAIN_WORD = re.compile(r"\w+|[^\w\s]")


def choose_reading(texts: Sequence[str]) -> str:
    """Return how a pool of texts is read: `CHARACTERS` if one letter or mark in a hundred is not Latin."""
    if all(map(str.isascii, texts)):
        return PLAIN
    return CHARACTERS if measure_scripts(texts).beyond_words >= LEAST else PLAIN


def find_words(reading: str) -> re.Pattern[str]:
    """Return what cuts a piece between white space into words and marks."""
    return _compile_words() if reading else _PLAIN_WORD


def prepare_texts(texts: Sequence[str], reading: str) -> Sequence[str]:
    """Return texts as they are cut at white space: in NFC, with spaces around letters that are words."""
    if not reading:
        return texts
    spaced = _compile_unspaced().sub
    return [
        text if text.isascii() else spaced(r" \g<0> ", unicodedata.normalize("NFC", text)) for text in texts
    ]


@lru_cache(maxsize=1)
def _compile_words() -> re.Pattern[str]:
    return re.compile(rf"{word_pattern()}|[^\w\s]")


@lru_cache(maxsize=1)
def _compile_unspaced() -> re.Pattern[str]:
    return re.compile(unspaced_pattern())
