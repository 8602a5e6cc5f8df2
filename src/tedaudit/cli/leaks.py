"""The commands that look for leaks: `leaks` and `lint`."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.gates import FINDING, NOTES, check_outcomes, outcome_option
from tedaudit.cli.options import (
    AUDITED,
    STATISTICS,
    Assignments,
    Corpus,
    Json,
    Mechanism,
    Quiet,
    Redact,
    option,
    print_json,
    refuse_settings,
)
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.leaks.lint.notes import LintReport
    from tedaudit.leaks.run_leaks import RunLeaks
    from tedaudit.results.findings import AuditResult


def leaks(
    run_directory: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="A finished run: all its mechanisms.")
    ] = None,
    mechanism: Mechanism = "",
    corpus: Corpus = None,
    epsilon: Annotated[
        list[float] | None,
        option(
            AUDITED,
            "--epsilon",
            "-e",
            metavar="NUMBER",
            help="Test at this epsilon too, beside zero budget. Repeat.",
        ),
    ] = None,
    assign: Assignments = None,
    claim: Annotated[
        float | None,
        option(AUDITED, "--claim", help="Epsilon promised for a whole release, if it is not stated."),
    ] = None,
    trials: Annotated[
        int | None,
        option(STATISTICS, "--trials", "-t", help="200 by default, 60 for language models."),
    ] = None,
    error: Annotated[float, option(STATISTICS, "--error", help="Of all tests together.")] = 0.0025,
    seed: Annotated[
        int | None, option(STATISTICS, "--seed", help="Chooses other pairs, twins and noise.")
    ] = None,
    timing: Annotated[
        bool, option(STATISTICS, "--timing", help="Also tell whether calls take longer for some texts.")
    ] = False,
    fail_on: Annotated[list[str] | None, outcome_option(FINDING, *NOTES)] = None,
    redact: Redact = False,
    yes: Yes = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Name what leaks: case, length, words that come back, failures, fixed seeds and more, with examples.

    Settings, claim and source are looked at first, as by `lint`. On a run, all its mechanisms are tried, and
    its page and report.md get a section on them.
    """
    from tedaudit.cli.console import console, escape_text
    from tedaudit.leaks.finder import find_leaks
    from tedaudit.leaks.lint.linter import lint as look
    from tedaudit.leaks.telling import tell as tell_leaks
    from tedaudit.reports.writers.terminal import write_lines

    check_outcomes("leaks", fail_on, (FINDING, *NOTES))

    def tell(step: str) -> None:
        if not quiet:
            console(error=True).print(escape_text(f"{step} ..."), style="dim")

    chosen: dict[str, Any] = {"error": error, "progress": tell, "timing": timing}
    chosen |= {name: value for name, value in (("trials", trials), ("seed", seed)) if value is not None}
    found: Any
    if run_directory is not None:
        given = {"mechanism": mechanism, "corpus": corpus, "epsilon": epsilon, "claim": claim, "set": assign}
        refuse_settings(run_directory, given)
        notes, found, result = _find_in_run(run_directory, chosen, redact=redact, yes=yes)
        reports, has_findings, missing = found.reports, found.has_findings, result.missing
        redact = result.run.files.is_redacted
    else:
        named = name_mechanism("leaks", mechanism, assign)
        notes = [look(named, epsilons=epsilon or ())]
        found = find_leaks(named, corpus, epsilon=epsilon, claim=claim, **chosen)
        reports, has_findings, missing = (found,), bool(found.findings), ()
    if json:
        print_json({**found.to_dict(redact=redact), "lint": [note.to_dict() for note in notes]})
    else:
        for noted, report in zip(notes, reports, strict=True):
            show_notes(noted)
            for line in [*write_lines(tell_leaks(report, redact=redact), escape_text), ""]:
                console().print(line, soft_wrap=True)
    if fail_on and missing:  # nobody has looked at what is not there
        raise typer.Exit(1)
    if (has_findings and FINDING in (fail_on or ())) or any(_reaches(note, fail_on) for note in notes):
        raise typer.Exit(1)


