"""The battery on every mechanism of a finished run, on its texts and epsilons, as a section of its report.

All batteries together have the error that one alone would have, apart from that of the run's verdicts: what
leaks is no test of a claim, and takes nothing from those that are.
"""

from dataclasses import dataclass, replace
from typing import Any

from tedaudit.errors import SpecError
from tedaudit.leaks.battery import ERROR, Progress
from tedaudit.leaks.finder import find_leaks
from tedaudit.leaks.lint.linter import lint
from tedaudit.leaks.lint.notes import LintReport
from tedaudit.leaks.outcomes import LeakReport
from tedaudit.results.findings import AuditResult
from tedaudit.runs.preparation import restore_audit
from tedaudit.runs.spec.model import AuditSpec, MechanismSpec

NAME = "leaks"  # of the section's file


@dataclass(frozen=True, slots=True)
class RunLeaks:
    """One report for each mechanism of a run; `error` is that of all their findings together."""

    reports: tuple[LeakReport, ...]
    error: float

    @property
    def has_findings(self) -> bool:
        """Whether anything leaks."""
        return any(report.findings for report in self.reports)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return it as JSON holds it; `redact` leaves out texts and pieces of them."""
        return {"error": self.error, "mechanisms": [report.to_dict(redact=redact) for report in self.reports]}


def find_run_leaks(
    result: AuditResult, *, error: float = ERROR, progress: Progress | None = None, **settings: Any
) -> RunLeaks:
    """Run the battery on each mechanism of a run, at zero budget and at each epsilon of the run.

    Rounds in which the claim would explain whatever came out are left out. `trials` and `seed` are those of
    `find_leaks`.
    """
    spec, texts = restore_audit(result.run), result.run.corpus().texts
    chosen = _list_mechanisms(result, spec)
    reports = []
    for mechanism in chosen:
        label = mechanism.title
        report = find_leaks(
            _describe(mechanism), texts, epsilon=_list_epsilons(result, label),
            progress=_name_steps(label, progress), error=error / len(chosen),
            **{"seed": spec.seed, "reachable_only": True, **settings},
        )  # fmt: skip
        reports.append(replace(report, mechanism=label))
    return RunLeaks(tuple(reports), error)


def lint_run(result: AuditResult) -> list[LintReport]:
    """Return what lint says of each mechanism of a run, at its epsilons."""
    chosen = _list_mechanisms(result, restore_audit(result.run))
    return [lint(_describe(one), epsilons=_list_epsilons(result, one.title)) for one in chosen]


def _list_mechanisms(result: AuditResult, spec: AuditSpec) -> list[MechanismSpec]:
    """Return the mechanisms of which a run has findings."""
    known = {finding.label for finding in result}
    chosen = [mechanism for mechanism in spec.mechanisms if mechanism.title in known]
    if not chosen:
        raise SpecError(f"'{result.folder}' has no findings yet: run the same command again to continue it.")
    return chosen


def _name_steps(label: str, progress: Progress | None) -> Progress | None:
    """Return a progress callback that says of which mechanism it speaks."""
    return None if progress is None else lambda step: progress(f"{label}: {step}")


def _describe(mechanism: MechanismSpec) -> dict[str, Any]:
    return {"name": mechanism.name, **mechanism.params}


def _list_epsilons(result: AuditResult, label: str) -> list[float]:
    epsilons = {finding.epsilon for finding in result if finding.label == label}
    return sorted(float(epsilon) for epsilon in epsilons if epsilon.is_given)
