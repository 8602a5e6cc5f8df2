"""Words of the Penn Treebank, to and from text: nltk's rules, which need no data."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

# Without one of these signs or pairs none of the detokenizer's thirty rules applies.
_MARKED = re.compile(r"""['"`\-\[\](){}<>?!.;:,%#$]|(?i:can|gim|gon|got|lem|wan)\s(?i:not|me|na|ta)""")


def split_words(text: str) -> list[str]:
    """Return the words of a text; marks are words of their own."""
    return list(_tokenizer().tokenize(text))


def join_words(words: Sequence[str]) -> str:
    """Return words as a text again, marks put back to the words they belong to."""
    joined = " ".join(words)
    if _MARKED.search(joined) is None:
        return joined.strip()
    return str(_detokenizer().detokenize(list(words)))


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from nltk.tokenize import TreebankWordTokenizer

    return TreebankWordTokenizer()


@lru_cache(maxsize=1)
def _detokenizer() -> Any:
    from nltk.tokenize.treebank import TreebankWordDetokenizer

    return TreebankWordDetokenizer()
