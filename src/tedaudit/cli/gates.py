"""Gates: on which outcome of an audit a command ends with 1, for use in a test suite or a release."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tedaudit.errors import SpecError, did_you_mean
from tedaudit.results.verdict import GATES, Verdict, any_named, any_violation, strongest

if TYPE_CHECKING:
    from tedaudit.results.findings import AuditResult

_FLAGS = [decision.flag for decision in GATES]
FailOn = Annotated[
    list[str] | None,
    typer.Option("--fail-on", help=f"Exit with 1 if a claim or the limit is: {', '.join(_FLAGS)}. Repeat."),
]
FailAbove = Annotated[
    float | None,
    typer.Option("--fail-above", help="Exit with 1 if a bound, at the error of all rows, is above this."),
]


def check_gates(fail_on: Sequence[str] | None, fail_above: float | None) -> None:
    """Refuse a gate that does not exist and a limit that is no epsilon, before any work is done."""
    for flag in fail_on or ():
        if flag not in _FLAGS:
            raise SpecError(
                f"--fail-on is '{flag}'.{did_you_mean(flag, _FLAGS)} It is one of: {', '.join(_FLAGS)}."
            )
    if fail_above is not None and not 0 <= fail_above < float("inf"):
        raise SpecError(f"--fail-above is {fail_above}; it must be 0 or larger, such as 2.0.")


def pass_gates(
    result: "AuditResult",
    fail_on: Sequence[str] | None,
    fail_above: float | None,
    pairs: Sequence[Verdict] = (),
) -> None:
    """Say how the gates came out, and exit with 1 if one of them failed.

    `pairs` are verdicts on pairs that were tried again: one that refutes a claim counts for it.
    """
    refuted = [verdict for verdict in pairs if verdict.is_violation]
    claims = [*(claim.verdict for claim in result.claims), *refuted]
    if fail_on and not claims and fail_above is None:
        _say("--fail-on: nothing is claimed, so there is nothing to fail on; --fail-above needs no claim.")
    failed = any_named(claims, fail_on or ())
    if fail_above is not None:
        limits = result.judge_limit(fail_above)
        failed |= any_violation(limits) or any_named(_summarise(result, limits), fail_on or ())
        _describe_limit(result, limits, fail_above)
    if failed:
        raise typer.Exit(1)


def _summarise(result: "AuditResult", limits: Sequence[Verdict]) -> list[Verdict]:
    """Return what was decided on each mechanism at each epsilon, by all attacks and plans together."""
    by_output: dict[object, list[Verdict]] = {}
    for finding, verdict in zip(result, limits, strict=True):
        by_output.setdefault((finding.label, finding.epsilon), []).append(verdict)
    return [strongest(verdicts) for verdicts in by_output.values()]


def _describe_limit(result: "AuditResult", limits: Sequence[Verdict], limit: float) -> None:
    for finding, verdict in zip(result, limits, strict=True):
        if verdict.is_violation:
            _say(f"--fail-above {limit:g}: {finding.label}, {finding.attack}: {verdict.reason}.")
    outcome = [verdict for verdict in _summarise(result, limits) if not verdict.is_violation]
    for verdict in dict.fromkeys(outcome):
        _say(f"--fail-above {limit:g}: {verdict.name} for {outcome.count(verdict)}: {verdict.reason}.")
    if not limits:
        _say(f"--fail-above {limit:g}: there is no bound yet.")


def _say(text: str) -> None:
    from tedaudit.cli.console import console, escape_text

    console(error=True).print(escape_text(text), soft_wrap=True)
