"""The command that compares utility at equal measured privacy."""

from typing import Annotated

import typer

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
from tedaudit.cli.options import (
    Address,
    Assignments,
    BatchSize,
    Classifier,
    Corpus,
    Encoder,
    Engine,
    Json,
    Lambda,
    Limit,
    Mechanisms,
    Name,
    Private,
    Quiet,
    Repeats,
    Resources,
    Seed,
    Tasks,
    TestSplit,
    Workers,
    print_json,
)


def frontier(
    spec: File = None,
    mechanism: Mechanisms = None,
    corpus: Corpus = None,
    target: Targets = None,
    by: By = "eps_emp",
    attack: Attacks = None,
    trials: Trials = None,
    least: Least = 0.01,
    most: Most = 10_000.0,
    task: Tasks = None,
    private: Private = None,
    classifier: Classifier = None,
    limit: Limit = None,
    seeds: Repeats = None,
    test_split: TestSplit = None,
    lambda_: Lambda = None,
    encoder: Encoder = None,
    alpha: Alpha = None,
    seed: Seed = None,
    batch_size: BatchSize = None,
    engine: Engine = None,
    workers: Workers = None,
    address: Address = None,
    resource: Resources = None,
    name: Name = None,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Run directory: runs/frontier.")] = None,
    assign: Assignments = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Calibrate mechanisms to the same measured targets, then say what classifiers learn from their rewrites.

    The same command resumes. Scores lie in OUT-utility, the rest in OUT.
    """
    from tedaudit.cli.console import console, progress_bar, show_defaults, show_section
    from tedaudit.spec.zoo_defaults import list_defaults
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
        "seeds": seeds, "test_split": test_split,
    }  # fmt: skip
    settings = make_spec(spec, flags, assign, by)
    if not quiet:
        show_defaults(list_defaults(settings))
    with progress_bar(quiet=quiet) as progress:
        helpers = {"progress": progress, "announce": (lambda _: None) if quiet else None}
        found = run_frontier(settings, (by, target or []), scoring, (least, most), helpers)
    if as_json:
        print_json(found.to_dict())
        return
    show_answers(found.calibrated)
    show_section(describe_frontier(found))
    if found.points:
        console().print(f"Figure: {found.calibrated.folder}/figures/{NAME}.png", soft_wrap=True)
