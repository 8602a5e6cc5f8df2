"""The command that compares utility at equal measured privacy."""

from typing import Annotated

import typer

from tedaudit.cli import options
from tedaudit.cli.calibrate import (
    Alpha,
    Attacks,
    By,
    File,
    Least,
    Most,
    Targets,
    Trials,
    make_spec,
    show_answers,
)
from tedaudit.cli.options import print_json


def frontier(
    spec: File = None,
    mechanism: options.Mechanisms = None,
    corpus: options.Corpus = None,
    target: Targets = None,
    by: By = "eps_emp",
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
    out: Annotated[str | None, typer.Option("--out", "-o", help="Run directory: runs/frontier.")] = None,
    assign: options.Assignments = None,
    quiet: options.Quiet = False,
    as_json: options.Json = False,
) -> None:
    """Calibrate mechanisms to the same measured targets, then say what classifiers learn from their rewrites.

    The same command resumes. Scores lie in OUT-utility, the rest in OUT.
    """
    from tedaudit.cli.console import console, progress_bar, say_redacted, show_defaults, show_section
    from tedaudit.reports.figures import figures_missing
    from tedaudit.spec.zoo_defaults import list_defaults
    from tedaudit.store.directory import RunDirectory
    from tedaudit.studies.frontier.runner import NAME, run_frontier
    from tedaudit.studies.frontier.section import describe_frontier

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
    settings = make_spec(spec, flags, assign, by)
    if not quiet:
        show_defaults(list_defaults(settings))
    with progress_bar(quiet=quiet) as progress:
        helpers = {"progress": progress, "announce": (lambda _: None) if quiet else None}
        found = run_frontier(settings, (by, target or []), scoring, (least, most), helpers)
    say_redacted(RunDirectory(found.calibrated.folder))
    if as_json:
        print_json(found.to_dict())
        return
    show_answers(found.calibrated)
    show_section(describe_frontier(found))
    if found.points and not figures_missing():
        console().print(f"Figure: {found.calibrated.folder}/figures/{NAME}.png", soft_wrap=True)
