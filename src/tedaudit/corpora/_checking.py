"""What a file of texts would be read as: found by the readers of a run, so that a run cannot say otherwise.

A file is read as a run reads it. What is told beside that (lines that would be refused, an encoding that fits
better, texts that look garbled) is looked for in the same bytes. Nothing here keeps or shows a text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tedaudit.column_names import show_name
from tedaudit.corpora._assemble import assemble, refuse_surrogates
from tedaudit.corpora._file_facts import (
    ByteFacts,
    Refusal,
    find_no_texts,
    find_refused,
    list_cells,
    look_at_bytes,
)
from tedaudit.corpora._text_facts import TextFacts, count_texts
from tedaudit.corpora.files import Files
from tedaudit.errors import CorpusError, TedauditError, escape_control, shorten
from tedaudit.readers import TEXT_NAMES, Table, choose_column, read_table, take_text
from tedaudit.types import Corpus

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
class FileCheck:
    """One file: its bytes, its columns, and what its texts are like, as far as it could be read."""

    split: str
    path: Path
    bytes: ByteFacts | None = None
    columns: tuple[ColumnUse, ...] = ()
    facts: TextFacts | None = None
    refused: tuple[Refusal, ...] = ()
    refusals: int = 0
    texts: tuple[str, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the texts as plain data."""
        return {
            "split": self.split, "file": str(self.path),
            **({} if self.bytes is None else self.bytes.to_dict()),
            "columns": [{"name": one.name, "use": one.use, "why": one.why} for one in self.columns],
            "texts": None if self.facts is None else self.facts.to_dict(),
            "refused_lines": {"count": self.refusals,
                              "first": [{"where": one.where, "reason": one.reason} for one in self.refused]},
        }  # fmt: skip


@dataclass(frozen=True)
class CorpusCheck:
    """What a run would read; `error` is what it would say instead, if it could not."""

    files: tuple[FileCheck, ...]
    notes: tuple[str, ...] = ()
    error: str = ""
    corpus: Corpus | None = field(default=None, repr=False)

    @property
    def is_readable(self) -> bool:
        """Whether a run could read it."""
        return not self.error

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the texts as plain data."""
        return {
            "readable": self.is_readable, "error": self.error, "notes": list(self.notes),
            "files": [file.to_dict() for file in self.files],
        }  # fmt: skip


def check_files(corpus: Files) -> CorpusCheck:
    """Return what a run would read of a file, or of a folder with one file per split."""
    try:
        found, notes = corpus.find_files()
    except TedauditError as error:
        return CorpusCheck((), error=str(error))
    checked, errors, column = [], [], corpus.column
    splits: dict[str, tuple[list[str], Table]] = {}
    for split, file in found.items():
        reading = _Reading(split, file, corpus, column)
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
        return FileCheck(self.split, self.file, facts, columns, count_texts(texts), texts=tuple(texts))

    def _read(self) -> list[str]:
        """Do what `Files.load` does with a file."""
        corpus, source = self.corpus, f"'{self.file}'"
        self._table = read_table(self.file, encoding=corpus.encoding, header=corpus.header)
        self.chosen, note = choose_column(self._table, self.column, source, advice=corpus.advice)
        texts, self.labels = take_text(self._table, self.chosen, source)
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
        f"{told}: kept, but nothing to learn" if distinct < 2 else f"{told}: kept, too many to be learnt",
    )
