"""Characters as readers and files see them: none cut in two, and no half that cannot be written.

What a reader takes for one character may be several of Unicode's: a letter and its accents, a family of
emoji, a flag. The rules here are those of Unicode for such clusters, as far as the standard library has the
properties of characters; where it has not, a text is cut a little earlier than it could be.
"""

import re
import unicodedata
from itertools import takewhile

_HALF = re.compile("[\ud800-\udfff]")
_JOINER = "\u200d"  # ZERO WIDTH JOINER, within emoji and conjuncts
_VIRAMA = 9  # the combining class of signs that join two consonants
_MOST_TOGETHER = 32  # no cluster of a language is longer; heaps of marks are, and are cut
_CONTINUES = re.compile(  # besides marks: joiners, skin tones, tags of flags, vowels and ends of syllables
    "[\u200c\u200d\uff9e\uff9f\u1160-\u11ff\ud7b0-\ud7fb\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]"
)
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
    if before < "\x80" and after < "\x80":
        return before + after == "\r\n"
    if before == _JOINER or _CONTINUES.match(after) or unicodedata.category(after).startswith("M"):
        return True
    if unicodedata.combining(before) == _VIRAMA:
        return unicodedata.category(after).startswith("L")
    if after not in _REGIONAL:
        return False
    letters = takewhile(_REGIONAL.__contains__, reversed(text[:end]))
    return sum(1 for _ in letters) % 2 == 1
