"""The bounds of one plan with a row per mechanism and epsilon and a column per attack."""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.estimators import Bound
from tedaudit.nominal import Nominal
from tedaudit.results.findings import AuditResult, Finding

TEDA = "TeDA bound"


@dataclass(frozen=True, slots=True)
class Line:
    """A mechanism at an epsilon: what it claims, whether this run refutes that, and a bound per column."""

    label: str
    epsilon: Nominal
    claim: str
    refuted: bool
    bounds: Sequence[Bound | None]  # None: the attack was not tried, or nothing may be concluded from it


@dataclass(frozen=True, slots=True)
class PlanTable:
    """The table of one plan; a column is an attack, or an attack's TeDA bound."""

    plan: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def make_plan_table(result: AuditResult, plan: str, *, teda: bool = False) -> PlanTable:
    """Return eps_emp of a plan, with TeDA bounds beside it if they are asked for.

    A claim is refuted if anything in the run refutes it.
    """
    findings = [finding for finding in result if finding.plan == plan]
    attacks = tuple(dict.fromkeys(finding.attack for finding in findings))
    cells = {(f.label, f.epsilon, f.attack): f for f in findings}
    refuted = {(c.witness.label, c.witness.epsilon) for c in result.claims if c.verdict.is_violation}
    lines = []
    for output in dict.fromkeys((finding.label, finding.epsilon) for finding in findings):
        found = [cells.get((*output, attack)) for attack in attacks]
        claim = next((str(f.claim) for f in found if f is not None and f.claim is not None), "none")
        bounds = [bound for finding in found for bound in _list_bounds(finding, teda=teda)]
        lines.append(Line(*output, claim, output in refuted, bounds))
    columns = [name for attack in attacks for name in (attack, *([f"{attack}, {TEDA}"] if teda else []))]
    return PlanTable(plan, tuple(columns), tuple(lines))


def _list_bounds(finding: Finding | None, *, teda: bool) -> list[Bound | None]:
    if finding is None or finding.unfit:
        return [None, None] if teda else [None]
    return [finding.bound, finding.teda] if teda else [finding.bound]
