"""The one value that tells a result: what was found in words, a table with typed columns, and how to read it.

Whoever has a result tells it once, in its `telling.py`; writers turn sections into text for a terminal,
Markdown, HTML, LaTeX and PDF, and know no result. What is found after a run is written into the run directory
as a section, once; report and page show it from there.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from tedaudit.errors import RunDirectoryError
from tedaudit.results.redaction import redact_label
from tedaudit.results.utility import PRIVATE, SCORE
from tedaudit.runs.checksums import parse_json
from tedaudit.runs.directory import RunDirectory

Kind = Literal[
    "words", "label", "labels", "task", "text", "number", "figures", "count", "share", "bound", "loss", "p",
]  # fmt: skip
"""What a column holds, which decides how a cell is written, on which side, and what redaction does to it.

`text` is a text of the corpus and leaves with its column. What somebody typed (`label`; `labels`, several of
them; `task`, a column with the ending of its score) stays if it is one word. `words` and `figures`
are ours; `count`, `share`, `bound`, `loss` and `p` are numbers, each with its own digits. `number` is any, in
the digits that it needs, and stands on the left.
"""
Mark = Literal["ceiling", "violated"]
"""What a reader must see beside a cell: no more could be shown, or the run refutes what is claimed."""
_TO_THE_RIGHT = frozenset({"figures", "count", "share", "bound", "loss", "p"})
_MARKS: dict[Mark, str] = {"ceiling": " (ceiling)", "violated": ": violated"}


@dataclass(frozen=True, slots=True)
class Marked:
    """A cell with a mark, which writers show in words or by a sign."""

    cell: str | float
    mark: Mark


Cell = str | int | float | Marked | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; a narrow terminal leaves those of the highest rank out first, and those of rank 0 never."""

    name: str
    kind: Kind = "words"
    rank: int = 1
    meaning: str = ""  # a sentence that follows "Name: "

    @property
    def is_figure(self) -> bool:
        """Whether its cells stand on the right."""
        return self.kind in _TO_THE_RIGHT

    @property
    def is_text(self) -> bool:
        """Whether its cells are texts of the corpus."""
        return self.kind == "text"

    def write(self, cell: Cell) -> str:
        """Return a cell as text; what is text already stays as it is."""
        if cell is None:
            return ""
        if isinstance(cell, str):
            return cell
        if isinstance(cell, tuple):
            return ", ".join(cell)
        if isinstance(cell, Marked):
            return self.write(cell.cell) + _MARKS[cell.mark]
        return _WRITERS.get(self.kind, format_number)(cell)

    def redact(self, cell: Cell) -> Cell:
        """Return a cell without what somebody typed, unless that is one word."""
        if isinstance(cell, tuple):
            return tuple(map(redact_label, cell))
        if isinstance(cell, Marked) and isinstance(cell.cell, str):
            return Marked(cast("str", self.redact(cell.cell)), cell.mark)
        if not isinstance(cell, str):
            return cell
        if self.kind == "task":
            end = next((end for end in (PRIVATE, SCORE) if cell.endswith(end)), "")
            return redact_label(cell.removesuffix(end)) + end
        return redact_label(cell) if self.kind in ("label", "labels") else cell


def _write_count(number: float) -> str:
    return f"{number:,}"


def _write_p(number: float) -> str:
    return f"{number:.2g}"


def _write_number(number: float) -> str:
    if isinstance(number, int):
        return f"{number:,}"
    if not math.isfinite(number) or (number == round(number) and abs(number) < 1e6):
        return f"{number:g}"
    return f"{number:.2f}" if abs(number) >= 0.01 else f"{number:.2g}"


def format_number(value: float) -> str:
    """Return a number as text; it may be infinite."""
    return "inf" if math.isinf(value) else f"{value:.2f}"


def format_interval(point: float, upper: float) -> str:
    """Return a point and the upper end of its interval; both may be infinite."""
    return "inf" if math.isinf(point) else f"{format_number(point)} (to {format_number(upper)})"


def format_loss(value: float) -> str:
    """Return a loss or an epsilon in few digits."""
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return f"{value:,.2f}" if abs(value) < 100 else f"{value:,.0f}"


_WRITERS: Mapping[Kind, Callable[[float], str]] = {
    "count": _write_count, "loss": format_loss, "p": _write_p, "number": _write_number,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Table:
    """Typed columns and rows of cells; `marked` are the rows that a reader must not miss.

    `legend` says what marks of cells mean, for writers that show a sign.
    """

    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    marked: frozenset[int] = frozenset()
    legend: Mapping[Mark, str] = field(default_factory=dict)

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """All cells as text."""
        return tuple(
            tuple(column.write(cell) for column, cell in zip(self.columns, row, strict=True))
            for row in self.rows
        )

    def keep(self, wanted: Sequence[int]) -> "Table":
        """Return the table with some of its columns, by their places."""
        rows = tuple(tuple(row[i] for i in wanted) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in wanted), rows=rows)

    def leave_empty_out(self) -> "Table":
        """Return the table without columns that have no cell; all of them if there is no row."""
        cells = self.cells
        told = [i for i in range(len(self.columns)) if not cells or any(row[i] for row in cells)]
        return self.keep(told)

    def leave_texts_out(self) -> "Table":
        """Return the table without the columns that hold texts."""
        return self.keep([i for i, column in enumerate(self.columns) if not column.is_text])

    def redact(self) -> "Table":
        """Return the table without texts, and without what else somebody typed."""
        plain = self.leave_texts_out()
        rows = tuple(
            tuple(column.redact(cell) for column, cell in zip(plain.columns, row, strict=True))
            for row in plain.rows
        )
        return replace(plain, rows=rows)


