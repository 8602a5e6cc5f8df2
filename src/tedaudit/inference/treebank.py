"""Penn Treebank words to and from text, by nltk's rules, which need no data."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tedaudit.extras import require

# Without one of these characters or pairs, none of the detokenizer's thirty rules applies.
_MARKED = re.compile(r"""['"`\-\[\](){}<>?!.;:,%#$]|(?i:can|gim|gon|got|lem|wan)\s(?i:not|me|na|ta)""")


def split_words(text: str) -> list[str]:
    """Return the words of a text; punctuation marks are separate words."""
    return list(_load_tokenizer().tokenize(text))


def join_words(words: Sequence[str]) -> str:
    """Join words into a text, with punctuation attached to the words it belongs to."""
    joined = " ".join(words)
    if _MARKED.search(joined) is None:
        return joined.strip()
    return str(_load_detokenizer().detokenize(list(words)))


@lru_cache(maxsize=1)
def _load_tokenizer() -> Any:
    require("Splitting a text into words", "nltk")
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer()


@lru_cache(maxsize=1)
def _load_detokenizer() -> Any:
    require("Joining words into a text", "nltk")
    from nltk.tokenize.treebank import TreebankWordDetokenizer

    return TreebankWordDetokenizer()
