"""The commands that reread runs: bounds, one trial, the report; and that compare runs, or attacks of one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tedaudit.cli.gates import (
    COMPARED,
    FailAbove,
    FailOn,
    check_gates,
    check_outcomes,
    outcome_option,
    pass_comparison,
    pass_gates,
)
from tedaudit.cli.options import (
    AUDITED,
    OUTPUT,
    STATISTICS,
    Force,
    Json,
    Redact,
    TableChoice,
    option,
    print_json,
)
from tedaudit.cli.trust import Yes, confirm_code
from tedaudit.errors import SpecError, join_names

if TYPE_CHECKING:
    from tedaudit.runs.directory import RunDirectory


def estimate(
    run_directory: Annotated[
        Path | None, typer.Argument(metavar="RUN", help="Re-estimate a run; loads no model.")
    ] = None,
    correct: Annotated[
        int | None, option(STATISTICS, "--correct", help="Trials in which the attack was right.")
    ] = None,
    trials: Annotated[int | None, option(STATISTICS, "--trials", "-t", help="All trials.")] = None,
    candidates: Annotated[
        int | None, option(STATISTICS, "--candidates", help="Candidates per trial; 2 by default.")
    ] = None,
    true_positives: Annotated[
        int | None, option(STATISTICS, "--true-positives", help="Baseline: named v1 on M(v1).")
    ] = None,
    false_positives: Annotated[
        int | None, option(STATISTICS, "--false-positives", help="Baseline: named v1 on M(v2).")
    ] = None,
    alpha: Annotated[float | None, option(STATISTICS, "--alpha", help="0.01 by default.")] = None,
    delta: Annotated[
        float | None, option(STATISTICS, "--delta", help="0 by default; for a run, that of its claims.")
    ] = None,
    gdp: Annotated[
        bool,
        option(
            STATISTICS, "--gdp", help="Read --correct as of a Gaussian mechanism; --delta 1e-5 by default."
        ),
    ] = False,
    table: TableChoice = "pivot",
    as_json: Json = False,
) -> None:
    """Turn counts into a bound, or estimate a run again from its tables."""
    from tedaudit import api
    from tedaudit.cli.console import show_bound, show_result
    from tedaudit.estimators import baseline

    reduced = {"--correct": correct, "--candidates": None if candidates == 2 else candidates}
    positives = {"--true-positives": true_positives, "--false-positives": false_positives}
    _refuse_mixed(run_directory, {"--trials": trials}, reduced, positives)
    if run_directory is not None:
        result = api.load_run(run_directory, alpha, delta)
        print_json(result.to_dict()) if as_json else show_result(result, table)
        return
    level, slack = 0.01 if alpha is None else alpha, delta or 0.0
    if gdp:
        _show_gaussian(
            correct, trials, 2 if candidates is None else candidates, level, delta, as_json=as_json
        )
        return
    if trials is not None and true_positives is not None and false_positives is not None:
        bound = baseline(true_positives, false_positives, trials, level, slack)
    elif trials is not None and correct is not None:
        bound = api.estimate(correct, trials, 2 if candidates is None else candidates, level, slack)
    else:
        raise SpecError(
            "`estimate` needs a run directory; or --correct and --trials; or --true-positives, "
            "--false-positives and --trials."
        )
    print_json(bound.to_dict()) if as_json else show_bound(bound)


def _show_gaussian(
    correct: int | None,
    trials: int | None,
    candidates: int,
    alpha: float,
    delta: float | None,
    *,
    as_json: bool,
) -> None:
    """Print what a success rate says under the assumption of a Gaussian mechanism."""
    from dataclasses import asdict

    from tedaudit.estimators.gdp import read_as_gaussian

    if correct is None or trials is None:
        raise SpecError("`estimate --gdp` needs --correct and --trials.")
    reading = read_as_gaussian(correct, trials, candidates, alpha, 1e-5 if delta is None else delta)
    if as_json:
        print_json(asdict(reading))
        return
    typer.echo(
        f"mu is at least {reading.mu:.4g}, so that epsilon is at least {reading.epsilon:.2f} at delta "
        f"{reading.delta:g}: {reading.assumption}. Wrong with probability {reading.error:g} at most."
    )


def _refuse_mixed(run_directory: Path | None, *groups: dict[str, int | None]) -> None:
    """Refuse counts together with a run directory, or counts of both estimators."""
    trials, *estimators = [[flag for flag, value in group.items() if value is not None] for group in groups]
    if run_directory is not None and (trials or any(estimators)):
        flags = ", ".join([*trials, *estimators[0], *estimators[1]])
        raise SpecError(f"'{run_directory}' has its own counts: leave out {flags}, or the run directory.")
    if all(estimators):
        first, second = (", ".join(flags) for flags in estimators)
        raise SpecError(
            f"{first} and {second} cannot be combined: the reduced form takes --correct, --trials and "
            "--candidates; the baseline --true-positives, --false-positives and --trials."
        )


def replay(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    trial: Annotated[int, typer.Argument(help="The trial's number, from 0.")],
    plan: Annotated[str | None, option(AUDITED, "--plan", metavar="NAME", help="Only of this plan.")] = None,
    mechanism: Annotated[
        str | None, option(AUDITED, "--mechanism", "-m", metavar="NAME", help="Only of this mechanism.")
    ] = None,
    epsilon: Annotated[
        str | None, option(AUDITED, "--epsilon", "-e", metavar="NUMBER", help="Only at this epsilon.")
    ] = None,
    attack: Annotated[
        str | None, option(AUDITED, "--attack", "-a", metavar="NAME", help="Only by this attack.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Repeat one trial of a run and show its texts, scores and guess.

    Mechanism and attack run again. If the run names Python code (py:package.module:name, or a function),
    that code runs on this machine: it is asked for first, and --yes answers. Trust whoever made the run.
    """
    from tedaudit.cli.console import say_unfinished, show_replay
    from tedaudit.runs.directory import RunDirectory
    from tedaudit.runs.missing import find_missing
    from tedaudit.runs.spec.code_names import list_code
    from tedaudit.studies.replay import replay as replay_trial

    only = {"plan": plan, "mechanism": mechanism, "epsilon": epsilon, "attack": attack}
    run = RunDirectory(run_directory)
    confirm_code(list_code(run.manifest()["spec"], "mechanisms", "attacks"), run_directory, yes=yes)
    say_unfinished(run, find_missing(run))
    trials = replay_trial(run, trial, {k: v for k, v in only.items() if v is not None})
    print_json([result.to_dict() for result in trials]) if as_json else show_replay(trials)


