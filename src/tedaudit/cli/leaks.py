"""The command that names what leaks."""

from typing import Annotated, Any

import typer

from tedaudit.cli.options import Corpus, Json, Quiet, print_json
from tedaudit.errors import SpecError, did_you_mean

Mechanism = Annotated[
    str, typer.Option("--mechanism", "-m", help="By name, or py:package.module:name, which runs that code.")
]
Assign = Annotated[list[str] | None, typer.Option("--set", help="KEY=VALUE: a field of the mechanism.")]


def leaks(
    mechanism: Mechanism = "",
    corpus: Corpus = None,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="Test at this epsilon too, beside zero budget.")
    ] = None,
    claim: Annotated[
        float | None, typer.Option(help="Epsilon promised for a whole release, if it is not stated.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", "-t", help="200 by default, 60 for language models.")
    ] = None,
    error: Annotated[float, typer.Option(help="Of all tests together.")] = 0.0025,
    seed: Annotated[int, typer.Option(help="Other pairs, twins and noise.")] = 0,
    assign: Assign = None,
    fail_on: Annotated[str, typer.Option(help="finding: exit with 1 if there is one.")] = "",
    redact: Annotated[bool, typer.Option("--redact", help="Leave out all texts.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name what leaks: case, length, names, failures, fixed seeds and more, each with an example."""
    from tedaudit.cli.console import console, escape_text
    from tedaudit.trust.leaks import find_leaks
    from tedaudit.trust.rendering import describe_leaks

    check_gate(fail_on, ("finding",))

    def tell(step: str) -> None:
        if not quiet:
            console(error=True).print(escape_text(f"{step} ..."), style="dim")

    report = find_leaks(
        name_mechanism("leaks", mechanism, assign), corpus, epsilon=epsilon, claim=claim, progress=tell,
        error=error, seed=seed, **({} if trials is None else {"trials": trials}),
    )  # fmt: skip
    if json:
        print_json(report.to_dict(redact=redact))
    else:
        for line in describe_leaks(report, redact=redact, clean=escape_text):
            console().print(escape_text(line), soft_wrap=True)
    if fail_on and report.findings:
        raise typer.Exit(1)


def name_mechanism(command: str, name: str, assignments: list[str] | None) -> dict[str, Any] | str:
    """Return a mechanism with the fields that flags give it."""
    from tedaudit.spec.flags import parse_value

    if not name:
        raise SpecError(f"`{command}` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`).")
    fields = {}
    for assignment in assignments or ():
        key, equals, raw = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set takes KEY=VALUE, such as variant=published, not '{assignment}'.")
        fields[key] = parse_value(assignment, raw)
    return {"name": name, **fields} if fields else name


def check_gate(flag: str, allowed: tuple[str, ...]) -> None:
    """Refuse a gate that does not exist, before any work is done."""
    if flag and flag not in allowed:
        raise SpecError(
            f"--fail-on is '{flag}'.{did_you_mean(flag, allowed)} It is one of: {', '.join(allowed)}."
        )
