"""Gates: what an audit must not show, and how each of them came out.

A run that is not finished, or has lost something, passes none. A gate on claims fails if a claim's verdict
is one of those named; a limit fails if a bound, at the error that all rows share, is above it. Command line,
JUnit and step summary all tell what stands here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tedaudit.plugins.nominal import NO_EPSILON, Nominal
from tedaudit.results.findings import AuditResult
from tedaudit.results.verdict import Decision, LimitVerdict, Verdict, any_named, strongest


@dataclass(frozen=True, slots=True)
class Gates:
    """What was asked for: names of decisions, and a limit for bounds."""

    fail_on: tuple[str, ...] = ()
    fail_above: float | None = None

    def __bool__(self) -> bool:
        return bool(self.fail_on) or self.fail_above is not None

    def __str__(self) -> str:
        named = [f"--fail-on {name}" for name in self.fail_on]
        limit = [] if self.fail_above is None else [f"--fail-above {self.fail_above:g}"]
        return " ".join([*named, *limit])


@dataclass(frozen=True, slots=True)
class Check:
    """One gate on a mechanism at an epsilon: under one attack of one plan, or by all of them together."""

    gate: Literal["claim", "limit", "finished"]
    label: str
    epsilon: Nominal
    verdict: Verdict
    failed: bool
    attack: str = ""  # empty: all attacks and plans together
    plan: str = ""

    @property
    def passed(self) -> bool:
        """Whether it was tested and kept: what could not be tested has neither passed nor failed."""
        return not self.failed and self.verdict.decision is Decision.NO_VIOLATION


def judge_gates(result: AuditResult, gates: Gates) -> list[Check]:
    """Return how every gate came out, rows first and then each mechanism and epsilon as a whole.

    None passes on a run that is not finished: nobody knows what the rest would have shown.
    """
    checks = _check_finished(result) if gates else []
    checks += _check_claims(result, gates.fail_on) if gates.fail_on else []
    if gates.fail_above is not None:
        checks += _check_limit(result, gates.fail_above, gates.fail_on)
    return checks


def any_failed(checks: Iterable[Check]) -> bool:
    """Return whether a gate failed."""
    return any(check.failed for check in checks)


def summarise_limits(result: AuditResult, limits: Sequence[Verdict]) -> dict[tuple[str, Nominal], Verdict]:
    """Return what was decided on each mechanism at each epsilon, by all attacks and plans together."""
    by_output: dict[tuple[str, Nominal], list[Verdict]] = {}
    for finding, verdict in zip(result, limits, strict=True):
        by_output.setdefault((finding.label, finding.epsilon), []).append(verdict)
    return {output: strongest(verdicts) for output, verdicts in by_output.items()}


def _check_finished(result: AuditResult) -> list[Check]:
    if result.finished:
        return []
    verdict = Verdict(Decision.NOT_TESTED, result.unfinished)
    return [Check(gate="finished", label="", epsilon=NO_EPSILON, verdict=verdict, failed=True)]


def _check_claims(result: AuditResult, fail_on: Sequence[str]) -> list[Check]:
    """Return the tests of claims: a row fails only if it refutes one, a claim if its verdict is named.

    That a claim is out of reach or not tested is said of all its tests together: one of them is enough.
    """
    on_violation = Decision.VIOLATED.flag in fail_on
    rows = [
        Check(
            gate="claim",
            label=row.label,
            epsilon=row.epsilon,
            verdict=row.verdict,
            failed=on_violation and row.verdict.is_violation,
            attack=row.attack,
            plan=row.plan,
        )
        for row in result
    ]
    return rows + [
        Check(
            gate="claim",
            label=claim.witness.label,
            epsilon=claim.witness.epsilon,
            verdict=claim.verdict,
            failed=any_named([claim.verdict], fail_on),
        )
        for claim in result.claims
    ]


def _check_limit(result: AuditResult, limit: float, fail_on: Sequence[str]) -> list[Check]:
    """Return the tests of a limit; pairs that were tried again have an error of their own, and count."""
    limits = result.judge_limit(limit)
    rows = [
        Check(
            gate="limit",
            label=row.label,
            epsilon=row.epsilon,
            verdict=verdict,
            failed=verdict.is_violation,
            attack=row.attack,
            plan=row.plan,
        )
        for row, verdict in zip(result, limits, strict=True)
    ]
    together = summarise_limits(result, limits)
    pairs: dict[tuple[str, Nominal], float] = {}
    for pair in result.pairs:
        output = (pair.label, pair.epsilon)
        pairs[output] = max(pair.bound.lower, pairs.get(output, 0.0))
    for output, lower in pairs.items():
        if lower > limit and not (output in together and together[output].is_violation):
            reason = f"the bound of a pair of texts is {lower:.4g}, above {limit:g}"
            together[output] = LimitVerdict(Decision.VIOLATED, reason)
    return rows + [
        Check("limit", *output, verdict, verdict.is_violation or any_named([verdict], fail_on))
        for output, verdict in together.items()
    ]
