"""Characters as readers and files see them: none cut in two, and no half that cannot be written.

What a reader takes for one character may be several of Unicode's: a letter and its accents, a family of
emoji, a flag. The rules here are those of Unicode for such clusters, as far as the standard library has the
properties of characters; where it has not, a text is cut a little earlier than it could be.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

import numpy as np

_HALF = re.compile("[\ud800-\udfff]")
_JOINER = "\u200d"  # ZERO WIDTH JOINER, within emoji and conjuncts
_VIRAMA = 9  # the combining class of signs that join two consonants
_MOST_TOGETHER = 32  # no cluster of a language is longer; heaps of marks are, and are cut
_CONTINUES = re.compile(  # besides marks: joiners, skin tones, tags of flags, vowels and ends of syllables
    "[\u200c\u200d\uff9e\uff9f\u1160-\u11ff\ud7b0-\ud7fb\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
_DRESSED = re.compile(
    "[\u0300-\u036f\ufe0f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]+$"
)  # what changes how a picture looks
_REGIONAL = frozenset(map(chr, range(0x1F1E6, 0x1F200)))  # letters of which two are a flag


def has_surrogate(text: str) -> bool:
    """Return whether a text holds half a surrogate pair, as JSON can."""
    return not text.isascii() and _HALF.search(text) is not None


def replace_surrogates(text: str) -> str:
    """Return a text that can be written as UTF-8: a question mark for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def cut_text(text: str, longest: int) -> str:
    """Return the beginning of a text, so many characters or a few less: what belongs together is not cut."""
    if len(text) <= longest:
        return text
    ends = range(longest, max(0, longest - _MOST_TOGETHER), -1)
    return text[: next((end for end in ends if not _is_within(text, end)), longest)]


def _is_within(text: str, end: int) -> bool:
    """Return whether a reader would take the characters before and after a place for one."""
    before, after = text[end - 1], text[end]
    if (before < "\x80" and after < "\x80") or unicodedata.category(before) == "Cc":
        return before + after == "\r\n"
    kind = unicodedata.category(after)
    if _CONTINUES.match(after) or kind.startswith("M"):
        return True
    near = text[max(0, end - _MOST_TOGETHER) : end]
    joined = near[:-1] if before == _JOINER else near
    if before == _JOINER and _is_picture(after):  # as between the persons of a family
        return _is_picture(_DRESSED.sub("", joined)[-1:])
    if joined and unicodedata.combining(joined[-1]) == _VIRAMA:
        return kind.startswith("L")
    if after not in _REGIONAL:
        return False
    letters = takewhile(_REGIONAL.__contains__, reversed(text[:end]))
    return sum(1 for _ in letters) % 2 == 1


def _is_picture(character: str) -> bool:
    return bool(character) and character not in _REGIONAL and unicodedata.category(character) == "So"


# --- Which scripts texts are written in, and which of their characters cannot be seen.
#
# Nothing here guesses a language: a script is the first word of a letter's name in the Unicode database,
# and shares are counted. Combining marks belong to the letter before them and to no script.