def _find_in_run(
    run_directory: Path, settings: dict[str, Any], *, redact: bool, yes: bool
) -> tuple[list["LintReport"], "RunLeaks", "AuditResult"]:
    """Look at all mechanisms of a run, put what leaks into its report, and return the run too."""
    from tedaudit import api
    from tedaudit.cli.console import say_redacted, say_unfinished
    from tedaudit.leaks.run_leaks import NAME, find_run_leaks, lint_run
    from tedaudit.leaks.telling import tell_run
    from tedaudit.results.section import store_section
    from tedaudit.runs.spec.code_names import list_code

    result = api.load_run(run_directory)
    say_unfinished(result.run, result.missing)
    confirm_code(list_code(result.run.manifest()["spec"], "mechanisms"), run_directory, yes=yes)
    if redact:
        result.run.note_redaction(redacted=True)
    notes, found = lint_run(result), find_run_leaks(result, **settings)
    [section] = tell_run(found)
    store_section(result.run, NAME, section)
    api.report(result.run.root)
    say_redacted(result.run)
    return notes, found, result


def name_mechanism(command: str, name: str, assignments: list[str] | None) -> dict[str, Any] | str:
    """Return a mechanism with the fields that flags give it."""
    from tedaudit.runs.spec.flags import assign_fields

    if not name:
        other = ", or a run directory" if command == "leaks" else ""
        raise SpecError(f"`{command}` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`){other}.")
    [entry] = assign_fields("mechanism", [name], assignments or ())
    return entry if assignments else name


def show_notes(report: "LintReport") -> None:
    """Print how many notes there are of each level, and every note."""
    from tedaudit.cli.console import console, escape_text

    out = console()
    found = {level: number for level, number in report.counts.items() if number}
    counts = (f"{number} {level}{'s' * (number > 1 and level != 'info')}" for level, number in found.items())
    told = ", ".join(counts) or "nothing found"
    out.print(escape_text(f"{report.subject}, settings and source: {told}"), soft_wrap=True)
    for note in report.notes:
        line = f"{note.level}: {note.rule}: {note.text}." + (f" Fix: {note.fix}." if note.fix else "")
        for part in textwrap.wrap(escape_text(line), 78, subsequent_indent="   "):
            out.print(part, soft_wrap=True)


def _reaches(report: "LintReport", levels: list[str] | None) -> bool:
    """Return whether a note has one of these levels, or a graver one."""
    return any(report.reaches(level) for level in report.counts if level in (levels or ()))


# --- The command that looks at a mechanism or a model without a sample.


def lint(
    mechanism: Mechanism = "",
    model: Annotated[
        str,
        option(
            AUDITED,
            "--model",
            metavar="FOLDER",
            help="A model folder: look at its generation settings alone.",
        ),
    ] = "",
    epsilon: Annotated[
        list[float] | None,
        option(AUDITED, "--epsilon", "-e", metavar="NUMBER", help="Repeat; else those of the paper."),
    ] = None,
    assign: Assignments = None,
    fail_on: Annotated[list[str] | None, outcome_option(*NOTES)] = None,
    json: Json = False,
) -> None:
    """Say what is wrong with a mechanism's settings, claim, arithmetic or source, without a sample."""
    from tedaudit.leaks.lint.linter import lint as look
    from tedaudit.leaks.lint.linter import lint_model

    check_outcomes("lint", fail_on, NOTES)
    if mechanism and model:
        raise SpecError("Give --mechanism or --model: a mechanism is looked at with its own model.")
    if model:
        report = lint_model(model)
    else:
        report = look(name_mechanism("lint", mechanism, assign), epsilons=epsilon or ())
    print_json(report.to_dict()) if json else show_notes(report)
    if _reaches(report, fail_on):
        raise typer.Exit(1)
