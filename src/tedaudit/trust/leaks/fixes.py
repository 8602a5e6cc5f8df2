"""What would stop a leak: the field of a built-in mechanism that is set to leak, or advice for other code."""

from collections.abc import Mapping
from typing import Any

_ANY = object()  # any value but none
_LENGTHS = ("length", "reversed length", "repeated length")
_COPIES = (
    "common words", "rare words", "capitalised words", "words with digits", "first word", "middle words",
    "last word", "whole text",
)  # fmt: skip
_WHATEVER = ("*",)  # a cut of what can be drawn shows in everything but failures
_FIELDS: Mapping[str, tuple[tuple[tuple[str, ...], str, Any, Any], ...]] = {
    "dp-mlm": (
        (("stop word", "stop words", *_COPIES), "keep_stop_words", True, False),
        (("punctuation", "sentences"), "keep_punctuation", True, False),
        (("case",), "copy_case", True, False),
        (_LENGTHS, "length", "input", "fixed"),
        ((*_LENGTHS, *_COPIES, "rare word", "name", "number", "word order", "zero-width character",
          "homoglyph"), "pairs", "released", "plain"),
    ),
    "dp-prompt": ((_LENGTHS, "length", "input", "fixed"), (("failure",), "overlong", "error", "cut")),
    "dp-paraphrase": (
        (("failure",), "overlong", "error", "cut"),
        (_WHATEVER, "top_k", _ANY, 0),
        (_LENGTHS, "length", "input", "fixed"),
    ),
    "dp-bart": (
        (_LENGTHS, "positions", "text", "window"),
        (_LENGTHS, "mask", "text", "full"),
    ),
    "dp-st": (
        (("failure",), "overflow", "error", "stable"),
        ((*_COPIES, "same output", "stop words", "punctuation", "case", "stop word", "name", "number",
          "rare word", "word order", "homoglyph", "zero-width character", "trailing space", "line break",
          "sentences"), "no_triples", "copy", "null"),
        (_LENGTHS, "triple_count", "input", "fixed"),
        ((), "cluster_choice", "nearest", "private"),
        (_LENGTHS, "length", "input", "fixed"),
    ),
}  # fmt: skip
"""By card: which tests a field explains, the field, the value that leaks and the one that does not.

That two texts are told apart may come from any of them."""

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
_WORDS = "draw these words like all others: no word may pass through without noise"


def find_fix(mechanism: Any, part: str, name: str, *, learnt: bool = False) -> str:
    """Return what to change: fields of a built-in mechanism that leak as they are set, else advice.

    What was learnt says that outputs differ, and not that the thing itself comes back.
    """
    if part == "state":
        return "keep nothing between calls, and let no row of a call see another"
    card = mechanism.card.name
    fields = [
        f"{field}={_write(good)}"
        for names, field, bad, good in _FIELDS.get(card, ())
        if _explains(names, name) and _is_set(getattr(mechanism, field, None), bad)
    ]
    if fields:
        return f"{card}: set {' and '.join(fields)} (the variant 'sound' sets all)"
    return _ADVICE["two texts" if learnt else name] if learnt or name in _ADVICE else _WORDS


def _explains(names: tuple[str, ...], test: str) -> bool:
    """Return whether a field that these tests speak of may be behind what a test found."""
    return test in names or test == "two texts" or (names is _WHATEVER and test != "failure")


def _is_set(value: Any, bad: Any) -> bool:
    return bool(value) if bad is _ANY else bool(value == bad)


def _write(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
