"""The command line: one sub-command per verb; each parses, calls and prints."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tedaudit import __version__
from tedaudit.cli.compare import card, compare
from tedaudit.cli.disagree import disagree
from tedaudit.cli.judge import judge
from tedaudit.cli.reproduce import reproduce
from tedaudit.cli.texts import rewrite, triples
from tedaudit.cli.utility import utility
from tedaudit.errors import SpecError, TedauditError

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Measure, by attack, how private a text rewriter really is.",
)  # fmt: skip

app.command()(rewrite)
app.command()(judge)
app.command()(disagree)
app.command()(utility)
app.command()(reproduce)
app.command()(compare)
app.command()(card)
app.add_typer(triples, name="triples")

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Kinds = Literal["mechanisms", "attacks", "corpora", "models", "experiments"]
_KIND = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}


@app.command()
def run(
    spec: Annotated[Path | None, typer.Argument(help="A YAML file; without it, the embedded audit.")] = None,
    mechanism: Annotated[
        list[str] | None, typer.Option("--mechanism", "-m", help="Repeat for several.")
    ] = None,
    epsilon: Annotated[
        list[str] | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Repeat for several.")
    ] = None,
    corpus: Annotated[str | None, typer.Option("--corpus", "-c", help="A name, or a file of texts.")] = None,
    attack: Annotated[list[str] | None, typer.Option("--attack", "-a", help="Repeat for several.")] = None,
    trials: Annotated[int | None, typer.Option("--trials", "-t")] = None,
    k: Annotated[str | None, typer.Option("--k", help="Candidates per trial, or 'all'.")] = None,
    lambda_: Annotated[float | None, typer.Option("--lambda", help="< 0 diverse, > 0 similar.")] = None,
    strategy: Annotated[str | None, typer.Option(help="transition, nearest or furthest.")] = None,
    top: Annotated[int | None, typer.Option(help="nearest, furthest: uniform among this many.")] = None,
    estimator: Annotated[str | None, typer.Option(help="reduced or baseline.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Distance of candidates: lexical, or a model.")] = None,
    alpha: Annotated[float | None, typer.Option(help="Twice the one-sided error of a bound.")] = None,
    delta: Annotated[float | None, typer.Option(help="Instead of the claim's delta.")] = None,
    seed: Annotated[int | None, typer.Option()] = None,
    batch_size: Annotated[int | None, typer.Option(help="Draws or trials per call of a plug-in.")] = None,
    name: Annotated[str | None, typer.Option(help="Names the run directory.")] = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="The run directory: runs/NAME.")] = None,
    assign: Annotated[
        list[str] | None, typer.Option("--set", help="LABEL.KEY=VALUE: a plug-in's field.")
    ] = None,
    fail_on: Annotated[Literal["violated"] | None, typer.Option(help="Exit with 1 on this verdict.")] = None,
    work: Annotated[
        Path | None,
        typer.Option(help="Rewrite elsewhere: work is written to this folder, results are taken from it."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: Json = False,
) -> None:
    """Run an audit, or go on with one: the same command resumes it."""
    from tedaudit.console import progress_bar, show_defaults, show_result
    from tedaudit.installed import defaults_taken
    from tedaudit.overrides import embedded, k_value, merged
    from tedaudit.runner import run as run_audit
    from tedaudit.spec import parse_spec, read_spec

    flags: dict[str, Any] = {
        "mechanism": mechanism, "epsilon": epsilon, "corpus": corpus, "attack": attack, "trials": trials,
        "k": None if k is None else k_value(k), "lambda_": lambda_, "strategy": strategy, "top": top,
        "estimator": estimator, "encoder": encoder, "alpha": alpha, "delta": delta, "seed": seed,
        "batch_size": batch_size, "name": name, "out": out,
    }  # fmt: skip
    base = read_spec(spec) if spec else embedded()
    if spec is None and mechanism:
        base = {"name": "audit"}
    settings = parse_spec(merged(base, flags, assign or []))
    if not quiet:
        show_defaults(defaults_taken(settings))
    executor = None if work is None else _handed_over(settings, work)
    with progress_bar(quiet=quiet) as progress:
        result = run_audit(settings, progress, executor)
    _print_json(result.to_dict()) if as_json else show_result(result)
    if fail_on == "violated" and result.violated:
        raise typer.Exit(1)


@app.command()
def init(
    path: Annotated[Path, typer.Argument(help="Where to write it.")] = Path("audit.yaml"),
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a spec instead.")
    ] = False,
) -> None:
    """Write a spec to start from."""
    from tedaudit.example import EXAMPLE
    from tedaudit.spec import AuditSpec

    if schema:
        _print_json(AuditSpec.model_json_schema(by_alias=True))
        return
    if path.exists():
        raise SpecError(f"'{path}' exists already; name another file, or remove it first.")
    try:
        path.write_text(EXAMPLE, encoding="utf-8")
    except OSError as error:
        raise SpecError(f"'{path}' cannot be written ({error.strerror}); name a file elsewhere.") from error
    typer.echo(f"Wrote {path}. Edit it, then: tedaudit run {path}")


def _handed_over(settings: Any, folder: Path) -> Any:
    """Return what takes results from a folder; where some are missing, say how to get them, and end."""
    from tedaudit.handover import FolderExecutor, write_work
    from tedaudit.worker import SerialExecutor

    blocks, left = write_work(settings, folder)
    if left:
        typer.echo(
            f"{left} of {blocks} blocks of rewriting have no result yet. On a machine that has tedaudit and "
            f"the models, run: python -m tedaudit.worker {folder}\nThen run this same command again."
        )
        raise typer.Exit
    return FolderExecutor(folder, SerialExecutor(settings.batch_size))


@app.command("ls")
def list_plugins(kind: Annotated[Kinds, typer.Argument()], as_json: Json = False) -> None:
    """List what can be named: mechanisms, attacks, corpora, installed models, experiments of the paper."""
    from dataclasses import asdict

    from tedaudit.console import show_cards, show_models
    from tedaudit.installed import installed_models
    from tedaudit.registry import find, names, parameters

    if kind == "models":
        models = installed_models()
        _print_json([asdict(model) for model in models]) if as_json else show_models(models)
        return
    if kind == "experiments":
        _list_experiments(as_json=as_json)
        return
    wanted: Any = _KIND[kind]
    plugins = [find(wanted, name) for name in names(wanted)]
    if as_json:
        _print_json([{**asdict(p.card), "parameters": list(parameters(p))} for p in plugins])
    else:
        show_cards([(p.card, [*parameters(p), *_variant_choice(p)]) for p in plugins])


def _list_experiments(*, as_json: bool) -> None:
    from tedaudit.console import show_experiments
    from tedaudit.experiments.definition import load, names

    found = [[load(name, scale) for scale in ("full", "zoo", "smoke")] for name in names()]
    if as_json:
        _print_json(
            [
                {**scales[0].model_dump(mode="json"), "rewrites": {one.scale: one.rewrites for one in scales}}
                for scales in found
            ]
        )
    else:
        show_experiments(found)


def _variant_choice(plugin: type) -> list[str]:
    """Return how a plug-in's variants stand among what it takes."""
    from tedaudit.registry import variants

    return [f"variant ({', '.join(variants(plugin))})"] if variants(plugin) else []


