"""The commands for equal measured privacy: `calibrate` finds the epsilon, `frontier` the utility there."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli import options
from tedaudit.cli.options import ADVERSARY, OUTPUT, STATISTICS, complete_attack, option, print_json
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.runs.spec.model import AuditSpec
    from tedaudit.studies.calibrate.result import Calibrated


Targets = Annotated[
    list[float] | None,
    option(
        STATISTICS,
        "--target",
        metavar="NUMBER",
        help="A success rate below 1; from 1 on the epsilon that it stands for. Repeat for several.",
    ),
]
By = Annotated[
    str,
    option(
        STATISTICS,
        "--by",
        metavar="NAME",
        help="What is measured: success, of the strongest attack, or loss@DELTA (loss@0.01).",
    ),
]
Attacks = Annotated[
    list[str] | None,
    option(
        ADVERSARY, "--attack", "-a", metavar="NAME", autocompletion=complete_attack,
        help="Repeat for several; else lexical, resample, trained and text-likelihood as they fit.",
    ),
]  # fmt: skip
Trials = Annotated[int | None, option(STATISTICS, "--trials", "-t", help="Fresh ones at each end; 2,000.")]
Least = Annotated[float, option(STATISTICS, "--from", help="The least epsilon to look at.")]
Most = Annotated[float, option(STATISTICS, "--to", help="The largest epsilon to look at.")]
Alpha = Annotated[float | None, option(STATISTICS, "--alpha", help="The error of each answer; 0.01.")]
File = Annotated[
    Path | None, typer.Argument(metavar="SPEC", help="A YAML file, as for `run`, without epsilons.")
]


def calibrate(
    spec: File = None,
    mechanism: options.Mechanisms = None,
    corpus: options.Corpus = None,
    target: Targets = None,
    by: By = "success",
    attack: Attacks = None,
    trials: Trials = None,
    least: Least = 0.01,
    most: Most = 10_000.0,
    k: options.Candidates = None,
    lambda_: options.Lambda = None,
    strategy: options.Strategy = None,
    encoder: options.Encoder = None,
    alpha: Alpha = None,
    seed: options.Seed = None,
    batch_size: options.BatchSize = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    name: options.Name = None,
    out: Annotated[
        str | None, option(OUTPUT, "--out", "-o", metavar="FOLDER", help="runs/calibrate by default.")
    ] = None,
    assign: options.Assignments = None,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Find which nominal epsilon gives a measured privacy on these texts; the same command resumes.

    The answer is an interval of epsilons for each mechanism, confirmed on fresh trials. It holds for these
    attacks on these texts, and tests no claim.
    """
    flags = {
        "mechanism": mechanism, "corpus": corpus, "attack": attack, "trials": trials, "k": k,
        "lambda_": lambda_, "strategy": strategy, "encoder": encoder, "alpha": alpha, "seed": seed,
        "batch_size": batch_size, "name": name, "out": out,
        "engine": engine, "workers": workers, "address": address, "resource": resource,
    }  # fmt: skip
    settings, asked = make_spec(spec, flags, assign, by), (by, target or [])
    if _foresee(settings, asked, (least, most), quiet=quiet, dry_run=dry_run):
        return
    found = run_calibration(settings, asked, (least, most), quiet=quiet)
    _say_state(found.folder)
    if as_json:
        print_json(found.to_dict())
    else:
        show_answers(found)


def make_spec(file: Path | None, flags: dict[str, Any], assign: Sequence[str] | None, by: str) -> "AuditSpec":
    """Return the audit behind a calibration: no epsilons, and the attacks that fit if none is named."""
    from tedaudit.api import DEFAULT_ATTACKS
    from tedaudit.runs.preparation import choose_attacks
    from tedaudit.runs.spec.flags import merge_flags, parse_k
    from tedaudit.runs.spec.model import parse_spec, read_spec
    from tedaudit.studies.calibrate.calibrator import NAME, TRIALS

    base = read_spec(file) if file is not None else {}
    if file is None and not flags["mechanism"]:
        raise SpecError("Name what to calibrate: a mechanism with -m, or a YAML file.")
    if flags["k"] is not None:
        flags = {**flags, "k": parse_k(flags["k"])}
    merged = merge_flags({"name": NAME, "trials": TRIALS, **base}, flags, [])
    if by.startswith("loss") and "attacks" not in merged:
        merged["attacks"] = ["likelihood"]
    if "attacks" not in merged:
        filled = choose_attacks(parse_spec(merged), DEFAULT_ATTACKS)
        merged["attacks"] = [{"name": attack.name} for attack in filled.attacks]
    return parse_spec(merge_flags(merged, {}, assign or []))


def run_calibration(
    settings: "AuditSpec",
    asked: tuple[str, Sequence[float]],
    searched: tuple[float, float],
    *,
    quiet: bool,
) -> "Calibrated":
    """Calibrate with a bar, and say which models are used because no other is named."""
    from tedaudit.cli.console import progress_bar, show_defaults
    from tedaudit.runs.spec.zoo_defaults import list_defaults
    from tedaudit.studies.calibrate.calibrator import run_calibration as calibrate_spec

    if not quiet:
        show_defaults(list_defaults(settings))
    with progress_bar(quiet=quiet) as progress:
        helpers = {"progress": progress, "announce": (lambda _: None) if quiet else None}
        return calibrate_spec(settings, asked, searched, helpers)


