"""The commands that look for leaks, `leaks` and `lint`, and `selftest`, which tries the tool itself."""

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.options import (
    Corpus,
    Force,
    Json,
    Quiet,
    Redact,
    complete_mechanism,
    print_json,
    refuse_settings,
)
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
    from tedaudit.reports.writers.terminal import write_lines
    from tedaudit.trust.leaks.finder import find_leaks
    from tedaudit.trust.leaks.telling import tell as tell_leaks

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
            for line in [""] * (number > 0) + write_lines(tell_leaks(report, redact=redact), escape_text):
                console().print(line, soft_wrap=True)
    if fail_on and has_findings:
        raise typer.Exit(1)


def _find_in_run(
    run_directory: Path, settings: dict[str, Any], *, redact: bool, yes: bool
) -> tuple["RunLeaks", bool]:
    """Name what leaks in all mechanisms of a run, put it into its report, and say whether it is redacted."""
    from tedaudit import api
    from tedaudit.cli.console import say_redacted
    from tedaudit.reports.section import store_section
    from tedaudit.spec.code_names import list_code
    from tedaudit.trust.leaks.run_leaks import NAME, find_run_leaks
    from tedaudit.trust.leaks.telling import tell_run

    result = api.load_run(run_directory)
    confirm_code(list_code(result.run.manifest()["spec"], "mechanisms"), run_directory, yes=yes)
    if redact:
        result.run.note_redaction(redacted=True)
    found = find_run_leaks(result, **settings)
    [section] = tell_run(found)
    store_section(result.run, NAME, section)
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


# --- The command that looks at a mechanism or a model without a sample.


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


# --- The command that has the tool test itself.


def selftest(
    quick: Annotated[bool, typer.Option("--quick", help="A part of it, in about a minute.")] = False,
    nulls: Annotated[
        int | None, typer.Option(min=0, help="Audits of rewriters that reveal nothing; 1,000 by default.")
    ] = None,
    flaw: Annotated[
        list[str] | None, typer.Option(help="Only this planted flaw. Repeat for several.")
    ] = None,
    processes: Annotated[int, typer.Option(min=0, help="0: one for each core.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the page here too.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Test tedaudit itself: on rewriters that reveal nothing, known epsilons and planted flaws.

    Prints a page in Markdown. Ends with 1 if the tool fails its own test.
    """
    from dataclasses import replace

    from tedaudit.cli.console import console, progress_bar
    from tedaudit.store.exported import check_target, write_exported
    from tedaudit.trust.planted.flaws import find_flaw
    from tedaudit.trust.selftest.selftest import FULL, QUICK, run_selftest
    from tedaudit.trust.selftest.telling import write_page

    if out is not None:
        check_target(out, [], force=force)
    size = QUICK if quick else FULL
    size = size if nulls is None else replace(size, nulls=nulls)
    size = replace(size, flaws=tuple(find_flaw(name).name for name in flaw)) if flaw else size
    with progress_bar(quiet=quiet) as progress:
        test = run_selftest(size, progress, processes=processes or os.cpu_count() or 1)
    flags = [*(["--quick"] if quick else []), *([] if nulls is None else [f"--nulls {nulls}"])]
    page = write_page(
        test, " ".join(["tedaudit selftest", *flags, *(f"--flaw {name}" for name in flaw or ())])
    )
    if out is not None:
        write_exported(out, page.encode(), [], force=force)
    if as_json:
        print_json(test.to_dict())
    else:
        console().print(page, soft_wrap=True)
    if test.failures:
        raise typer.Exit(1)
