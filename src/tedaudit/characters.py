"""What a text of Python may hold and a file may not: half of a character that is written with two.

JSON and filenames can bring half a surrogate pair into a text. No file, table or model takes it as UTF-8.
"""

import re

_HALF = re.compile("[\ud800-\udfff]")


def has_surrogate(text: str) -> bool:
    """Return whether a text holds half a surrogate pair, as JSON can."""
    return not text.isascii() and _HALF.search(text) is not None


def replace_surrogates(text: str) -> str:
    """Return a text that can be written as UTF-8: a question mark for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