LATIN = "Latin"
UNSPACED_BLOCKS = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\ua980-\ua9ff\uaa60-\uaa7f\u3005-\u3007\u3040-\u30ff\u3100-\u312f"
    r"\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    r"\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""For a regular expression: Thai, Lao, Myanmar, Khmer, Javanese, kana, Bopomofo, Han: no spaces."""
RIGHT_TO_LEFT = r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
"""For a regular expression: a character of a script that is written from right to left."""
_UNSPACED = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Javanese")
_TOGETHER = 1 << 22  # characters counted at a time
_RENAMED = {
    "CJK": "Han", "IDEOGRAPHIC": "Han", "KATAKANA-HIRAGANA": "Katakana", "FEMININE": LATIN,
    "MASCULINE": LATIN, "MICRO": "Greek", "KELVIN": LATIN, "ANGSTROM": LATIN, "SUPERSCRIPT": LATIN,
}  # fmt: skip
_WIDTHS = ("FULLWIDTH", "HALFWIDTH")
_IN_FRONT = ("OLD", "NEW", "TAI", "CANADIAN")  # no names alone
_BIDI = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_JOINERS = frozenset("\u200c\u200d")  # in many scripts and emoji part of the spelling
_LINES = frozenset("\n\r\v\f\x85\u2028\u2029")
_OF_EMOJI = frozenset(map(chr, (*range(0xFE00, 0xFE10), 0x20E3)))  # marks that belong to no letter
_RIGHT_TO_LEFT = frozenset(("R", "AL", "AN"))


@lru_cache(maxsize=1 << 16)
def script_of(character: str) -> str:
    """Return the script of a letter, such as Latin, Han or Arabic; "" if it is no letter."""
    if not unicodedata.category(character).startswith("L"):
        return ""
    words = unicodedata.name(character, "OTHER").split()
    if words[0] in _WIDTHS and len(words) > 1:
        words = words[1:]
    if words[0] in _IN_FRONT and len(words) > 1:
        return f"{words[0]} {words[1]}".title()
    return _RENAMED.get(words[0], words[0].title())


def is_right_to_left(text: str) -> bool:
    """Return whether any character of a text is written from right to left."""
    return not text.isascii() and any(unicodedata.bidirectional(c) in _RIGHT_TO_LEFT for c in text)


def kind_of_hidden(character: str) -> str:
    """Return what a character that cannot be seen is: "bidi", "joiner", "line", "control"; "" for others."""
    if character in _BIDI:
        return "bidi"
    if character in _JOINERS:
        return "joiner"
    if character in _LINES:
        return "line"
    category = unicodedata.category(character)
    return "control" if category in ("Cc", "Cf") and character != "\t" else ""


@dataclass(frozen=True, slots=True)
class ScriptShares:
    """Letters of texts by script, the most frequent script first, and how many combining marks there are."""

    letters: Mapping[str, int]
    marks: int = 0

    @property
    def total(self) -> int:
        """Letters of any script."""
        return sum(self.letters.values())

    @property
    def shares(self) -> dict[str, float]:
        """The share of each script."""
        return {script: count / self.total for script, count in self.letters.items()}

    @property
    def other(self) -> float:
        """The share of letters that are not Latin; 0 if there are none at all."""
        return 1 - self.letters.get(LATIN, 0) / self.total if self.total else 0.0

    @property
    def unspaced(self) -> float:
        """The share of letters of scripts that put no space between words."""
        return sum(self.letters.get(script, 0) for script in _UNSPACED) / self.total if self.total else 0.0

    @property
    def beyond_words(self) -> float:
        """The share, among letters and marks, of those that are not Latin letters."""
        whole = self.total + self.marks
        return 1 - self.letters.get(LATIN, 0) / whole if whole else 0.0

    def describe(self, most: int = 3) -> str:
        """Return the scripts with their shares, as in "Han 80%, Latin 20%"."""
        return ", ".join(
            f"{script} {format_share(count / self.total)}"
            for script, count in list(self.letters.items())[:most]
        )


def format_share(share: float) -> str:
    """Return a share as a percentage that is neither 0 nor 100 unless it is exactly that."""
    if share in (0.0, 1.0):
        return f"{share:.0%}"
    percent = 100 * share
    return "below 1%" if percent < 1 else "above 99%" if percent > 99 else f"{percent:.0f}%"


def count_characters(texts: Iterable[str]) -> Counter[str]:
    """Return how often every character occurs, in memory that does not grow with the texts."""
    counts: Counter[str] = Counter()
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= _TOGETHER:
            counts.update(_count_joined(waiting))
            waiting, size = [], 0
    counts.update(_count_joined(waiting))
    return counts


def _count_joined(texts: Sequence[str]) -> dict[str, int]:
    joined = "".join(texts)
    if joined.isascii():
        codes = np.frombuffer(joined.encode(), dtype=np.uint8)
    else:
        codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    counted = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    return {chr(code): int(counted[code]) for code in np.flatnonzero(counted).tolist()}


def measure_scripts(texts: Iterable[str]) -> ScriptShares:
    """Return the letters of texts by script."""
    return sum_scripts(count_characters(texts))


def sum_scripts(counts: Mapping[str, int]) -> ScriptShares:
    """Return characters that were counted by script."""
    letters: Counter[str] = Counter()
    marks = 0
    for character, count in counts.items():
        if script := script_of(character):
            letters[script] += count
        elif unicodedata.category(character).startswith("M") and character not in _OF_EMOJI:
            marks += count
    return ScriptShares(dict(letters.most_common()), marks)
