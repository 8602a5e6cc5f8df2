"""The table of findings: one row per plan, mechanism, epsilon and attack, as cells of text."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tedaudit.results import AuditResult, Finding

if TYPE_CHECKING:
    from rich.table import Table

HEADINGS = (
    "mechanism", "epsilon", "claim", "attack", "right / trials", "attainable", "eps_emp", "interval",
    "ceiling", "unusable", "failed", "verdict",
)  # fmt: skip
RIGHT = {"epsilon", "right / trials", "attainable", "eps_emp", "ceiling", "unusable", "failed"}
_MARKS = frozenset("&<>|`*[]\\")


def cells(finding: Finding) -> tuple[str, ...]:
    """Return one finding as text, in the order of the headings."""
    bound = finding.bound
    return (
        finding.label,
        "any" if math.isinf(finding.epsilon) else f"{finding.epsilon:g}",
        "none" if finding.claim is None else str(finding.claim),
        finding.attack,
        f"{bound.correct:,} / {bound.guesses:,}",
        "" if finding.attainable is None else f"{finding.attainable:.4f}",
        f"{bound.lower:.2f}",
        f"{number(bound.point)} (to {number(bound.upper)})",
        f"{bound.ceiling:.2f}",
        f"{finding.tally.unusable:,}",
        f"{finding.tally.failed:,}",
        finding.verdict,
    )


def number(value: float) -> str:
    """Return a number that may be infinite."""
    return "inf" if math.isinf(value) else f"{value:.2f}"


def plans(result: AuditResult) -> list[str]:
    """Return the names of the plans, in order."""
    return list(dict.fromkeys(finding.plan for finding in result))


def reading(findings: Sequence[Finding]) -> str:
    """Return how to read the numbers, with the error that the bounds really have."""
    errors = sorted({finding.bound.error for finding in findings})
    told = " or ".join(f"{error:g}" for error in errors)
    return (
        "eps_emp is a lower bound on the true epsilon between two texts, wrong with probability at most "
        f"{told} per row. The interval (point, upper end) is of this attack's success: no attack proves "
        "privacy. The ceiling is what eps_emp would be had every guess been right. A verdict shares that "
        "error among all claims tested."
    )


def markdown_text(text: str) -> str:
    """Return a name as Markdown that shows it: no table, tag, link or line can begin in it."""
    return "".join(f"&#{ord(c)};" if c in _MARKS or not c.isprintable() else c for c in text)


def rich_tables(result: AuditResult) -> list["Table"]:
    """Return one rich table per plan."""
    from rich.table import Table
    from rich.text import Text

    made = []
    for plan in plans(result):
        table = Table(title=Text(f"{result.name}: {plan}"), title_justify="left", header_style="bold")
        for heading in HEADINGS:
            table.add_column(heading, justify="right" if heading in RIGHT else "left", overflow="fold")
        for finding in (finding for finding in result if finding.plan == plan):
            style = "red" if finding.verdict == "violated" else ""
            table.add_row(*map(Text, cells(finding)), style=style)  # Text: a label is no markup
        made.append(table)
    return made


def markdown_tables(result: AuditResult) -> str:
    """Return one Markdown table per plan."""
    parts = []
    for plan in plans(result):
        rows = [
            [markdown_text(cell) for cell in cells(finding)] for finding in result if finding.plan == plan
        ]
        lines = ["| " + " | ".join(row) + " |" for row in (HEADINGS, ["---"] * len(HEADINGS), *rows)]
        parts.append(f"### Plan {markdown_text(plan)}\n\n" + "\n".join(lines))
    return "\n\n".join(parts)
