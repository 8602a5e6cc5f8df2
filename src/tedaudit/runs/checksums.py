"""Checksums that files of a run carry within themselves: whoever reads one knows that nothing changed.

A Parquet file has its data first and then a footer, whose length stands before the last four bytes. One note
in the footer holds two digests: of the data, and of the footer itself with zeros in the place of its own
digest. So the notes of a file can be trusted without reading its data, the file stays what every reader of
Parquet expects, and it is complete or absent like any other. A JSON file has a field for the same purpose.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

FIELD = "checksum"  # the note of a Parquet file, and the field of a JSON file
_NAME = "sha256:"
_DIGITS = 32  # of each digest
_BLANK = b"0" * _DIGITS
BLANK_NOTE = _NAME + 2 * _BLANK.decode()
"""What the note holds before the file is sealed."""
_MARK = bytes([0x18, len(BLANK_NOTE)]) + _NAME.encode()
"""How the note begins in a footer: a string, its length, its content. No other has a control character."""
_TAIL = 8  # the length of the footer, and four letters


class ChecksumError(Exception):
    """Bytes that are not those that were written."""


def seal_parquet(raw: bytes) -> bytes:
    """Return a Parquet file whose blank note has become the digests of what is in it."""
    data, footer = _split(raw)
    at = footer.rindex(_MARK + 2 * _BLANK) + len(_MARK)
    footer = _put(footer, at + _DIGITS, _digest(data))
    return data + _put(footer, at, _digest(footer))


def check_parquet(raw: bytes) -> bool:
    """Return whether a Parquet file carries a checksum; raise if it does not fit."""
    data, footer = _split(raw)
    wanted = check_footer(footer)
    if wanted is not None and wanted != _digest(data):
        raise ChecksumError("its data changed after it was written")
    return wanted is not None


def check_footer(footer: bytes) -> bytes | None:
    """Return the digest of the data that a footer names, or None if it names none; raise if it changed."""
    found = footer.rfind(_MARK)
    if found < 0:
        return None
    at = found + len(_MARK)
    if footer[at : at + _DIGITS] != _digest(_put(footer, at, _BLANK)):
        raise ChecksumError("its footer changed after it was written")
    return footer[at + _DIGITS : at + 2 * _DIGITS]


def footer_length(tail: bytes) -> int:
    """Return how many bytes at the end of a Parquet file are its footer, by the last eight of them."""
    return int.from_bytes(tail[-_TAIL:-4], "little") + _TAIL


def parse_json(text: str) -> Any:
    """Return what some JSON holds; a `ValueError` if it is none, or could not be written as UTF-8 again."""
    content = json.loads(text)
    if "\\u" in text:
        json.dumps(content, ensure_ascii=False).encode("utf-8")
    return content


def seal_json(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain content with the checksum of all its other fields."""
    plain = {key: value for key, value in content.items() if key != FIELD}
    return {**plain, FIELD: _digest_json(plain)}


def check_json(content: Mapping[str, Any]) -> bool:
    """Return whether content carries a checksum; raise if it does not fit."""
    if FIELD not in content:
        return False
    if content[FIELD] != seal_json(content)[FIELD]:
        raise ChecksumError("it changed after it was written")
    return True


def _split(raw: bytes) -> tuple[bytes, bytes]:
    """Return data and footer of a Parquet file."""
    length = footer_length(raw)
    if not _TAIL <= length <= len(raw):
        raise ChecksumError("it has no footer")
    return raw[:-length], raw[-length:]


def _put(footer: bytes, at: int, digits: bytes) -> bytes:
    return footer[:at] + digits + footer[at + len(digits) :]


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest()[:_DIGITS].encode()


def _digest_json(plain: Mapping[str, Any]) -> str:
    return _NAME + _digest(json.dumps(plain, sort_keys=True).encode()).decode()
