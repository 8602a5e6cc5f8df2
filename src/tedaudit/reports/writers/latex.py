r"""Sections as tables for a paper: LaTeX with booktabs, marks as signs with their legend below."""

import re
from collections.abc import Iterator, Sequence

from tedaudit.results.section import Cell, Column, Mark, Marked, Section, Table
from tedaudit.text.characters import replace_surrogates

PREAMBLE = "% Made by tedaudit. In the preamble: \\usepackage[T1]{fontenc} \\usepackage{booktabs}\n"
_MARKS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # after a line's end they would be read as its argument
}  # fmt: skip
_LIGATURE = re.compile(r"(?<=-)-|(?<=,),")  # two would become one other mark
_SIGNS: dict[Mark, str] = {"ceiling": r"\textsuperscript{\dag}", "violated": r"\textsuperscript{*}"}
_HEADINGS = {"mechanism": "Mechanism", "epsilon": r"$\varepsilon$", "claim": "Claim"}


def escape_latex(text: str) -> str:
    """Return a text that LaTeX prints as it is, in any cell of a table: no command, no comment, no ligature.

    Control characters become spaces. Letters other than Latin ones need LuaLaTeX or XeLaTeX, and a font that
    has them.
    """
    plain = replace_surrogates(text)
    escaped = "".join(_MARKS.get(c, c if c.isprintable() else " ") for c in plain)
    return _LIGATURE.sub(r"{\g<0>}", escaped)


def write_section(section: Section, names: Sequence[str]) -> str:
    r"""Return a section as a table that \ref{tab:NAMES} finds, with its sentences below."""
    table = section.table
    sides = "".join("r" if column.is_figure else "l" for column in table.columns)
    headings = [_HEADINGS.get(name) or escape_latex(name) for name in table.headings]
    signs = {cell.mark for row in table.rows for cell in row if isinstance(cell, Marked)}
    told = [escape_latex(sentence) for sentence in section.sentences]
    told += [sign + escape_latex(table.legend[mark]) for mark, sign in _SIGNS.items() if mark in signs]
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(section.title)}.}}",
            rf"\label{{tab:{'-'.join(map(_make_key, names))}}}",
            rf"\begin{{tabular}}{{{sides}}}", r"\toprule",
            " & ".join(headings) + r" \\", r"\midrule", *_write_rows(table), r"\bottomrule",
            r"\end{tabular}", "", r"\par\smallskip\footnotesize", " ".join(told), r"\end{table}", "",
        ]
    )  # fmt: skip


def _write_rows(table: Table) -> Iterator[str]:
    """Yield the rows; a name that stands in the first column above is not written again."""
    above: Cell = None
    for row in table.rows:
        cells = [_write_cell(*pair) for pair in zip(table.columns, row, strict=True)]
        cells[0] = "" if row[0] == above else cells[0]
        above = row[0]
        yield " & ".join(cells) + r" \\"


def _write_cell(column: Column, cell: Cell) -> str:
    if cell is None:
        return "-{-}"
    if isinstance(cell, Marked):
        return escape_latex(column.write(cell.cell)) + _SIGNS[cell.mark]
    return escape_latex(column.write(cell))


def _make_key(name: str) -> str:
    """Return a name for cross-references: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "run"