@app.command()
def estimate(
    run_directory: Annotated[Path | None, typer.Argument(help="Re-estimate a run; loads no model.")] = None,
    correct: Annotated[int | None, typer.Option(help="Trials in which the attack was right.")] = None,
    trials: Annotated[int | None, typer.Option(help="All trials.")] = None,
    candidates: Annotated[int | None, typer.Option(help="Candidates per trial; 2 by default.")] = None,
    true_positives: Annotated[int | None, typer.Option(help="Baseline: named v1 on M(v1).")] = None,
    false_positives: Annotated[int | None, typer.Option(help="Baseline: named v1 on M(v2).")] = None,
    alpha: Annotated[float | None, typer.Option(help="0.01 by default.")] = None,
    delta: Annotated[float | None, typer.Option(help="0 by default; a run's: of its claims.")] = None,
    as_json: Json = False,
) -> None:
    """Turn counts into a bound, or estimate a run again from its tables."""
    from tedaudit.console import show_bound, show_result
    from tedaudit.estimators import baseline, reduced_form

    reduced = {"--correct": correct, "--candidates": None if candidates == 2 else candidates}
    positives = {"--true-positives": true_positives, "--false-positives": false_positives}
    _refuse_mixed(run_directory, {"--trials": trials}, reduced, positives)
    if run_directory is not None:
        from tedaudit.results import read_result
        from tedaudit.store import RunDirectory

        result = read_result(RunDirectory(run_directory), alpha, delta)
        _print_json(result.to_dict()) if as_json else show_result(result)
        return
    level, slack = 0.01 if alpha is None else alpha, delta or 0.0
    if trials is not None and true_positives is not None and false_positives is not None:
        bound = baseline(true_positives, false_positives, trials, level, slack)
    elif trials is not None and correct is not None:
        bound = reduced_form(correct, trials, 2 if candidates is None else candidates, level, slack)
    else:
        raise SpecError(
            "`estimate` needs a run directory; or --correct and --trials; or --true-positives, "
            "--false-positives and --trials."
        )
    _print_json(bound.to_dict()) if as_json else show_bound(bound)


