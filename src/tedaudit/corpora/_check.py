"""What a file of texts would be read as: found by the readers of a run, so that a run cannot say otherwise.

A file is read as a run reads it. What is told beside that (lines that would be refused, an encoding that fits
better, texts that look garbled) is looked for in the same bytes. Nothing here keeps or shows a text.
"""

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tedaudit.corpora.files import Files, assemble, find_distinct, refuse_surrogates
from tedaudit.errors import CorpusError, TedauditError, did_you_mean, escape_control, shorten
from tedaudit.estimators.exposure import GRID
from tedaudit.plugins.values import Corpus, fold_text
from tedaudit.text.characters import (
    ScriptShares,
    count_characters,
    has_surrogate,
    kind_of_hidden,
    sum_scripts,
)
from tedaudit.text.plain_data import PlainData, pick
from tedaudit.text.readers import (
    TEXT_NAMES,
    Table,
    choose_column,
    decode,
    join_columns,
    lines_of,
    parse_object,
    read_bytes,
    read_rows,
    read_table,
    refuse_width,
    show_name,
    table_format,
    take_text,
)
from tedaudit.text.unpacking import COMPRESSIONS
from tedaudit.text.words import count_words
from tedaudit.trials.authors import read_author

# --- What texts are like, counted: lengths, duplicates, scripts, characters that cannot be seen; no text.

MOST_ROWS = 20  # that are named of each kind; all are counted
_GARBLED = re.compile(
    r"[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u2013-\u203a\u0152-\u017e\u0192\u02c6\u02dc\u2122]+"
)
_SHORT, _MEDIAN, _LONG = "shortest", "median", "longest"


@dataclass(frozen=True, slots=True)
class Rows(PlainData):
    """How many rows something holds for, and the first of them; the first row of data is 1."""

    count: int = 0
    first: tuple[int, ...] = ()
    in_json: ClassVar[str] = "count, first as first_rows"

    @classmethod
    def of(cls, positions: Iterable[int]) -> "Rows":
        """Return rows from positions that start at 0."""
        found = [position + 1 for position in positions]
        return cls(len(found), tuple(found[:MOST_ROWS]))


@dataclass(frozen=True, slots=True)
class TextFacts(PlainData):
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
    in_json: ClassVar[str] = (
        "rows, blank, distinct as distinct_texts, duplicates, characters, words, scripts.total as letters, "
        "scripts.marks as combining_marks, scripts.shares as scripts, hidden as hidden_characters, garbled, "
        "replaced as replacement_characters, surrogates as half_surrogates"
    )

    @property
    def distinct(self) -> int:
        """Texts that an audit would use."""
        return self.rows - self.blank - self.folded

    @property
    def duplicates(self) -> dict[str, int]:
        """The three counts of duplicates."""
        return {"exact": self.exact, "nfc_and_space": self.folded, "case_too": self.cased}


