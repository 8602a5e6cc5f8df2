"""Words of any script, cut from a text and sorted into classes."""

import re
import unicodedata
from functools import lru_cache
from importlib.resources import files

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
CLASSES = ("stop words", "punctuation", "names", "numbers", "rare words", "common words")
# One character is a word in scripts that put no space between words: Thai, Lao, kana, Han.
_BLOCKS = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
_TOKEN = re.compile(rf"[{_BLOCKS}]|[^\W{_BLOCKS}]+")
_UNSPACED = re.compile(rf"[{_BLOCKS}]")


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, as they are written."""
    return _TOKEN.findall(text)


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
    """Return the class of a word; a capital letter makes a name of any word but the first."""
    plain = word.casefold()
    if any(character.isdigit() for character in word):
        return "numbers"
    if plain in STOP_WORDS:
        return "stop words"
    if word[:1].isupper() and not is_first:
        return "names"
    return "common words" if plain in common_words() else "rare words"


def classify_piece(piece: str, *, is_first: bool = False) -> str:
    """Return the class of a word or a mark as a mechanism cuts it, such as "n't" or "."."""
    if piece and all(map(is_mark, piece)):
        return "punctuation"
    return classify(piece, is_first=is_first)


def list_content(text: str) -> list[str]:
    """Return the words of a text, lower-cased, that are no stop words."""
    return [plain for word in split_words(text) if (plain := word.casefold()) not in STOP_WORDS]


@lru_cache(maxsize=1)
def common_words() -> frozenset[str]:
    """Return the commonest English words in public-domain books."""
    return frozenset((files("tedaudit.mechanisms") / "public_words.txt").read_text("utf-8").split())
