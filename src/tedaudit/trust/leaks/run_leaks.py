"""The battery on every mechanism of a finished run, on its texts and epsilons, as a section of its report.

All batteries together have the error that one alone would have, apart from that of the run's verdicts: what
leaks is no test of a claim, and takes nothing from those that are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tedaudit.errors import SpecError
from tedaudit.preparing.preparation import restore_audit
from tedaudit.reports.section import Cell, Column, Section, Table
from tedaudit.results.findings import AuditResult
from tedaudit.spec.model import MechanismSpec
from tedaudit.trust.leaks.battery import ERROR, Progress
from tedaudit.trust.leaks.finder import find_leaks
from tedaudit.trust.leaks.outcomes import Cause, LeakReport
from tedaudit.trust.leaks.rendering import format_strength, list_examples, name_test

NAME = "leaks"  # of the section's file
_COLUMNS = (
    Column("mechanism", "label", 0), Column("epsilon", "figures", 0), Column("leak", rank=0),
    Column("pairs that follow", "figures"), Column("adjusted p", "p"), Column("what would fix it"),
    Column("one text and its rewrite", "text", 2), Column("the other and its rewrite", "text", 2),
)  # fmt: skip


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
    known = {finding.label for finding in result}
    chosen = [mechanism for mechanism in spec.mechanisms if mechanism.title in known]
    if not chosen:
        raise SpecError(f"'{result.folder}' has no findings yet: run the same command again to continue it.")
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


def _name_steps(label: str, progress: Progress | None) -> Progress | None:
    """Return a progress callback that says of which mechanism it speaks."""
    return None if progress is None else lambda step: progress(f"{label}: {step}")


def _describe(mechanism: MechanismSpec) -> dict[str, Any]:
    return {"name": mechanism.name, **mechanism.params}


def _list_epsilons(result: AuditResult, label: str) -> list[float]:
    epsilons = {finding.epsilon for finding in result if finding.label == label}
    return sorted(float(epsilon) for epsilon in epsilons if epsilon.is_given)


def describe_run_leaks(leaks: RunLeaks) -> Section:
    """Return what leaks as a section: a row for each leak, and one for a mechanism without any."""
    number = len(leaks.reports)
    rows = [row for report in leaks.reports for row in _list_rows(report, number)]
    reading = (
        "What leaks, by name, found with keys of its own. Every test compares outputs of different "
        "texts: a pair follows if its outputs fit the texts as they are better than exchanged; by chance "
        "at most half of the pairs do. (The interval is at 99 %.) What is found at an epsilon near 0 no "
        "noise hides; at the run's epsilons it is what the claim does not allow. That any of it is "
        f"chance has a probability of at most {leaks.error:g}, apart from the error of verdicts. That "
        "nothing was found proves nothing: these leaks were looked for, on these texts."
    )
    told = tuple(
        f"Not run for {report.mechanism}: {part.part}: {part.reason}."
        for report in leaks.reports
        for part in report.not_run
    )
    return Section("Leaks", Table(_COLUMNS, tuple(rows)), reading, told)


def _list_rows(report: LeakReport, number: int) -> Sequence[tuple[Cell, ...]]:
    if not report.findings:
        tests = f"{len(report.outcomes)} tests on {report.calls:,} rewrites"
        where = ", ".join(epsilon.label for epsilon in report.epsilons)
        return [(report.mechanism, where, f"nothing was found by {tests}", *[""] * (len(_COLUMNS) - 3))]
    return [(report.mechanism, *_list_cells(cause, number)) for cause in report.causes]


def _list_cells(cause: Cause, number: int) -> list[Cell]:
    finding = cause.finding
    clue = f"; a trait that tells them apart: {finding.clue[0]}" if finding.clue[0] else ""
    others = f"; also shows in: {'; '.join(map(name_test, cause.others))}" if cause.others else ""
    return [
        finding.epsilon.label, f"{finding.culprit} ({finding.part}, {finding.name}{clue}){others}",
        format_strength(finding), min(1.0, number * finding.adjusted), finding.fix,
        *(list_examples(finding) or ["", ""]),
    ]  # fmt: skip
