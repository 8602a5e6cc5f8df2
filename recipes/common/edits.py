"""Small changes to sentences: words spaced out, said in other words, or left out."""

import random
import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from common.text import Pair

# Ways of saying the same, of one or two words; each may stand for the other.
_ALIKE = [
    ("I am", "I'm"), ("you are", "you're"), ("we are", "we're"), ("they are", "they're"),
    ("it is", "it's"), ("he is", "he's"), ("she is", "she's"), ("that is", "that's"),
    ("there is", "there's"), ("what is", "what's"), ("I have", "I've"), ("you have", "you've"),
    ("I will", "I'll"), ("you will", "you'll"), ("he will", "he'll"), ("we will", "we'll"),
    ("do not", "don't"), ("does not", "doesn't"), ("did not", "didn't"), ("is not", "isn't"),
    ("are not", "aren't"), ("was not", "wasn't"), ("were not", "weren't"), ("cannot", "can't"),
    ("will not", "won't"), ("could not", "couldn't"), ("would not", "wouldn't"),
    ("should not", "shouldn't"), ("have not", "haven't"), ("has not", "hasn't"), ("had not", "hadn't"),
    ("perhaps", "maybe"), ("big", "large"), ("nearly", "almost"), ("film", "movie"), ("until", "till"),
    ("need to", "have to"), ("children", "kids"), ("nobody", "no one"), ("everybody", "everyone"),
    ("somebody", "someone"), ("anybody", "anyone"), ("often", "frequently"), ("song", "tune"),
]  # fmt: skip
_OTHER = {a.lower(): b for a, b in _ALIKE} | {b.lower(): a for a, b in _ALIKE}
_SPARE = frozenset(
    ["very", "really", "just", "also", "still", "quite", "so", "too", "only", "even", "always"]
)
_LINKS = frozenset(
    ["in", "on", "at", "for", "with", "from", "by", "near", "during", "because", "when", "while", "after"]
)
_LOOSE = frozenset(["and", "or", "but", "the", "a", "an", "of", "to"])  # no sentence ends with them
_MARKS = ".?!;,"

_OPENING = re.compile(r'(^|(?<=[ (\[{<]))"')
_APART = re.compile(r"(\.\.\.|--|[;@#$%&?!()\[\]{}<>]|''|[:,](?!\d))")
_STOP = re.compile(r"(?<=[^.])\.(?=(?:[)\]}>'\s]|'')*$)")
_CLITIC = re.compile(r"(?<=[^' ])(n't|'(?:s|m|d|ll|re|ve)|'(?=\s|$))(?!\w)", re.IGNORECASE)
_CANNOT = re.compile(r"\b(can)(not)\b", re.IGNORECASE)


def spaced(text: str) -> str:
    """Return a text with spaces around words and marks, nearly as a Treebank tokenizer cuts it."""
    if '"' in text:
        text = _OPENING.sub(" `` ", text).replace('"', " '' ")
    text = _APART.sub(r" \1 ", text)
    if "'" in text:
        text = _CLITIC.sub(r" \1", text)
    return " ".join(_CANNOT.sub(r"\1 \2", _STOP.sub(" . ", text)).split())


def reworded(text: str, rng: random.Random) -> str:
    """Return a sentence with one expression in other words, or as it is where none is known."""
    words = text.split()
    lower = [word.lower().rstrip(_MARKS) for word in words]
    found = [(i, 1) for i, word in enumerate(lower) if word in _OTHER]
    found += [(i, 2) for i, pair in enumerate(pairwise(lower)) if " ".join(pair) in _OTHER]
    if not found:
        return text
    start, count = rng.choice(found)
    other = _OTHER[" ".join(lower[start : start + count])]
    if text == text.lower():
        other = other.lower()
    elif words[start][0].isupper():
        other = other[0].upper() + other[1:]
    last = words[start + count - 1]
    other += last[len(last.rstrip(_MARKS)) :]
    return " ".join([*words[:start], other, *words[start + count :]])


def shortened(text: str, rng: random.Random) -> str:
    """Return a sentence without its end or a word that it can spare, or as it is where it has none."""
    mark = text[-1] if text and text[-1] in ".?!" else ""
    words = text.removesuffix(mark).split()
    breaks = [i for i in range(3, len(words)) if words[i] in _LINKS or words[i - 1][-1] in ",;"]
    spare = [i for i in range(1, len(words)) if words[i].lower() in _SPARE]
    if breaks and (not spare or rng.random() < 0.7):
        words = words[: rng.choice(breaks)]
        while words[-1] in _LOOSE:
            words.pop()
    elif spare:
        del words[rng.choice(spare)]
    return " ".join(words).rstrip(",;:-") + mark


def changed(texts: Sequence[str], change: Callable[[str, random.Random], str], seed: int) -> list[Pair]:
    """Return the texts that a change makes another, with the result."""
    rng = random.Random(seed)
    found = [(text, change(text, rng)) for text in texts]
    return [pair for pair in found if pair[0] != pair[1]]


def partly_plain(found: Sequence[Pair], share: float, seed: int) -> list[Pair]:
    """Return pairs, a share of them in lower case and without their last marks."""
    rng = random.Random(seed)
    return [(plain(a), plain(b)) if rng.random() < share else (a, b) for a, b in found]


def plain(text: str) -> str:
    """Return a text in lower case without its last marks."""
    return text.lower().rstrip(f"{_MARKS} ")