def _say_state(folder: Path) -> None:
    """Say on standard error what the run of a calibration lacks, and whether it is redacted."""
    from tedaudit.cli.console import say_redacted, say_unfinished
    from tedaudit.runs.directory import RunDirectory
    from tedaudit.runs.missing import find_missing

    run = RunDirectory(folder)
    if run.exists():  # not if no target is in reach, so that nothing was searched
        say_unfinished(run, find_missing(run))
        say_redacted(run)


def _foresee(
    settings: "AuditSpec",
    asked: tuple[str, Sequence[float]],
    searched: tuple[float, float],
    *,
    quiet: bool,
    dry_run: bool,
) -> bool:
    """Say what a calibration takes before it is begun; return whether that is all that was asked for."""
    from tedaudit.cli.console import show_section
    from tedaudit.runs.directory import RunDirectory
    from tedaudit.studies.calibrate.forecast import foresee_calibration

    if dry_run or not (quiet or RunDirectory(settings.folder).exists()):
        show_section(foresee_calibration(settings, asked, searched), error=not dry_run)
    return dry_run


def show_answers(found: "Calibrated") -> None:
    """Print the answers, what they say, and where everything is."""
    from tedaudit.cli.console import console, show_section
    from tedaudit.reports.writers.figures import figures_missing
    from tedaudit.studies.calibrate.telling import tell

    answers, _ = tell(found)
    show_section(answers)
    if any(answer.points for answer in found):
        missing = figures_missing()
        files = "report.md" if missing else "report.md, figures/calibrate.png"
        console().print(f"Everything is in {found.folder} ({files}).", soft_wrap=True)
        if missing:
            console().print(missing, soft_wrap=True)


# --- The command that compares utility at equal measured privacy.


def frontier(
    spec: File = None,
    mechanism: options.Mechanisms = None,
    corpus: options.Corpus = None,
    target: Targets = None,
    by: By = "success",
    attack: Attacks = None,
    trials: Trials = None,
    least: Least = 0.01,
    most: Most = 10_000.0,
    task: options.Tasks = None,
    private: options.Private = None,
    classifier: options.Classifier = None,
    limit: options.Limit = None,
    seeds: options.Repeats = None,
    test_split: options.TestSplit = None,
    hold_out: options.HoldOut = None,
    key: options.HoldOutKey = None,
    lambda_: options.Lambda = None,
    encoder: options.Encoder = None,
    alpha: Alpha = None,
    seed: options.Seed = None,
    batch_size: options.BatchSize = None,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    name: options.Name = None,
    out: Annotated[
        str | None, option(OUTPUT, "--out", "-o", metavar="FOLDER", help="runs/frontier by default.")
    ] = None,
    assign: options.Assignments = None,
    dry_run: options.DryRun = False,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Calibrate mechanisms to the same measured targets, then say what classifiers learn from their rewrites.

    The same command resumes. Scores lie in OUT-utility, the rest in OUT.
    """
    from tedaudit.cli.console import console, progress_bar, show_defaults, show_section
    from tedaudit.reports.writers.figures import figures_missing
    from tedaudit.runs.spec.zoo_defaults import list_defaults
    from tedaudit.studies.frontier.runner import NAME, check_labels, run_frontier
    from tedaudit.studies.frontier.telling import tell

    flags = {
        "mechanism": mechanism, "corpus": corpus, "attack": attack, "trials": trials, "k": None,
        "lambda_": lambda_, "encoder": encoder, "alpha": alpha, "seed": seed, "batch_size": batch_size,
        "name": name or (None if spec else NAME), "out": out,
        "engine": engine, "workers": workers, "address": address, "resource": resource,
    }  # fmt: skip
    scoring = {
        "tasks": task or [], "private": private or [], "classifier": classifier, "limit": limit,
        "seeds": seeds, "test_split": test_split, "hold_out": hold_out, "key": key,
    }  # fmt: skip
    settings, asked = make_spec(spec, flags, assign, by), (by, target or [])
    if not dry_run:
        check_labels(settings, scoring)
    if _foresee(settings, asked, (least, most), quiet=quiet, dry_run=dry_run):
        typer.echo("Training classifiers on the rewrites comes after that.")
        return
    if not quiet:
        show_defaults(list_defaults(settings))
    with progress_bar(quiet=quiet) as progress:
        helpers = {"progress": progress, "announce": (lambda _: None) if quiet else None}
        found = run_frontier(settings, asked, scoring, (least, most), helpers)
    _say_state(found.calibrated.folder)
    if as_json:
        print_json(found.to_dict())
        return
    show_answers(found.calibrated)
    [section] = tell(found)
    show_section(section)
    if found.points and not figures_missing():
        console().print(f"Figure: {found.calibrated.folder}/figures/{NAME}.png", soft_wrap=True)
