"""Words of any script, cut from a text and sorted into classes."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

from tedaudit.text.characters import UNSPACED_BLOCKS as _BLOCKS

STOP_WORDS = frozenset(
    """
    a about above after again against all almost already also although always am an and any are as
    at be because been before being below between both but by can could did do does doing down
    during each else ever every few for from further had has have having he her here hers herself
    him himself his how however i if in into is it its itself just many may me might more most much
    must my myself never no nor not now of off often on once one only or other our ours ourselves
    out over own per same shall she should so some still such than that the their them themselves
    then there these they this those though through to too under until up upon us very via was we
    were what when where which while who whom why will with would yet you your yours yourself
    """.split()  # noqa: SIM905 - a list of words reads best as one
)
CLASSES = (
    "stop words",
    "punctuation",
    "capitalised words",
    "words with digits",
    "rare words",
    "common words",
)
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
_ANY_WORD = re.compile(r"\w")
_UNSPACED = re.compile(rf"[{_BLOCKS}]")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, as they are written.

    A combining mark belongs to the letter before it, and a joiner to the letters around it. In scripts that
    put no space between words, one character with its marks is a word.
    """
    return (_ASCII_WORD if text.isascii() else _compile_word()).findall(text)


def count_words(text: str) -> int:
    """Return how many words `split_words` finds; many times faster for texts that are not ASCII."""
    if text.isascii():
        return len(_ASCII_WORD.findall(text))
    kinds = text.translate(_KINDS)
    return kinds.count("u") + len(kinds.replace("u", " ").split())


class _Kinds(dict[int, str | None]):
    """Letters that are words as "u", other word characters as "l", all else blank; marks are left out."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        if unicodedata.category(character).startswith("M") or character in "\u200c\u200d":
            kind = None
        elif _ANY_WORD.match(character):
            kind = "u" if _UNSPACED.match(character) else "l"
        else:
            kind = " "
        self[code] = kind
        return kind


_KINDS = _Kinds()


@lru_cache(maxsize=1)
def _compile_word() -> re.Pattern[str]:
    return re.compile(word_pattern())


@lru_cache(maxsize=1)
def word_pattern() -> str:
    """Return a regular expression for one word of any script."""
    letters, marks = rf"[^\W{_BLOCKS}]", _list_marks()
    return rf"{letters}+(?:(?:{marks}+|[\u200c\u200d]+(?=\w|{marks})){letters}*)*|{unspaced_pattern()}"


@lru_cache(maxsize=1)
def unspaced_pattern() -> str:
    """Return a regular expression for a letter of a script without spaces, and the marks on it."""
    return rf"(?=\w)[{_BLOCKS}]{_list_marks()}*"


@lru_cache(maxsize=1)
def _list_marks() -> str:
    """Return a regular expression for a combining mark, since word characters have none.

    Those of most scripts are a set of their own: one that reaches beyond 16 bits is searched range by range.
    """
    rest = (*range(0x10000, 0x20000), *range(0xE0100, 0xE01F0))  # beyond, only ideographs and tags
    return f"(?:{_find_marks(range(0x300, 0x10000))}|{_find_marks(rest)})"


def _find_marks(points: Iterable[int]) -> str:
    """Return a set of the combining marks among some code points."""
    codes = [code for code in points if unicodedata.category(chr(code)).startswith("M")]
    firsts = [code for before, code in pairwise([-1, *codes]) if code != before + 1]
    lasts = [code for code, after in pairwise([*codes, -1]) if after != code + 1]
    ranges = (f"\\U{first:08x}-\\U{last:08x}" for first, last in zip(firsts, lasts, strict=True))
    return f"[{''.join(ranges)}]"


def find_marks(text: str) -> frozenset[str]:
    """Return the punctuation marks that occur in a text."""
    return frozenset(character for character in set(text) if is_mark(character))


@lru_cache(maxsize=1 << 13)
def is_mark(character: str) -> bool:
    """Return whether a character is punctuation, in any script."""
    return unicodedata.category(character).startswith("P")


def cut_marks(text: str) -> str:
    """Return a text without the punctuation and white space at its end."""
    end = len(text)
    while end and (is_mark(text[end - 1]) or text[end - 1].isspace()):
        end -= 1
    return text[:end]


def is_unspaced(word: str) -> bool:
    """Return whether a word is of a script that puts no space between words."""
    return _UNSPACED.match(word) is not None


def joint_of(text: str) -> str:
    """Return what separates the words of a text: nothing in scripts without spaces."""
    return "" if " " not in text and _UNSPACED.search(text) else " "


@lru_cache(maxsize=1 << 13)
def sort_words(text: str) -> dict[str, frozenset[str]]:
    """Return the distinct words of a text, lower-cased, by class; each word in one class."""
    found: dict[str, set[str]] = {name: set() for name in CLASSES}
    found["punctuation"] = set(find_marks(text))
    for place, word in enumerate(split_words(text)):
        found[classify(word, is_first=place == 0)].add(word.casefold())
    return {name: frozenset(words) for name, words in found.items()}


def classify(word: str, *, is_first: bool = False) -> str:
    """Return the class of a word, by how it is written and by lists of English words.

    The first word of a text has a capital letter anyway, so it is sorted by the lists.
    """
    plain = word.casefold()
    if any(character.isdigit() for character in word):
        return "words with digits"
    if plain in STOP_WORDS:
        return "stop words"
    if word[:1].isupper() and not is_first:
        return "capitalised words"
    return "common words" if plain in common_words() else "rare words"


def classify_piece(piece: str, *, is_first: bool = False) -> str:
    """Return the class of a word or a mark as a mechanism cuts it, such as "n't" or "."."""
    if piece and all(map(is_mark, piece)):
        return "punctuation"
    return classify(piece, is_first=is_first)


def classify_pieces(pieces: Iterable[str]) -> tuple[str, ...]:
    """Return the classes of the words and marks of a text, in order."""
    return tuple(classify_piece(piece, is_first=place == 0) for place, piece in enumerate(pieces))


def list_content(text: str) -> list[str]:
    """Return the words of a text, lower-cased, that are no stop words."""
    return [plain for word in split_words(text) if (plain := word.casefold()) not in STOP_WORDS]


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Return the commonest English words in public-domain books."""
    return frozenset((files("tedaudit.mechanisms") / "public_words.txt").read_text("utf-8").split())
