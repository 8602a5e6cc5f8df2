"""Penn Treebank words to and from text, by nltk's rules, which need no data."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tedaudit.extras import require

# Without one of these characters or pairs, none of the detokenizer's thirty rules applies.
_MARKED = re.compile(r"""['"`\-\[\](){}<>?!.;:,%#$]|(?i:can|gim|gon|got|lem|wan)\s(?i:not|me|na|ta)""")
# Letters and digits, with single marks between them: rules see no more of such a word than its ends,
_INERT = re.compile(r"[^\W_]+(?:[-.,:'&@/][^\W_]+)*")
_ENDS = re.compile(r"^[^\W_]+|[^\W_]+$")
# unless an end is one of the words that are written together, as in "can not", or the whole is this ending,
_BOUND = frozenset("can gim gon got lem wan not me na ta d more is was".split())  # noqa: SIM905
_ENDING = "n't"
_LIKE_ASCII = frozenset("\u0130\u0131\u017f\u212a")  # or it has a letter that rules take for i, s or k
# The tokenizer's rules are about marks and about these words, which it cuts in two.
_PLAIN = re.compile(r"[A-Za-z0-9\s]*", re.ASCII)
_CONTRACTED = re.compile(r"\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b", re.ASCII | re.IGNORECASE)
_RUNS = 1 << 16  # of other words, of which it is remembered how they are joined
_SPELLINGS = 1 << 18


def split_words(text: str) -> list[str]:
    """Return the words of a text as nltk does; punctuation marks are separate words."""
    if _PLAIN.fullmatch(text) and not _CONTRACTED.search(text):
        return text.split()
    return list(_load_tokenizer().tokenize(text))


def join_words(words: Sequence[str]) -> str:
    """Join words into a text as nltk does, with punctuation attached to the words it belongs to.

    The detokenizer's rules look at what stands beside a space, and never past a word that no rule is
    about. So the spaces between two such words (or an end of the text) depend on the other words there
    alone, and nltk is asked once how those are joined.
    """
    joined = " ".join(words)
    if _MARKED.search(joined) is None:
        return joined.strip()
    return join_around(words, [place for place, word in enumerate(words) if not is_inert(word)])


def join_around(words: Sequence[str], places: Sequence[int]) -> str:
    """Join words, given the places of those that a rule is about."""
    parts, end, at = [], 0, 0
    while at < len(places):
        start = places[at]
        if start > end:
            parts.append(" ".join(words[end:start]))
        end = start + 1
        at += 1
        while at < len(places) and places[at] == end:
            end += 1
            at += 1
        parts.append(_join_run(tuple(words[start:end]), start > 0, end < len(words)))
    if end < len(words):
        parts.append(" ".join(words[end:]))
    return "".join(parts)


@lru_cache(maxsize=_SPELLINGS)
def is_inert(word: str) -> bool:
    """Return whether no rule of the detokenizer is about a word, whatever stands beside it."""
    if _INERT.fullmatch(word) is None or word.lower() == _ENDING or not _LIKE_ASCII.isdisjoint(word):
        return False
    return _BOUND.isdisjoint(end.lower() for end in _ENDS.findall(word))


@lru_cache(maxsize=_RUNS)
def _join_run(words: tuple[str, ...], follows: bool, precedes: bool) -> str:
    """Return how nltk joins words, with the spaces beside an inert word that they follow or precede."""
    joined = str(_load_detokenizer().detokenize(["x"] * follows + list(words) + ["x"] * precedes))
    return joined[int(follows) : len(joined) - int(precedes)]


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