def report(
    run_directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    redact: Redact = False,
    full: Annotated[bool, option(OUTPUT, "--full", help="Take --redact back: with texts again.")] = False,
    check: Annotated[
        bool, option(OUTPUT, "--check", help="Write nothing; say which files are not as they were written.")
    ] = False,
    figures: Annotated[
        bool, option(OUTPUT, "--figures/--no-figures", help="Draw figures for a paper: PDF and PNG.")
    ] = True,
    fail_on: FailOn = None,
    fail_above: FailAbove = None,
    table: TableChoice = "pivot",
    as_json: Json = False,
) -> None:
    """Rewrite report.html, report.md, summary.json and the figures of a run from its tables.

    --redact is noted in the run: no command writes a text into these files from then on, until --full.
    """
    from tedaudit import api
    from tedaudit.cli.console import mention_charts, say_redacted, show_figures, show_result
    from tedaudit.reports.figures import write_figures
    from tedaudit.reports.loss_figures import write_loss_figures

    check_gates("report", fail_on, fail_above)
    if check:
        _check_files(run_directory, given=redact or full, as_json=as_json)
        return
    mention_charts()
    result = api.report(run_directory, redact=redact, full=full)
    drawn = [*write_figures(result), *write_loss_figures(result)] if figures else []
    print_json(result.to_dict()) if as_json else show_result(result, table)
    if figures and not as_json:
        show_figures(drawn)
    say_redacted(result.run)
    if full:
        _mention_stripped(result.run)
    pass_gates(result, fail_on, fail_above)


def _check_files(run_directory: Path, *, given: bool, as_json: bool) -> None:
    """Print which files of a run do not fit, and what is not there; exit with 2 if there is any."""
    from tedaudit.errors import escape_control
    from tedaudit.runs.checking import find_damage, list_missing
    from tedaudit.runs.directory import RunDirectory

    if given:
        raise SpecError("--check writes nothing: leave out --redact and --full.")
    run = RunDirectory(run_directory)
    run.manifest()  # refuses what is no run
    number, found = find_damage(run)
    missing = list_missing(run)
    if as_json:
        print_json({"files": number, "damaged": found, "missing": missing})
    else:
        for line in [*found, *missing]:
            typer.echo(escape_control(line), err=True)
        fitting = f"{number - len(found):,} of {number:,}" if found else f"All {number:,}"
        lacking = "; but the run is not finished, or has lost something" if missing else ""
        typer.echo(f"{fitting} files of {run.root} are as they were written{lacking}.")
    if found or missing:
        raise typer.Exit(2)


def _mention_stripped(run: "RunDirectory") -> None:
    """Say which sections have lost their texts for good, and how to get them again."""
    stripped = run.files.list_stripped()
    if stripped:
        typer.echo(
            f"Stored without texts while the run was redacted: {', '.join(stripped)}. The command that "
            "wrote each (records, leaks, run --worst) brings them back.",
            err=True,
        )


