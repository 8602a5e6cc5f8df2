"""Sections of a report that were found after the run: worst pairs, records, leaks; a table with remarks.

Whoever finds something writes it into the run directory once; Markdown and page show it from there.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from tedaudit.errors import RunDirectoryError, escape_control
from tedaudit.reports.fitting import fit_columns, set_widths
from tedaudit.reports.markdown import markdown_table, markdown_text
from tedaudit.reports.redaction import LEFT_OUT, PLAIN_LABEL
from tedaudit.store.directory import RunDirectory
from tedaudit.store.files import make_folders, write_atomically

if TYPE_CHECKING:
    from rich.table import Table


_LABELS = ("mechanism", "attack")  # columns whose cells somebody may have typed


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
            tuple(
                cell if heading not in _LABELS or PLAIN_LABEL.fullmatch(cell) else LEFT_OUT
                for heading, cell in zip(plain.headings, row, strict=True)
            )
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


def write_section(run: RunDirectory, name: str, section: Section) -> None:
    """Keep a section in a run directory; one of the same name is replaced."""
    make_folders(run.sections, run.root)
    write_atomically(run.sections / f"{name}.json", json.dumps(asdict(section), ensure_ascii=False).encode())


def read_sections(run: RunDirectory, *, redact: bool = False) -> list[Section]:
    """Return the sections of a run, by name."""
    files = sorted(run.sections.glob("*.json")) if run.sections.is_dir() else []
    sections = []
    for file in files:
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            section = Section(
                str(stored["title"]), _texts(stored["remarks"]), _texts(stored["headings"]),
                tuple(map(_texts, stored["rows"])), _texts(stored["private"]),
            )  # fmt: skip
        except (ValueError, KeyError, TypeError) as error:
            raise RunDirectoryError(f"'{file}' is damaged ({type(error).__name__}). Delete it.") from error
        sections.append(section.redact() if redact else section)
    return sections


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(str(value) for value in values)
