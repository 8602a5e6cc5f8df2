"""The clearest example of what an attack found: a source, its rewrite, and what it was told from."""

from typing import Any

import numpy as np

from tedaudit.errors import escape_control, shorten
from tedaudit.reports.sample import rank_right
from tedaudit.results.findings import AuditResult, Finding

_LONGEST = 300  # characters of a text that are shown
_CLEAREST = 20  # right guesses with the largest margin, of which the shortest texts are shown


def describe_witness(result: AuditResult, finding: Finding, *, redact: bool) -> str:
    """Return the shortest of the clearest right guesses in words; without texts if redacted."""
    plan = result.run.read_plan(finding.plan)
    columns = result.guesses(finding).read(["choice", "margin"])
    choice = columns["choice"]
    right = np.asarray(choice == plan.secret[: len(choice)], dtype=np.bool_)
    if not right.any():
        return "No guess was right."
    clearest = rank_right(right, columns["margin"], _CLEAREST)
    texts = result.run.corpus().texts
    row = int(min(clearest, key=lambda row: len(texts[plan.source[row]])))
    head = f"For example trial {row}, one of {int(right.sum()):,} right guesses"
    if redact:
        return f"{head} (texts are left out)."
    [(output, error)] = result.rewrites(finding).outputs(plan.source[[row]], plan.replicate[[row]])
    others = _name_others(plan.candidates, row, int(plan.source[row]), len(texts))
    shown = f"failed with the code '{error}'" if error else _quote(output)
    lines = [f"{head}:", f"  source   {_quote(texts[plan.source[row]])}", f"  rewrite  {shown}"]
    return "\n".join([*lines, *(f"  not      {_quote(texts[other])}" for other in others)])


def _name_others(candidates: Any, row: int, source: int, size: int) -> list[int]:
    """Return up to two candidates that were not the source."""
    everyone = range(size) if candidates is None else candidates[row].tolist()
    return [position for position in everyone if position != source][:2]


def _quote(text: str) -> str:
    return repr(escape_control(shorten(text, _LONGEST)))