def _refuse_mixed(run_directory: Path | None, *groups: dict[str, int | None]) -> None:
    """Say so where counts come with a run directory, or those of one estimator with those of the other."""
    trials, *estimators = [[flag for flag, value in group.items() if value is not None] for group in groups]
    if run_directory is not None and (trials or any(estimators)):
        flags = ", ".join([*trials, *estimators[0], *estimators[1]])
        raise SpecError(f"'{run_directory}' has counts of its own: leave out {flags}, or the run directory.")
    if all(estimators):
        first, second = (", ".join(flags) for flags in estimators)
        raise SpecError(
            f"{first} and {second} cannot stand together: the reduced form takes --correct, --trials and "
            "--candidates; the baseline --true-positives, --false-positives and --trials."
        )


@app.command()
def replay(
    run_directory: Annotated[Path, typer.Argument()],
    trial: Annotated[int, typer.Argument(help="The trial's number, from 0.")],
    plan: Annotated[str | None, typer.Option()] = None,
    mechanism: Annotated[str | None, typer.Option("--mechanism", "-m")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e")] = None,
    attack: Annotated[str | None, typer.Option("--attack", "-a")] = None,
    as_json: Json = False,
) -> None:
    """Do one trial of a run again and show its texts, scores and guess."""
    from tedaudit.console import show_replay
    from tedaudit.replay import replay as replay_trial
    from tedaudit.store import RunDirectory

    only = {"plan": plan, "mechanism": mechanism, "epsilon": epsilon, "attack": attack}
    found = replay_trial(RunDirectory(run_directory), trial, {k: v for k, v in only.items() if v is not None})
    _print_json([one.to_dict() for one in found]) if as_json else show_replay(found)


@app.command()
def report(
    run_directory: Annotated[Path, typer.Argument()],
    redact: Annotated[bool, typer.Option("--redact", help="Leave every text out.")] = False,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw figures for a paper: PDF and PNG.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Write report.html, report.md and summary.json of a run again, and its figures, from its tables."""
    from tedaudit.console import show_figures, show_result
    from tedaudit.reports.figures import write_figures
    from tedaudit.reports.files import write_reports
    from tedaudit.results import read_result
    from tedaudit.store import RunDirectory

    result = write_reports(read_result(RunDirectory(run_directory)), redact=redact)
    drawn = write_figures(result) if figures else []
    if as_json:
        _print_json(result.to_dict())
        return
    show_result(result)
    if figures:
        show_figures(drawn)


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def _print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def main() -> None:
    """Run the command line: 0 fine, 1 a violation was found (where asked for), 2 wrong use."""
    try:
        app()
    except TedauditError as error:
        if os.environ.get("TEDAUDIT_DEBUG"):
            raise
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as stop:  # typer turns the one into the other
        if isinstance(stop, SystemExit) and stop.code != 130:
            raise
        sys.stderr.write("\nStopped. What is finished is kept: the same command goes on from there.\n")
        sys.exit(130)
