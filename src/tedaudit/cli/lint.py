"""The command that looks at a mechanism or a model without a sample."""

import textwrap
from typing import Annotated

import typer

from tedaudit.cli.leaks import Assign, Mechanism, check_gate, name_mechanism
from tedaudit.cli.options import Json, print_json
from tedaudit.errors import SpecError


def lint(
    mechanism: Mechanism = "",
    model: Annotated[str, typer.Option(help="A model folder: look at its generation settings alone.")] = "",
    epsilon: Annotated[
        list[float] | None, typer.Option("--epsilon", "-e", help="Repeat; else those of the paper.")
    ] = None,
    assign: Assign = None,
    fail_on: Annotated[
        str,
        typer.Option(help="error, warning or info: exit with 1 if a note has this level or a graver one."),
    ] = "",
    json: Json = False,
) -> None:
    """Say what is wrong with a mechanism's settings, claim, arithmetic or source, without a sample."""
    from tedaudit.cli.console import console, escape_text
    from tedaudit.trust.lint.linter import lint as look
    from tedaudit.trust.lint.linter import lint_model
    from tedaudit.trust.lint.notes import LEVELS

    check_gate(fail_on, LEVELS)
    if mechanism and model:
        raise SpecError("Give --mechanism or --model: a mechanism is looked at with its own model.")
    if model:
        report = lint_model(model)
    else:
        report = look(name_mechanism("lint", mechanism, assign), epsilons=epsilon or ())
    if json:
        print_json(report.to_dict())
    else:
        out = console()
        counts = ", ".join(f"{len(report.at(level))} {level}" for level in LEVELS)
        out.print(escape_text(f"{report.subject}: {counts}"), soft_wrap=True)
        for note in report.notes:
            line = f"{note.level}: {note.rule}: {note.text}." + (f" Fix: {note.fix}." if note.fix else "")
            for part in textwrap.wrap(escape_text(line), 78, subsequent_indent="   "):
                out.print(part, soft_wrap=True)
    if any(report.reaches(level) for level in LEVELS if level == fail_on):
        raise typer.Exit(1)
