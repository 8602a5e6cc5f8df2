"""Gates: on which outcome of an audit a command ends with 1, for use in a test suite or a release."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.options import OUTPUT, option
from tedaudit.errors import SpecError, did_you_mean
from tedaudit.results.verdict import GATES, Verdict, any_named, any_violation, strongest

if TYPE_CHECKING:
    from tedaudit.results.comparison import Compared
    from tedaudit.results.findings import AuditResult
    from tedaudit.results.gates import Gates

CLAIMS = tuple(decision.flag for decision in GATES)  # what becomes of a claim, or of a limit
_, NOT_TESTED, OUT_OF_REACH = CLAIMS
LIMITS = (NOT_TESTED, OUT_OF_REACH)  # of a limit, where no claim is tested
FINDING = "finding"  # of the battery of leaks
NOTES = ("error", "warning")  # of lint
COMPARED = ("worse", "not-told")  # of a release beside the last one
_WORDS = (*CLAIMS, FINDING, *NOTES, *COMPARED)


def outcome_option(*outcomes: str, when: str = "Exit with 1 on") -> Any:
    """Return the option that names on which outcomes a command exits with 1."""
    repeat = " Repeat." if len(outcomes) > 1 else ""
    return option(OUTPUT, "--fail-on", metavar="OUTCOME", help=f"{when}: {', '.join(outcomes)}.{repeat}")


FailOn = Annotated[list[str] | None, outcome_option(*CLAIMS)]
FailOnLimit = Annotated[
    list[str] | None, outcome_option(*LIMITS, when="With --fail-above, exit with 1 also on")
]
FailAbove = Annotated[
    float | None,
    option(OUTPUT, "--fail-above", help="Exit with 1 if an eps_emp is above this; needs no claim."),
]


def check_outcomes(command: str, named: Sequence[str] | None, allowed: Sequence[str], more: str = "") -> None:
    """Refuse an outcome that a command cannot have, before any work is done."""
    for flag in named or ():
        if flag not in allowed:
            elsewhere = f" `{command}` cannot find that." if flag in _WORDS else did_you_mean(flag, allowed)
            raise SpecError(f"--fail-on is '{flag}'.{elsewhere} It is one of: {', '.join(allowed)}.{more}")


def check_gates(command: str, fail_on: Sequence[str] | None, fail_above: float | None) -> None:
    """Refuse a gate that does not exist and a limit that is no epsilon, before any work is done."""
    check_outcomes(command, fail_on, CLAIMS)
    _check_limit(fail_above)


def check_limit_gates(command: str, fail_on: Sequence[str] | None, fail_above: float | None) -> None:
    """Refuse what can never fail a command that tests no claim: every outcome is one of a limit."""
    instead = f" `{command}` tests no claim: --fail-above 2.0 fails if an eps_emp is above 2.0."
    check_outcomes(command, fail_on, LIMITS, instead)
    if fail_on and fail_above is None:
        raise SpecError(f"--fail-on {fail_on[0]} is about a limit, and there is none.{instead}")
    _check_limit(fail_above)


def _check_limit(fail_above: float | None) -> None:
    if fail_above is not None and not 0 <= fail_above < float("inf"):
        raise SpecError(f"--fail-above is {fail_above}; it must be 0 or larger, such as 2.0.")


def name_gates(fail_on: Sequence[str] | None, fail_above: float | None) -> "Gates":
    """Return the gates that flags ask for."""
    from tedaudit.results.gates import Gates

    return Gates(tuple(fail_on or ()), fail_above)


def pass_gates(result: "AuditResult", fail_on: Sequence[str] | None, fail_above: float | None) -> None:
    """Say how the gates came out, and exit with 1 if one of them failed.

    Pairs that were tried again count: they have an error of their own, within that of the run.
    """
    from tedaudit.results.gates import any_failed, judge_gates

    gates = name_gates(fail_on, fail_above)
    if gates and not result.finished:
        _say(f"{gates}: {result.unfinished}.")
    if fail_on and not result.claims and fail_above is None:
        _say("--fail-on: nothing is claimed, so there is nothing to fail on; --fail-above needs no claim.")
    if fail_above is not None:
        _describe_limit(result, result.judge_limit(fail_above), fail_above)
    if any_failed(judge_gates(result, gates)):
        raise typer.Exit(1)


def pass_comparison(compared: "Compared", fail_on: Sequence[str]) -> None:
    """Say how a release compares with the reference, and exit with 1 if that is a failure."""
    answer = compared.answer
    if answer is None or not fail_on:
        return
    failed = answer.standing.flag in fail_on
    no_pass = "" if failed or answer.standing.flag not in COMPARED else " That is no pass."
    _say(f"{' '.join(f'--fail-on {name}' for name in fail_on)}: {answer} {answer.reason}.{no_pass}")
    if failed:
        raise typer.Exit(1)


def pass_limit(limits: Mapping[str, Verdict], fail_on: Sequence[str] | None, limit: float) -> None:
    """Say how the rows of a study came out against a limit, and exit with 1 if that is a failure.

    The strongest verdict counts for all rows that were tested: they speak of one release. That a row was not
    is said of each, and is a failure if that is asked for.
    """
    untested = {name: verdict for name, verdict in limits.items() if verdict.decision.flag == NOT_TESTED}
    for name, verdict in limits.items():
        if verdict.is_violation:
            _say(f"--fail-above {limit:g}: {name}: {verdict.reason}.")
    for name, verdict in untested.items():
        _say(f"--fail-above {limit:g}: {name}: {verdict.name}: {verdict.reason}.")
    tested = [verdict for name, verdict in limits.items() if name not in untested]
    decided = [strongest(tested)] if tested else []
    for verdict in decided:
        if not verdict.is_violation:
            _say(f"--fail-above {limit:g}: {verdict.name}: {verdict.reason}.")
    if any_violation(decided) or any_named([*decided, *untested.values()], fail_on or ()):
        raise typer.Exit(1)


def _describe_limit(result: "AuditResult", limits: Sequence[Verdict], limit: float) -> None:
    """Say how bounds compare with a limit, those of pairs that were tried again among them."""
    from tedaudit.results.gates import summarise_limits

    above = [pair for pair in result.pairs if pair.bound.lower > limit]
    for pair in above:
        found = f"the bound of a pair is {pair.bound.lower:.4g}"
        _say(f"--fail-above {limit:g}: {pair.label}, {pair.attack}: {found}, above {limit:g}.")
    for finding, verdict in zip(result, limits, strict=True):
        if verdict.is_violation:
            _say(f"--fail-above {limit:g}: {finding.label}, {finding.attack}: {verdict.reason}.")
    decided = summarise_limits(result, limits)
    for pair in above:
        decided.pop((pair.label, pair.epsilon), None)
    outcome = [verdict for verdict in decided.values() if not verdict.is_violation]
    for verdict in dict.fromkeys(outcome):
        _say(f"--fail-above {limit:g}: {verdict.name} for {outcome.count(verdict)}: {verdict.reason}.")
    if not limits:
        _say(f"--fail-above {limit:g}: there is no bound yet.")


def _say(text: str) -> None:
    from tedaudit.cli.console import console, escape_text

    console(error=True).print(escape_text(text), soft_wrap=True)
