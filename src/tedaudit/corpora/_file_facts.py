"""What the bytes of a file of texts are: compression, encoding, and the lines that a run would refuse."""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tedaudit.errors import CorpusError
from tedaudit.readers import (
    decode,
    lines_of,
    parse_object,
    read_bytes,
    read_rows,
    refuse_width,
    table_format,
)
from tedaudit.unpacking import COMPRESSIONS

MOST_LINES = 20  # that are named; all are counted
_MARKS = (
    (codecs.BOM_UTF8, "utf-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_LINE = re.compile(r"line [\d,]+")
_MANY_ZEROS = 0.1  # of the bytes: no text has so many, other than one in UTF-16 without a mark


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line or a row that a run would refuse, and what it would say of it."""

    where: str
    reason: str

    @classmethod
    def of(cls, error: CorpusError, file: Path) -> "Refusal":
        """Return what an error says of a file, without the file's name."""
        reason = str(error).removeprefix(f"'{file}', ")
        line = _LINE.search(reason)
        return cls(line.group() if line else "", reason)


@dataclass(frozen=True, slots=True)
class ByteFacts:
    """The format of a file, and how its bytes can be read as text.

    `undecodable` counts lines that are not in the encoding that a run is told to use.
    """

    format: str
    compression: str
    size: int
    encoding: str  # that a run is told to use
    found: str
    undecodable: int = 0
    first_undecodable: tuple[int, ...] = ()
    suspicion: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        return {
            "format": self.format, "compression": self.compression, "bytes": self.size,
            "encoding": {
                "read_as": self.encoding, "found": self.found, "suspicion": self.suspicion,
                "undecodable_lines": {"count": self.undecodable, "first": list(self.first_undecodable)},
            },
        }  # fmt: skip


def look_at_bytes(file: Path, encoding: str) -> ByteFacts:
    """Return what a file's bytes are; raises as a run does if there are none."""
    raw = read_bytes(file)
    kind = table_format(file)
    ending = file.suffix.lower().lstrip(".")
    packed = ending if ending in COMPRESSIONS else ""
    if kind == "parquet":
        return ByteFacts(kind, packed, len(raw), "", "none: parquet says itself what is text")
    found, suspicion = _find_encoding(raw, encoding)
    wrong = [] if _decodes(raw, encoding) else _find_undecodable(raw, encoding)
    return ByteFacts(
        kind, packed, len(raw), encoding, found, len(wrong), tuple(wrong[:MOST_LINES]), suspicion
    )


def _find_encoding(raw: bytes, encoding: str) -> tuple[str, str]:
    """Return which encoding the bytes are in, as far as can be told, and a remark on it."""
    marked = next((name for mark, name in _MARKS if raw.startswith(mark)), "")
    if marked.startswith("utf-8"):
        return marked, ""
    if marked:
        return marked, "" if encoding.lower().startswith(marked) else f"set the encoding to {marked}"
    zeros = raw.count(b"\0") / len(raw)
    if zeros >= _MANY_ZEROS:
        order = "utf-16-le" if raw[1::2].count(b"\0") > raw[::2].count(b"\0") else "utf-16-be"
        return (
            "utf-16 without a mark, or no text",
            f"{zeros:.0%} of the bytes are 0: set the encoding to {order}",
        )
    if raw.isascii():
        return "ascii", ""
    if _decodes(raw, "utf-8"):
        misread = (
            "it is valid UTF-8, which other encodings hardly ever are by chance: set the encoding to utf-8"
        )
        return "utf-8", "" if "utf" in encoding.lower() else misread
    narrow = "cp1252" if _decodes(raw, "cp1252") else "latin-1"
    return f"not utf-8; {narrow} would do", (
        f"it can be read as {narrow}, as nearly any bytes can: look at some texts before you believe it: "
        "other encodings (cp1251, shift_jis, gb18030, ...) are no less possible"
    )


def _decodes(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except (ValueError, LookupError):
        return False
    return True


def _find_undecodable(raw: bytes, encoding: str) -> list[int]:
    """Return the lines that cannot be decoded; none if the encoding has no lines of its own bytes."""
    if not _decodes(b"a\n", encoding) or "16" in encoding or "32" in encoding:
        return []
    return [number for number, line in enumerate(raw.split(b"\n"), 1) if not _decodes(line, encoding)]


def find_refused(file: Path, encoding: str) -> tuple[list[Refusal], int]:
    """Return the first lines of a file that a run would refuse, and how many there are in all."""
    kind = table_format(file)
    if kind in ("parquet", "txt", ""):
        return [], 0
    try:
        text = decode(read_bytes(file), file, encoding)
    except CorpusError:
        return [], 0
    return _take_first(
        _try_objects(text, file) if kind in ("jsonl", "ndjson") else _try_rows(text, file, kind)
    )


def find_no_texts(values: Sequence[Any]) -> tuple[list[Refusal], int]:
    """Return the first values of a text column that are no text, and how many there are in all."""
    return _take_first(
        Refusal(f"row {row:,}", f"a value of type {type(value).__name__}, not a text")
        for row, value in enumerate(values, 1)
        if value is not None and not isinstance(value, str)
    )


def list_cells(file: Path, encoding: str) -> list[str]:
    """Return the cells of the first row of a csv or tsv: a message may quote them as names of columns."""
    kind = table_format(file)
    if kind not in ("csv", "tsv"):
        return []
    try:
        rows = read_rows(decode(read_bytes(file), file, encoding), file, kind)
        return next((row for _, row in rows if row), [])
    except CorpusError:
        return []


def _take_first(refusals: Iterable[Refusal]) -> tuple[list[Refusal], int]:
    named: list[Refusal] = []
    count = 0
    for refusal in refusals:
        count += 1
        if len(named) < MOST_LINES:
            named.append(refusal)
    return named, count


def _try_objects(text: str, file: Path) -> Iterator[Refusal]:
    """Yield the lines of a jsonl that are no object."""
    for number, line in enumerate(lines_of(text), 1):
        try:
            if line.strip():
                parse_object(line, number, file)
        except CorpusError as error:
            yield Refusal.of(error, file)


def _try_rows(text: str, file: Path, kind: str) -> Iterator[Refusal]:
    """Yield the lines of a csv or tsv that have another number of fields; a wrong quote ends the search."""
    width = 0
    rows = read_rows(text, file, kind)
    while True:
        try:
            line, row = next(rows)
            width = width or len(row)
            refuse_width(row, width, line, file)
        except StopIteration:
            return
        except CorpusError as error:
            yield Refusal.of(error, file)
