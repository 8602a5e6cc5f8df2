"""The command that names what leaks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.completion import complete_mechanism
from tedaudit.cli.options import Corpus, Json, Quiet, Redact, print_json, refuse_settings
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError, did_you_mean

if TYPE_CHECKING:
    from tedaudit.trust.leaks.run_leaks import RunLeaks

Mechanism = Annotated[
    str,
    typer.Option(
        "--mechanism",
        "-m",
        help="By name, or py:package.module:name, which runs that code.",
        autocompletion=complete_mechanism,
    ),
]
Assign = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE: a field of the mechanism.")]


def leaks(
    run_directory: Annotated[
        Path | None, typer.Argument(help="A finished run: all its mechanisms, for its report.")
    ] = None,
    mechanism: Mechanism = "",
    corpus: Corpus = None,
    epsilon: Annotated[
        list[float] | None,
        typer.Option("--epsilon", "-e", help="Test at this epsilon too, beside zero budget. Repeat."),
    ] = None,
    claim: Annotated[
        float | None, typer.Option(help="Epsilon promised for a whole release, if it is not stated.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-t", help="200 by default, 60 for language models.")
    ] = None,
    error: Annotated[float, typer.Option(help="Of all tests together.")] = 0.0025,
    seed: Annotated[int | None, typer.Option(help="Other pairs, twins and noise.")] = None,
    assign: Assign = None,
    fail_on: Annotated[str, typer.Option(help="finding: exit with 1 if there is one.")] = "",
    redact: Redact = False,
    yes: Yes = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name what leaks: case, length, words that come back, failures, fixed seeds and more, with examples.

    On a mechanism, or on all mechanisms of a run: its page and report.md then have a section on them.
    """
    from tedaudit.cli.console import console, escape_text
    from tedaudit.trust.leaks.finder import find_leaks
    from tedaudit.trust.leaks.rendering import describe_leaks

    check_gate(fail_on, ("finding",))

    def tell(step: str) -> None:
        if not quiet:
            console(error=True).print(escape_text(f"{step} ..."), style="dim")

    chosen: dict[str, Any] = {"error": error, "progress": tell}
    chosen |= {name: value for name, value in (("trials", trials), ("seed", seed)) if value is not None}
    found: Any
    if run_directory is not None:
        given = {"mechanism": mechanism, "corpus": corpus, "epsilon": epsilon, "claim": claim, "set": assign}
        refuse_settings(run_directory, given)
        found, redact = _find_in_run(run_directory, chosen, redact=redact, yes=yes)
        reports, has_findings = found.reports, found.has_findings
    else:
        named = name_mechanism("leaks", mechanism, assign)
        found = find_leaks(named, corpus, epsilon=epsilon, claim=claim, **chosen)
        reports, has_findings = (found,), bool(found.findings)
    if json:
        print_json(found.to_dict(redact=redact))
    else:
        for number, report in enumerate(reports):
            for line in [""] * (number > 0) + describe_leaks(report, redact=redact, clean=escape_text):
                console().print(escape_text(line), soft_wrap=True)
    if fail_on and has_findings:
        raise typer.Exit(1)


def _find_in_run(
    run_directory: Path, settings: dict[str, Any], *, redact: bool, yes: bool
) -> tuple["RunLeaks", bool]:
    """Name what leaks in all mechanisms of a run, put it into its report, and say whether it is redacted."""
    from tedaudit import api
    from tedaudit.cli.console import say_redacted
    from tedaudit.reports.sections import write_section
    from tedaudit.spec.code_names import list_code
    from tedaudit.trust.leaks.run_leaks import NAME, describe_run_leaks, find_run_leaks

    result = api.load_run(run_directory)
    confirm_code(list_code(result.run.manifest()["spec"], "mechanisms"), run_directory, yes=yes)
    if redact:
        result.run.note_redaction(redacted=True)
    found = find_run_leaks(result, **settings)
    write_section(result.run, NAME, describe_run_leaks(found))
    api.report(result.run.root)
    say_redacted(result.run)
    return found, result.run.files.is_redacted


def name_mechanism(command: str, name: str, assignments: list[str] | None) -> dict[str, Any] | str:
    """Return a mechanism with the fields that flags give it."""
    from tedaudit.spec.flags import parse_field

    if not name:
        other = ", or a run directory" if command == "leaks" else ""
        raise SpecError(f"`{command}` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`){other}.")
    fields = {}
    for assignment in assignments or ():
        key, equals, raw = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set takes KEY=VALUE, such as variant=published, not '{assignment}'.")
        fields[key] = parse_field(assignment, raw, "mechanism", name, key)
    return {"name": name, **fields} if fields else name


def check_gate(flag: str, allowed: tuple[str, ...]) -> None:
    """Refuse a gate that does not exist, before any work is done."""
    if flag and flag not in allowed:
        raise SpecError(
            f"--fail-on is '{flag}'.{did_you_mean(flag, allowed)} It is one of: {', '.join(allowed)}."
        )
