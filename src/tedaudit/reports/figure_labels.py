"""Labels of figures in any script: matplotlib's own font has letters of few, and a box helps nobody.

What that font lacks is drawn with an installed font that has it. If there is none, it is spelled: letters by
the last word of their names in Unicode, ideographs by their numbers. What runs from right to left stands
between two marks, so that it cannot move the numbers beside it; versions that cannot draw it have it spelled.
"""

import re
import unicodedata
from functools import lru_cache
from itertools import groupby
from typing import Any

from tedaudit.text.characters import RIGHT_TO_LEFT, is_right_to_left

_LAYS_OUT = (3, 11)  # the first version of matplotlib that lays out complex scripts in both directions
_OWN = "DejaVu Sans"
_BOXES = "Last Resort"  # a font that has a box for every character
_LEFT_TO_RIGHT = "\u200e"
_RUN = re.compile(rf"{RIGHT_TO_LEFT}(?:[^\w]*{RIGHT_TO_LEFT})*")


def fit_labels(drawn: Any) -> None:
    """Change every text of a figure that its font could not show, so that a reader sees what it says."""
    from matplotlib.text import Text

    for artist in drawn.findobj(Text):
        text = artist.get_text()
        if text.isascii():
            continue
        if is_right_to_left(text) and not _lays_out():
            text = spell(text, frozenset(filter(is_right_to_left, text)))
        missing = frozenset(text) - _read_letters(_find_own())
        family = find_family(missing) if missing else ""
        if family:
            artist.set_fontfamily([_OWN, family])
        else:
            text = spell(text, missing)
        text = _RUN.sub(rf"{_LEFT_TO_RIGHT}\g<0>{_LEFT_TO_RIGHT}", text.replace(_LEFT_TO_RIGHT, ""))
        if text != artist.get_text():
            artist.set_text(text)


def spell(text: str, letters: frozenset[str]) -> str:
    """Return a text in which runs of some letters are spelled, in brackets."""
    parts = []
    for is_spelled, run in groupby(text, letters.__contains__):
        characters = list(run)
        parts.append(f"[{'-'.join(map(_name, characters))}]" if is_spelled else "".join(characters))
    return "".join(parts)


def _name(character: str) -> str:
    """Return what a letter is called, in one word, or its number."""
    name = unicodedata.name(character, "")
    if not name or name.startswith("CJK"):
        return f"{ord(character):04X}"
    return name.split()[-1].lower()


@lru_cache(maxsize=64)
def find_family(letters: frozenset[str]) -> str:
    """Return the first installed font, by name, that has all of some letters; "" if none has."""
    from matplotlib.font_manager import fontManager

    for name, path in sorted({(entry.name, entry.fname) for entry in fontManager.ttflist}):
        if not name.startswith(_BOXES) and letters <= _read_letters(path):
            return str(name)
    return ""


@lru_cache(maxsize=512)
def _read_letters(path: str) -> frozenset[str]:
    """Return the characters that a font file can draw; none if it cannot be read."""
    from matplotlib.ft2font import FT2Font

    try:
        return frozenset(map(chr, FT2Font(path).get_charmap()))
    except (RuntimeError, OSError, ValueError):
        return frozenset()


def _find_own() -> str:
    from matplotlib.font_manager import findfont

    return str(findfont(_OWN))


def _lays_out() -> bool:
    import matplotlib

    return tuple(matplotlib.__version_info__[:2]) >= _LAYS_OUT
