"""Sections of a report that were found after the run: worst pairs, records, leaks; a table with remarks.

Whoever finds something writes it into the run directory once; Markdown and page show it from there.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tedaudit.errors import RunDirectoryError, escape_control
from tedaudit.reports.fitting import fit_columns, set_widths
from tedaudit.reports.markdown import markdown_table, markdown_text
from tedaudit.reports.redaction import redact_label
from tedaudit.reports.utility import PRIVATE, SCORE
from tedaudit.store.checksums import parse_json
from tedaudit.store.directory import RunDirectory

if TYPE_CHECKING:
    from rich.table import Table


_LABELS = ("mechanism", "attack", "attacks", "task", "record")  # columns whose cells somebody may have typed


@dataclass(frozen=True, slots=True)
class Section:
    """A table of text with a title and remarks; `private` names the columns that hold texts of the corpus.

    The first remark says how to read it and quotes nothing.
    """

    title: str
    remarks: tuple[str, ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    private: tuple[str, ...] = ()

    def redact(self) -> "Section":
        """Return the section without texts, and without what else somebody typed."""
        plain = self.leave_texts_out()
        rows = tuple(
            tuple(_redact_cell(heading, cell) for heading, cell in zip(plain.headings, row, strict=True))
            for row in plain.rows
        )
        return replace(plain, rows=rows, remarks=self.remarks[:1])

    def leave_texts_out(self) -> "Section":
        """Return the section without the columns that hold texts."""
        kept = [i for i, heading in enumerate(self.headings) if heading not in self.private]
        return replace(
            self,
            headings=tuple(self.headings[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in self.rows),
            private=(),
        )

    def to_markdown(self) -> str:
        """Return the section as Markdown."""
        remarks = " ".join(self.remarks)
        table = markdown_table(self.headings, self.rows) if self.rows else "Nothing."
        return f"## {markdown_text(self.title)}\n\n{markdown_text(remarks)}\n\n{table}\n\n"

    def to_rich(self, width: int = 200) -> list["Table"]:
        """Return the section as a table for a terminal, or several if one has no room in this width."""
        from rich.table import Table
        from rich.text import Text

        rows = [[escape_control(cell) for cell in row] for row in self.rows]
        tables = []
        for widths in fit_columns(self.headings, rows, width, range(min(2, len(self.headings)))):
            table = Table(title=Text(self.title), title_justify="left", header_style="bold")
            for i in widths:
                table.add_column(self.headings[i], overflow="fold")
            for row in rows:
                table.add_row(*(Text(row[i]) for i in widths))
            set_widths(table, list(widths.values()))
            tables.append(table)
        return tables


def _redact_cell(heading: str, cell: str) -> str:
    """Return a cell without what somebody typed, unless it is one word."""
    if heading not in _LABELS:
        return cell
    end = next((end for end in (PRIVATE, SCORE) if heading == "task" and cell.endswith(end)), "")
    labels = cell.split(", ") if heading == "attacks" else [cell.removesuffix(end)]
    return ", ".join(map(redact_label, labels)) + end


def write_section(run: RunDirectory, name: str, section: Section) -> None:
    """Keep a section in a run directory, without texts if it is redacted; one of that name is replaced."""
    redact = run.files.is_redacted
    stored = section.redact() if redact else section
    content = json.dumps(asdict(stored), ensure_ascii=False).encode()
    run.files.write({run.sections / f"{name}.json": content}, redacted=redact)


def strip_sections(run: RunDirectory) -> None:
    """Take the texts out of the sections of a run that is redacted."""
    for file in run.files.list_full():
        section = _read_section(run, file) if file.parent == run.sections else None
        if section is not None:
            write_section(run, file.stem, section)


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
        return Section(
            str(stored["title"]), _texts(stored["remarks"]), _texts(stored["headings"]),
            tuple(map(_texts, stored["rows"])), _texts(stored["private"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RunDirectoryError(f"'{file}' is damaged ({type(error).__name__}). Delete it.") from error


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
