"""What texts are like, counted: lengths, duplicates, scripts, characters that cannot be seen; no text."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.characters import has_surrogate
from tedaudit.corpora._assemble import find_distinct
from tedaudit.scripts import ScriptShares, count_characters, kind_of_hidden, sum_scripts
from tedaudit.types import fold_text
from tedaudit.words import count_words

MOST_ROWS = 20  # that are named of each kind; all are counted
_GARBLED = re.compile(
    r"[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u2013-\u203a\u0152-\u017e\u0192\u02c6\u02dc\u2122]+"
)
_SHORT, _MEDIAN, _LONG = "shortest", "median", "longest"


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows something holds for, and the first of them; the first row of data is 1."""

    count: int = 0
    first: tuple[int, ...] = ()

    @classmethod
    def of(cls, positions: Iterable[int]) -> "Rows":
        """Return rows from positions that start at 0."""
        found = [position + 1 for position in positions]
        return cls(len(found), tuple(found[:MOST_ROWS]))

    def to_dict(self) -> dict[str, Any]:
        """Return the rows as plain data."""
        return {"count": self.count, "first_rows": list(self.first)}


@dataclass(frozen=True, slots=True)
class TextFacts:
    """What was counted in the texts of one file.

    Duplicates are counted three ways: rows that repeat an earlier text exactly; those that do up to Unicode
    NFC and white space, which are left out of an audit; and texts that would, were case folded too.
    """

    rows: int
    blank: int
    exact: int
    folded: int
    cased: int
    characters: Mapping[str, float]
    words: Mapping[str, float]
    scripts: ScriptShares
    hidden: Mapping[str, Rows]  # rows with characters that cannot be seen, by kind
    garbled: Rows  # UTF-8 that was read as Latin-1 before
    replaced: Rows  # with the mark for what could not be decoded
    surrogates: Rows

    @property
    def distinct(self) -> int:
        """Texts that an audit would use."""
        return self.rows - self.blank - self.folded

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        total = self.scripts.total
        return {
            "rows": self.rows, "blank": self.blank, "distinct_texts": self.distinct,
            "duplicates": {"exact": self.exact, "nfc_and_space": self.folded, "case_too": self.cased},
            "characters": dict(self.characters), "words": dict(self.words),
            "letters": total, "combining_marks": self.scripts.marks,
            "scripts": {script: count / total for script, count in self.scripts.letters.items()},
            "hidden_characters": {kind: rows.to_dict() for kind, rows in self.hidden.items()},
            "garbled": self.garbled.to_dict(), "replacement_characters": self.replaced.to_dict(),
            "half_surrogates": self.surrogates.to_dict(),
        }  # fmt: skip


def count_texts(texts: Sequence[str]) -> TextFacts:
    """Return what can be counted in texts."""
    keep, blank, folded = find_distinct(texts)
    counts = count_characters(texts)
    kinds = {character: kind for character in counts if (kind := kind_of_hidden(character))}
    lengths = [len(texts[i]) for i in keep]
    words = [count_words(texts[i]) for i in keep]
    return TextFacts(
        rows=len(texts), blank=blank, exact=len(texts) - blank - _count_distinct(texts), folded=folded,
        cased=len(keep) - len({hash(fold_text(texts[i]).casefold()) for i in keep}),
        characters=_sum_up(lengths), words=_sum_up(words), scripts=sum_scripts(counts),
        hidden=_find_hidden(texts, kinds), garbled=_find_garbled(texts, counts),
        replaced=_find_with(texts, ["\ufffd"] if "\ufffd" in counts else []),
        surrogates=Rows.of(i for i, text in enumerate(texts) if has_surrogate(text))
        if any("\ud800" <= character <= "\udfff" for character in counts) else Rows(),
    )  # fmt: skip


def _count_distinct(texts: Sequence[str]) -> int:
    return len({text for text in texts if text and not text.isspace()})


def _sum_up(numbers: Sequence[int]) -> dict[str, float]:
    """Return the smallest, the median and the largest of some numbers."""
    if not numbers:
        return {_SHORT: 0, _MEDIAN: 0, _LONG: 0}
    return {_SHORT: min(numbers), _MEDIAN: float(np.median(numbers)), _LONG: max(numbers)}


def _find_hidden(texts: Sequence[str], kinds: Mapping[str, str]) -> dict[str, Rows]:
    by_kind: dict[str, list[str]] = {}
    for character, kind in kinds.items():
        by_kind.setdefault(kind, []).append(character)
    return {kind: _find_with(texts, characters) for kind, characters in sorted(by_kind.items())}


def _find_with(texts: Sequence[str], characters: Sequence[str]) -> Rows:
    """Return the rows whose texts have one of some characters."""
    if not characters:
        return Rows()
    pattern = re.compile(f"[{''.join(map(re.escape, characters))}]")
    return Rows.of(i for i, text in enumerate(texts) if pattern.search(text))


def _find_garbled(texts: Sequence[str], counts: Counter[str]) -> Rows:
    if not any("\u00c2" <= character <= "\u00f4" for character in counts):
        return Rows()
    return Rows.of(i for i, text in enumerate(texts) if not text.isascii() and is_garbled(text))


def is_garbled(text: str) -> bool:
    """Return whether a part of a text is UTF-8 that was read as Latin-1 or Windows-1252: "Ã©" for "é"."""
    return any(_decodes(match.group()) for match in _GARBLED.finditer(text))


def _decodes(part: str) -> bool:
    for encoding in _narrow_encodings():
        try:
            part.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False


def _narrow_encodings() -> Iterator[str]:
    yield from ("cp1252", "latin-1")
