"""Sections as Markdown, which shows names and texts literally."""

from collections.abc import Iterable

from tedaudit.results.section import Section, Table

_MARKS = frozenset("&<>|`*[]\\")


def markdown_text(text: str) -> str:
    """Return a text escaped for Markdown, so that it cannot start a table, tag, link or line."""
    return "".join(f"&#{ord(c)};" if c in _MARKS or not c.isprintable() else c for c in text)


def markdown_list(lines: Iterable[str]) -> str:
    """Return a list with one entry per line."""
    return "\n".join(f"- {markdown_text(line)}" for line in lines)


def write_table(table: Table) -> str:
    """Return a table as Markdown, figures on the right."""
    marks = ["---:" if column.is_figure else "---" for column in table.columns]
    heading, *rows = ([markdown_text(cell) for cell in row] for row in (table.headings, *table.cells))
    return "\n".join(f"| {' | '.join(line)} |" for line in (heading, marks, *rows))


def write_section(section: Section, level: int = 2) -> str:
    """Return a section as Markdown, with a title of this level."""
    title, remarks = f"{'#' * level} {markdown_text(section.title)}", markdown_text(" ".join(section.remarks))
    nothing = "Nothing." if section.table.columns else ""
    table = write_table(section.table) if section.table.rows else nothing
    return "".join(f"{part}\n\n" for part in (title, remarks, table) if part)