@dataclass(frozen=True, slots=True)
class Section:
    """One thing that a result says: `sentences` tell it and may quote, `reading` quotes nothing.

    `figure` draws on the axes that it is given. A report begins with the sections of its run that lead: the
    first sentence of the first one is its headline.
    """

    title: str
    table: Table = field(default_factory=Table)
    reading: str = ""
    sentences: tuple[str, ...] = ()
    figure: Callable[[Any], None] | None = None
    leads: bool = False

    @property
    def headline(self) -> str:
        """What a report begins with: its first sentence, or its title where sentences were left out."""
        return self.sentences[0] if self.sentences else self.title

    @property
    def remarks(self) -> tuple[str, ...]:
        """How to read it, with what its columns mean, and then what it says."""
        meanings = [f"{_begin(one.name)}: {one.meaning}" for one in self.table.columns if one.meaning]
        reading = " ".join([*([self.reading] if self.reading else []), *meanings])
        return (*([reading] if reading else []), *self.sentences)

    def redact(self) -> "Section":
        """Return the section without texts, and without what else somebody typed into cells and sentences.

        Its title, the names of its columns and its reading stay: they are ours, or of a redacted result.
        """
        return replace(self, table=self.table.redact(), sentences=(), figure=None)

    def leave_texts_out(self) -> "Section":
        """Return the section without the columns that hold texts."""
        return replace(self, table=self.table.leave_texts_out())


def _begin(name: str) -> str:
    return name[:1].upper() + name[1:]


# --- Sections that were found after a run, in its directory.


def store_section(run: RunDirectory, name: str, section: Section) -> None:
    """Keep a section in a run directory, without texts if it is redacted; one of that name is replaced."""
    redact = run.files.is_redacted
    stored = section.redact() if redact else section
    content = json.dumps(_to_data(stored), ensure_ascii=False).encode()
    run.files.write({run.sections / f"{name}.json": content}, redacted=redact)


def _to_data(section: Section) -> dict[str, Any]:
    """Return plain data; a number that JSON does not know is written as a reader sees it."""
    columns = section.table.columns
    rows = [
        [cell if _is_plain(cell) else column.write(cell) for column, cell in zip(columns, row, strict=True)]
        for row in section.table.rows
    ]
    return {
        "title": section.title, "reading": section.reading, "sentences": section.sentences,
        "columns": [asdict(column) for column in columns], "rows": rows,
        "marked": sorted(section.table.marked), "leads": section.leads,
    }  # fmt: skip


def _is_plain(cell: Cell) -> bool:
    return not isinstance(cell, Marked) and (not isinstance(cell, float) or math.isfinite(cell))


def strip_sections(run: RunDirectory) -> None:
    """Take the texts out of the sections of a run that is redacted."""
    for file in run.files.list_full():
        section = _read_section(run, file) if file.parent == run.sections else None
        if section is not None:
            store_section(run, file.stem, section)


def read_sections(run: RunDirectory) -> list[Section]:
    """Return the sections of a run, by name."""
    files = sorted(run.sections.glob("*.json")) if run.sections.is_dir() else []
    return [section for file in files if (section := _read_section(run, file)) is not None]


def _read_section(run: RunDirectory, file: Path) -> Section | None:
    raw = run.files.read(file)
    if raw is None:
        return None
    try:
        stored = parse_json(raw.decode("utf-8"))
        return _of_data(stored)
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise RunDirectoryError(f"'{file}' is damaged ({type(error).__name__}). Delete it.") from error


def _of_data(stored: Any) -> Section:
    columns = tuple(
        Column(str(one["name"]), _check_kind(one["kind"]), int(one["rank"]), str(one["meaning"]))
        for one in stored["columns"]
    )
    rows = tuple(tuple(map(_check_cell, row)) for row in stored["rows"])
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("rows of other lengths than the columns")
    marked = frozenset(int(number) for number in stored["marked"])
    table = Table(columns, rows, marked)
    leads = bool(stored["leads"])
    return Section(
        str(stored["title"]), table, str(stored["reading"]), _texts(stored["sentences"]), leads=leads
    )


def _check_kind(kind: Any) -> Kind:
    if kind not in get_args(Kind):
        raise ValueError("a kind of column that is not known")
    return cast("Kind", kind)


def _check_cell(cell: Any) -> Cell:
    if isinstance(cell, list):
        return _texts(cell)
    if isinstance(cell, bool) or not isinstance(cell, str | int | float | None):
        raise TypeError("a cell that is neither text nor number")
    if isinstance(cell, int):
        float(cell)  # refuses one that no writer could show
    return cell


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
