"""The bounds of one plan with a row per mechanism and epsilon and a column per attack."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.estimators import Bound
from tedaudit.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding

_NEAR = 5e-7


@dataclass(frozen=True, slots=True)
class Line:
    """A mechanism at an epsilon: what it claims, whether this run refutes that, and a bound per attack."""

    label: str
    epsilon: Nominal
    claim: str
    refuted: bool
    bounds: Sequence[Bound | None]  # None: the attack was not tried, or nothing may be concluded from it


@dataclass(frozen=True, slots=True)
class Pivot:
    """The table of one plan."""

    plan: str
    attacks: tuple[str, ...]
    lines: tuple[Line, ...]


def is_at_ceiling(bound: Bound) -> bool:
    """Return whether a bound is as large as these trials could show."""
    return math.isclose(bound.lower, bound.ceiling, rel_tol=0, abs_tol=_NEAR)


def make_pivot(result: AuditResult, plan: str) -> Pivot:
    """Return the bounds of a plan; a claim is refuted if anything in the run refutes it."""
    findings = [finding for finding in result if finding.plan == plan]
    attacks = tuple(dict.fromkeys(finding.attack for finding in findings))
    cells = {(f.label, f.epsilon, f.attack): f for f in findings}
    refuted = {(c.witness.label, c.witness.epsilon) for c in result.claims if c.verdict.is_violation}
    lines = []
    for output in dict.fromkeys((finding.label, finding.epsilon) for finding in findings):
        found = [cells.get((*output, attack)) for attack in attacks]
        claim = next((str(f.claim) for f in found if f is not None and f.claim is not None), "none")
        lines.append(Line(*output, claim, output in refuted, [_find_bound(finding) for finding in found]))
    return Pivot(plan, attacks, tuple(lines))


def _find_bound(finding: Finding | None) -> Bound | None:
    return None if finding is None or finding.unfit else finding.bound
