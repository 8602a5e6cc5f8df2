"""The bounds of one plan with a row per mechanism and epsilon and a column per attack."""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.estimators import Bound
from tedaudit.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding


@dataclass(frozen=True, slots=True)
class Line:
    """A mechanism at an epsilon: what it claims, whether this run refutes that, and a bound per attack."""

    label: str
    epsilon: Nominal
    claim: str
    refuted: bool
    bounds: Sequence[Bound | None]  # None: the attack was not tried, or nothing may be concluded from it


@dataclass(frozen=True, slots=True)
class PlanTable:
    """The table of one plan."""

    plan: str
    attacks: tuple[str, ...]
    lines: tuple[Line, ...]


def make_plan_table(result: AuditResult, plan: str) -> PlanTable:
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
    return PlanTable(plan, attacks, tuple(lines))


def _find_bound(finding: Finding | None) -> Bound | None:
    return None if finding is None or finding.unfit else finding.bound
