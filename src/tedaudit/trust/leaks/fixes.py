"""What would stop a leak: the field that is set to leak, if the mechanism's card has it, or advice."""

from collections.abc import Mapping
from typing import Any

from tedaudit.registry import variants
from tedaudit.types import Leak

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "length": ("length", "reversed length", "repeated length"),
    "copied words": (
        "common words", "rare words", "capitalised words", "words with digits", "first word", "middle words",
        "last word", "whole text",
    ),
}  # fmt: skip
"""What a leak may name in place of several tests."""
_EVERYTHING = "everything"  # a cut of what can be drawn shows in everything but failures
_OWN_NOISE = "let every text reach its output through noise of its own alone, over one public set of outputs"
_ADVICE = {
    "case": "take the case of letters from what is drawn, not from the text",
    "length": "draw a public number of words or tokens, whatever the text's length",
    "reversed length": "draw a public number of words or tokens, whatever the text's length",
    "repeated length": "draw a public number of words or tokens, whatever the text's length",
    "failure": "return an ordinary draw for every text: an error that depends on the text is an output",
    "same output": "draw enough noise, new for every text and call: seed it with no constant, clock or text",
    "fresh process": "draw noise from the system's entropy; remove the seed that every process starts from",
    "whole text": "never return a text unchanged, not even one that cannot be handled",
    "trailing space": "build the output from what is drawn; copy no raw characters",
    "zero-width character": "build the output from what is drawn; copy no raw characters",
    "homoglyph": "build the output from what is drawn; copy no raw characters",
    "line break": "build the output from what is drawn; copy no raw characters",
    "punctuation": "draw punctuation like every other token",
    "sentences": "draw sentence ends like every other token",
    "word order": "draw every place of the output with noise of its own",
    "two texts": _OWN_NOISE,
    "equal texts, in the same call": _OWN_NOISE,
}
_SOUND = " (the variant 'sound' sets all)"
_WORDS = "draw these words like all others: no word may pass through without noise"


def find_fix(mechanism: Any, part: str, name: str, *, learnt: bool = False) -> str:
    """Return what to change: fields that leak as they are set, if the card has some, else advice.

    What was learnt says that outputs differ, and not that the thing itself comes back.
    """
    if part == "state":
        return "keep nothing between calls, and let no row of a call see another"
    card = mechanism.card
    leaks = [leak for leak in card.leaks if _explains(leak, name) and leak.is_set(mechanism)]
    if leaks:
        fixes = " and ".join(dict.fromkeys(leak.fix for leak in leaks))
        return f"{card.name}: set {fixes}{_SOUND if 'sound' in variants(type(mechanism)) else ''}"
    return _ADVICE["two texts" if learnt else name] if learnt or name in _ADVICE else _WORDS


def _explains(leak: Leak, test: str) -> bool:
    """Return whether a leak may be behind what a test found; any that shows may tell two texts apart."""
    tests = [name for shown in leak.shows for name in _GROUPS.get(shown, (shown,))]
    if test == "two texts":
        return bool(tests)
    return test in tests or (_EVERYTHING in tests and test != "failure")
