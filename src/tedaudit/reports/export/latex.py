r"""The bounds of a run as tables for a paper: LaTeX with booktabs, one table per plan.

A row is a mechanism at an epsilon, with what it claims; a column is an attack. A bound at the ceiling is
marked, because more trials could show a larger one; a claim that the run refutes is marked too. The notes
below a table say what the numbers are, so that it does not lie when it is copied without its text.
"""

import re
from collections.abc import Iterable

from tedaudit.estimators import Bound
from tedaudit.reports.export.plan_table import TEDA, Line, PlanTable, make_plan_table
from tedaudit.reports.summary import explain_error
from tedaudit.reports.table import plans
from tedaudit.results.findings import AuditResult
from tedaudit.text.characters import replace_surrogates

_MARKS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "[": "{[}", "]": "{]}", "*": "{*}",  # after a line's end they would be read as its argument
}  # fmt: skip
_LIGATURE = re.compile(r"(?<=-)-|(?<=,),")  # two would become one other mark
_CEILING, _REFUTED = r"\textsuperscript{\dag}", r"\textsuperscript{*}"
_NONE = "-{-}"


def escape_latex(text: str) -> str:
    """Return a text that LaTeX prints as it is, in any cell of a table: no command, no comment, no ligature.

    Control characters become spaces. Letters other than Latin ones need LuaLaTeX or XeLaTeX, and a font that
    has them.
    """
    plain = replace_surrogates(text)
    escaped = "".join(_MARKS.get(c, c if c.isprintable() else " ") for c in plain)
    return _LIGATURE.sub(r"{\g<0>}", escaped)


def make_latex(result: AuditResult, *, teda: bool = False) -> str:
    r"""Return one table per plan, with TeDA bounds if asked for; the document needs \usepackage{booktabs}."""
    tables = [_make_table(result, make_plan_table(result, plan, teda=teda)) for plan in plans(result)]
    head = "% Made by tedaudit. In the preamble: \\usepackage[T1]{fontenc} \\usepackage{booktabs}\n"
    return head + "\n".join(tables or ["% No attack has finished a block yet: there is no bound.\n"])


def _make_table(result: AuditResult, table: PlanTable) -> str:
    names = ["" if i and table.lines[i - 1].label == line.label else line.label
             for i, line in enumerate(table.lines)]  # fmt: skip
    lines = [_format_line(name, line) for name, line in zip(names, table.lines, strict=True)]
    headings = ["Mechanism", r"$\varepsilon$", "Claim", *map(escape_latex, table.columns)]
    caption = f"Lower bounds on epsilon by attack (eps_emp), {result.name}, plan {table.plan}."
    return "\n".join(
        [
            r"\begin{table}", r"\centering", rf"\caption{{{escape_latex(caption)}}}",
            rf"\label{{tab:{_make_key(result.name)}-{_make_key(table.plan)}}}",
            rf"\begin{{tabular}}{{lrl{'r' * len(table.columns)}}}", r"\toprule",
            " & ".join(headings) + r" \\", r"\midrule", *lines, r"\bottomrule", r"\end{tabular}", "",
            r"\par\smallskip\footnotesize", " ".join(_explain(result, table)), r"\end{table}", "",
        ]
    )  # fmt: skip


def _format_line(name: str, line: Line) -> str:
    epsilon = escape_latex(line.epsilon.label) if line.epsilon.is_given else _NONE
    claim = escape_latex(line.claim) + (_REFUTED if line.refuted else "")
    return " & ".join([escape_latex(name), epsilon, claim, *map(_format_bound, line.bounds)]) + r" \\"


def _format_bound(bound: Bound | None) -> str:
    if bound is None:
        return _NONE
    return f"{bound.lower:.2f}{_CEILING if bound.is_at_ceiling else ''}"


def _explain(result: AuditResult, table: PlanTable) -> list[str]:
    """Return what has to be known to read the numbers, in sentences of LaTeX."""
    cells = [(name, b) for line in table.lines for name, b in zip(table.columns, line.bounds, strict=True)]
    bounds = [bound for _, bound in cells if bound is not None]
    teda = [bound.error for name, bound in cells if bound is not None and name.endswith(TEDA)]
    told = []
    if bounds:
        trials = _join((b.trials for b in bounds), ",")
        told.append(f"{explain_error(result)} A low one does not prove privacy.")
        if teda:
            told.append(
                f"{TEDA}: of all guesses, as in the TeDA paper, wrong with probability at most {_join(teda)} "
                "for each row, and not for the largest of several."
            )
        told.append(f"{trials} trials with {_join((b.candidates for b in bounds), ',')} candidates.")
        own = [bound for name, bound in cells if bound is not None and not name.endswith(TEDA)]
        told.append(f"Ceiling of eps_emp: {_join((b.ceiling for b in own), '.2f')}.")
    if any(bound.delta for bound in bounds):
        told.append(f"Delta: {_join(bound.delta for bound in bounds)}.")
    looked = [bound.any_time for bound in bounds]
    if any(looked):
        told.append(
            f"{'All' if all(looked) else 'Some'} bounds are of the kind that holds at every look: the run is "
            "not finished, or was extended after its results had been seen."
        )
    notes = [escape_latex(sentence) for sentence in told]
    if any(bound.is_at_ceiling for bound in bounds):
        notes.append(_CEILING + escape_latex("At the ceiling: the most that so many trials can show."))
    if any(line.refuted for line in table.lines):
        error = f"Refuted by this run, with an error of {result.alpha / 2:g} for all rows and looks together."
        notes.append(_REFUTED + escape_latex(error))
    return notes


def _join(numbers: Iterable[float], mark: str = "g") -> str:
    """Return the distinct numbers in order: all of a few, otherwise the range."""
    shown = list(dict.fromkeys(f"{number:{mark}}" for number in sorted(set(numbers))))
    return " or ".join(shown) if len(shown) <= 3 else f"{shown[0]} to {shown[-1]}"


def _make_key(name: str) -> str:
    """Return a name for cross-references: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "run"