# --- The command that compares finished runs.


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; one is enough with several attacks.")],
    by: Annotated[
        Literal["run", "mechanism", "attack"] | None,
        option(AUDITED, "--by", help="What is compared; by default runs, or attacks if there is one run."),
    ] = None,
    against: Annotated[
        str | None,
        option(
            AUDITED, "--against", metavar="NAME",
            help="What to compare the others with; by default the one in most settings.",
        ),
    ] = None,
    examples: Annotated[
        int,
        option(
            OUTPUT, "--examples", min=0,
            help="One run: print so many trials, with texts, that one attack alone got right.",
        ),
    ] = 0,
    attack: Annotated[
        list[str] | None,
        option(OUTPUT, "--attack", "-a", metavar="NAME", help="--examples: which two attacks. Repeat."),
    ] = None,
    plan: Annotated[
        str | None, option(OUTPUT, "--plan", metavar="NAME", help="--examples: of this plan.")
    ] = None,
    mechanism: Annotated[
        str | None, option(OUTPUT, "--mechanism", "-m", metavar="NAME", help="--examples: of this mechanism.")
    ] = None,
    epsilon: Annotated[
        str | None, option(OUTPUT, "--epsilon", "-e", metavar="NUMBER", help="--examples: at this epsilon.")
    ] = None,
    scale: Annotated[
        Literal["success", "epsilon"] | None,
        option(STATISTICS, "--scale", help="Of success rates, or of epsilon; the latter if their k differ."),
    ] = None,
    alpha: Annotated[
        float, option(STATISTICS, "--alpha", help="The error of each interval, and of all answers together.")
    ] = 0.01,
    margin: Annotated[
        float | None,
        option(STATISTICS, "--margin", help="Right so much more often is no worse; 0.05 by default."),
    ] = None,
    fail_on: Annotated[list[str] | None, outcome_option(*COMPARED)] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT, "--out", "-o", metavar="FILE", help="Write a page for a browser; it contains no texts."
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Compare runs, attacks or mechanisms trial by trial; loads no model."""
    from tedaudit import api
    from tedaudit.cli.console import mention_charts, say_unfinished, show_comparison, show_examples
    from tedaudit.results.comparison import MARGIN
    from tedaudit.results.disagreement import disagreements
    from tedaudit.runs.exported import check_target

    check_outcomes("compare", fail_on, COMPARED)
    _check_release(runs, by, against, fail_on)
    if out is not None and (out.is_dir() or out.suffix.lower() not in (".html", ".htm")):
        raise SpecError(f"--out is '{out}'; it must be an HTML file, such as comparison.html.")
    if out is not None:
        check_target(out, runs, force=force)
        mention_charts()
    chosen = {"plan": plan, "mechanism": mechanism, "epsilon": epsilon}
    only = {key: value for key, value in chosen.items() if value is not None}
    _check_examples(runs, by, {"--examples": examples, "--attack": attack, **only})
    compared = api.compare(
        *runs, by=by, against=against, alpha=alpha, scale=scale, margin=MARGIN if margin is None else margin
    )
    for one in compared.opened if examples else ():
        say_unfinished(one.store, one.result.missing)  # before a text is looked for that may be gone
    disagreeing = disagreements(compared.opened[0].result, attack, only, examples) if examples else []
    if out is not None:
        from tedaudit.reports.telling_comparison import write_comparison

        write_comparison(compared, out, runs, force=force)
    if as_json:
        told = {"examples": [one.to_dict() for one in disagreeing]} if examples else {}
        print_json(compared.to_dict() | told)
    else:
        show_comparison(compared, out)
        show_examples(disagreeing)
    pass_comparison(compared, fail_on or ())


def _check_release(
    runs: Sequence[Path], by: str | None, against: str | None, fail_on: Sequence[str] | None
) -> None:
    """Refuse a gate if it is not said what was released: that choice is not the tool's."""
    if not fail_on:
        return
    if by == "attack" or (by is None and len(runs) == 1):
        raise SpecError(
            f"--fail-on {fail_on[0]} compares a release with the last one, and no attack is one: name two "
            "runs, the released one first, or --by mechanism with --against."
        )
    if against is None and (by == "mechanism" or len(runs) != 2):
        raise SpecError(f"--fail-on {fail_on[0]} needs to know what was released: name it with --against.")


def _check_examples(runs: Sequence[Path], by: str | None, given: Mapping[str, Any]) -> None:
    """Refuse a choice of examples if none are asked for, and examples of anything but attacks of one run."""
    if not given["--examples"]:
        extra = [name if name.startswith("--") else f"--{name}" for name, value in given.items() if value]
        if extra:
            raise SpecError(f"{join_names(extra)}: say how many trials to show with --examples, such as 3.")
    elif len(runs) > 1 or by not in (None, "attack"):
        raise SpecError("--examples shows where two attacks of one run differ: name one run, by attack.")