def count_texts(texts: Sequence[str]) -> TextFacts:
    """Return what can be counted in texts."""
    keep, blank, folded = find_distinct(texts)
    counts = count_characters(texts)
    kinds = {character: kind for character in counts if (kind := kind_of_hidden(character))}
    lengths = [len(texts[i]) for i in keep]
    words = [count_words(texts[i]) for i in keep]
    return TextFacts(
        rows=len(texts), blank=blank, exact=len(texts) - blank - _count_distinct(texts), folded=len(folded),
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
    return any(_is_misread(match.group()) for match in _GARBLED.finditer(text))


def _is_misread(part: str) -> bool:
    for encoding in _narrow_encodings():
        try:
            part.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
        return True
    return False


def _narrow_encodings() -> Iterator[str]:
    yield from ("cp1252", "latin-1")


# --- Who wrote how many of the texts that a run would use.

AUTHOR = "author"  # the column that is taken if none is named


@dataclass(frozen=True, slots=True)
class AuthorFacts(PlainData):
    """How many texts there are of each author, as a run reads them: an author has equal texts once.

    `at_least` has the authors with that many texts or more, `unnamed` the texts that no row gives to anybody,
    and `shared` the texts of several authors.
    """

    column: str
    authors: int
    texts: Mapping[str, float]
    at_least: Mapping[str, int]
    unnamed: int
    shared: int
    names: frozenset[str] = field(default=frozenset(), repr=False)
    in_json: ClassVar[str] = (
        "column, authors, texts as texts_per_author, at_least as authors_with_at_least, "
        "unnamed as texts_without_author, shared as texts_of_several_authors"
    )


def count_authors(texts: Sequence[str], values: Sequence[Any], column: str = AUTHOR) -> AuthorFacts:
    """Return how many texts there are of each author; nobody is named."""
    writers: dict[str, set[str]] = {}
    for text, value in zip(texts, values, strict=True):
        if form := fold_text(text):
            writers.setdefault(form, set()).update({read_author(value)} - {""})
    counts = Counter(name for names in writers.values() for name in names)
    return AuthorFacts(
        column, len(counts),
        texts=dict(zip(("fewest", "median", "most"), _sum_up(list(counts.values())).values(), strict=True)),
        at_least={str(n): sum(count >= n for count in counts.values()) for n in GRID},
        unnamed=sum(not names for names in writers.values()),
        shared=sum(len(names) > 1 for names in writers.values()),
        names=frozenset(counts),
    )  # fmt: skip


# --- What the bytes of a file of texts are: compression, encoding, and the lines that a run would refuse.

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
class ByteFacts(PlainData):
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
    in_json: ClassVar[str] = "format, compression, size as bytes"

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as plain data."""
        lines = pick(self, "undecodable as count, first_undecodable as first")
        encoding = pick(self, "encoding as read_as, found, suspicion") | {"undecodable_lines": lines}
        return pick(self) | {"encoding": encoding}


def look_at_bytes(file: Path, encoding: str) -> ByteFacts:
    """Return what a file's bytes are; raises as a run does if there are none."""
    raw = read_bytes(file)
    kind = table_format(file)
    ending = file.suffix.lower().lstrip(".")
    packed = ending if ending in COMPRESSIONS else ""
    if kind == "parquet":
        return ByteFacts(
            format=kind,
            compression=packed,
            size=len(raw),
            encoding="",
            found="none needed: a parquet file says itself what is text",
        )
    found, suspicion = _find_encoding(raw, encoding)
    wrong = [] if _decodes(raw, encoding) else _find_undecodable(raw, encoding)
    return ByteFacts(
        format=kind,
        compression=packed,
        size=len(raw),
        encoding=encoding,
        found=found,
        undecodable=len(wrong),
        first_undecodable=tuple(wrong[:MOST_LINES]),
        suspicion=suspicion,
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
            "it is valid UTF-8, which text in another encoding hardly ever is by chance: set the encoding "
            "to utf-8"
        )
        return "utf-8", "" if "utf" in encoding.lower() else misread
    narrow = "cp1252" if _decodes(raw, "cp1252") else "latin-1"
    return f"not utf-8; {narrow} would do", (
        f"it can be read as {narrow}, but so can nearly any bytes. Look at some texts before you believe "
        "it: other encodings (cp1251, shift_jis, gb18030, ...) are just as possible"
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


_ID = "id"  # what `link` takes as the name of a record
_FEW = 50  # values that a label may have
_LONGEST = 4_000  # characters of a message


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column, what it is taken as, and why."""

    name: str
    use: str
    why: str


@dataclass(frozen=True)
class FileCheck(PlainData):
    """One file: its bytes, its columns, and what its texts are like, as far as it could be read."""

    split: str
    path: Path
    bytes: ByteFacts | None = None
    columns: tuple[ColumnUse, ...] = ()
    facts: TextFacts | None = None
    authors: AuthorFacts | None = None
    refused: tuple[Refusal, ...] = ()
    refusals: int = 0
    texts: tuple[str, ...] = field(default=(), repr=False)
    in_json: ClassVar[str] = "split, path as file, *bytes, columns, facts as texts, authors"

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the texts as plain data."""
        return pick(self) | {"refused_lines": pick(self, "refusals as count, refused as first")}


@dataclass(frozen=True)
class CorpusCheck(PlainData):
    """What a run would read; `error` is what it would say instead, if it could not."""

    files: tuple[FileCheck, ...]
    notes: tuple[str, ...] = ()
    error: str = ""
    corpus: Corpus | None = field(default=None, repr=False)
    in_json: ClassVar[str] = (
        "is_readable as readable, error, notes, files, recurring as authors_in_several_splits"
    )

    @property
    def is_readable(self) -> bool:
        """Whether a run could read it."""
        return not self.error

    @property
    def recurring(self) -> int | None:
        """How many authors have texts in more than one split; None unless two splits tell authors."""
        known = [file.authors.names for file in self.files if file.authors is not None]
        counts = Counter(name for names in known for name in names)
        return sum(count > 1 for count in counts.values()) if len(known) > 1 else None


def check_files(corpus: Files, author: str = "") -> CorpusCheck:
    """Return what a run would read of a file, or of a folder with one file per split.

    The authors are those of the column that is named; if none is, of one that is called "author".
    """
    try:
        found, notes = corpus.find_files()
    except TedauditError as error:
        return CorpusCheck((), error=str(error))
    checked, errors, column = [], [], corpus.column
    splits: dict[str, tuple[list[str], Table]] = {}
    for split, file in found.items():
        reading = _Reading(split=split, file=file, corpus=corpus, column=column, author=author)
        one = reading.check()
        checked.append(one)
        if reading.error:
            errors.append(reading.error)
            continue
        splits[split] = list(one.texts), reading.labels
        column = reading.chosen  # as a run has it: the first file's column is looked for in the others
        notes += [reading.note] if reading.note else []
    if errors:
        return CorpusCheck(tuple(checked), tuple(notes), errors[0])
    try:
        whole = assemble(corpus.card.name, splits, notes)
        for part in whole.splits.values():
            refuse_surrogates(whole.name, part)
    except CorpusError as error:
        return CorpusCheck(tuple(checked), tuple(notes), str(error))
    return CorpusCheck(tuple(checked), whole.notes, corpus=whole)


@dataclass
class _Reading:
    """One file being read as a run reads it, as far as that goes."""

    split: str
    file: Path
    corpus: Files
    column: str
    author: str
    chosen: str = ""
    note: str = ""
    error: str = ""
    labels: Table = field(default_factory=dict)
    _table: Table = field(default_factory=dict)

    def check(self) -> FileCheck:
        """Read the file and return what there is to say of it."""
        try:
            texts = self._read()
        except TedauditError as error:
            self.error = self._hide_texts(error)
            return self._check_unread()
        facts = look_at_bytes(self.file, self.corpus.encoding)
        columns = tuple(
            _describe_column(name, place, values, self)
            for place, (name, values) in enumerate(self._table.items(), 1)
        )
        authors = self.author or AUTHOR
        counted = count_authors(texts, self.labels[authors], authors) if authors in self.labels else None
        return FileCheck(
            split=self.split,
            path=self.file,
            bytes=facts,
            columns=columns,
            facts=count_texts(texts),
            authors=counted,
            texts=tuple(texts),
        )

    def _read(self) -> list[str]:
        """Do what `Files.load` does with a file."""
        corpus, source = self.corpus, f"'{self.file}'"
        self._table = read_table(self.file, encoding=corpus.encoding, header=corpus.header)
        self.chosen, note = choose_column(self._table, self.column, source, advice=corpus.advice)
        texts, self.labels = take_text(self._table, self.chosen, source)
        if self.author and self.author not in self.labels and self.split == "train":
            raise CorpusError(
                f"{source} has no column '{self.author}' beside the text. It has: "
                f"{join_columns(self.labels)}.{did_you_mean(self.author, self.labels)} "
                "Name the column of authors with --author."
            )
        self.note = self._hide(note)
        return texts

    def _check_unread(self) -> FileCheck:
        """Return what can be said of a file that a run would refuse."""
        try:
            facts = look_at_bytes(self.file, self.corpus.encoding)
        except TedauditError:
            return FileCheck(self.split, self.file)
        if self.chosen:
            refused, count = find_no_texts(self._table[self.chosen])
        else:
            refused, count = ([], 0) if self._table else find_refused(self.file, self.corpus.encoding)
        return FileCheck(self.split, self.file, facts, refused=tuple(refused), refusals=count)

    def _hide_texts(self, error: TedauditError) -> str:
        return escape_control(shorten(self._hide(str(error.args[0])), _LONGEST))

    def _hide(self, message: str) -> str:
        """Return a message without names of columns that may be texts."""
        names = list(self._table) or list_cells(self.file, self.corpus.encoding)
        named = {name: show_name(name, place) for place, name in enumerate(names, 1)}
        for name in sorted(named, key=len, reverse=True):
            if named[name] != name:
                message = message.replace(name, named[name])
        return message


def _describe_column(name: str, place: int, values: Sequence[Any], reading: _Reading) -> ColumnUse:
    shown = show_name(name, place)
    if name == reading.chosen:
        if reading.column:
            why = "it was named, or is the text of the first file"
        elif name.strip().lower() in TEXT_NAMES:
            why = "its name is a usual one for texts"
        else:
            why = "no other column holds strings alone"
        return ColumnUse(shown, "text", why)
    distinct = len({str(value) for value in values})
    told = f"{distinct:,} values in {len(values):,} rows"
    if name == _ID:
        unique = "each once" if distinct == len(values) else "not each once, which `link` refuses"
        return ColumnUse(shown, "id", f"`link` names records by it; {told}, {unique}")
    if 2 <= distinct <= _FEW:
        return ColumnUse(shown, "label", f"{told}: can be a --task or a --private column")
    return ColumnUse(
        shown,
        "label",
        f"{told}: kept, but nothing to learn" if distinct < 2 else f"{told}: kept, too many to learn",
    )
