"""Sections as Markdown, which shows names and texts literally."""

from collections.abc import Collection, Iterable, Sequence

from tedaudit.reports.section import Section, Table

_MARKS = frozenset("&<>|`*[]\\")


def markdown_text(text: str) -> str:
    """Return a text escaped for Markdown, so that it cannot start a table, tag, link or line."""
    return "".join(f"&#{ord(c)};" if c in _MARKS or not c.isprintable() else c for c in text)


def markdown_list(lines: Iterable[str]) -> str:
    """Return a list with one entry per line."""
    return "\n".join(f"- {markdown_text(line)}" for line in lines)


def markdown_table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()
) -> str:
    """Return a table; columns under the headings in `right` are aligned to the right."""
    marks = ["---:" if heading in right else "---" for heading in headings]
    lines = [marks, *([markdown_text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in ([markdown_text(h) for h in headings], *lines))


def write_table(table: Table) -> str:
    """Return a table as Markdown, figures on the right."""
    right = [column.name for column in table.columns if column.is_figure]
    return markdown_table(table.headings, table.cells, right)


def write_section(section: Section, level: int = 2) -> str:
    """Return a section as Markdown, with a title of this level."""
    title, remarks = f"{'#' * level} {markdown_text(section.title)}", markdown_text(" ".join(section.remarks))
    nothing = "Nothing." if section.table.columns else ""
    table = write_table(section.table) if section.table.rows else nothing
    return "".join(f"{part}\n\n" for part in (title, remarks, table) if part)
