"""The command that reproduces a figure or table of the paper."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from tedaudit.cli import options
from tedaudit.cli.options import option


def reproduce(
    experiment: Annotated[str, typer.Argument(help="Its id: see `tedaudit ls experiments`.")],
    scale: Annotated[
        Literal["full", "real", "zoo", "smoke"],
        option(
            options.AUDITED,
            "--scale",
            help="full: the paper's models; real: those of `models get`; zoo: small ones; smoke: a minute.",
        ),
    ] = "zoo",
    corpus: Annotated[
        list[str] | None,
        option(
            options.AUDITED, "--corpus", "-c", metavar="NAME", help="Use this instead of its own. Repeat."
        ),
    ] = None,
    trials: Annotated[
        int | None, option(options.STATISTICS, "--trials", "-t", min=1, help="Instead of its own.")
    ] = None,
    assign: options.Assignments = None,
    out: Annotated[
        Path | None,
        option(options.OUTPUT, "--out", "-o", metavar="FOLDER", help="runs/reproduce/SCALE by default."),
    ] = None,
    dry_run: options.DryRun = False,
    redact: Annotated[
        bool, option(options.OUTPUT, "--redact", help="Leave texts of the corpora out.")
    ] = False,
    force: options.Force = False,
    engine: options.Engine = None,
    workers: options.Workers = None,
    address: options.Address = None,
    resource: options.Resources = None,
    quiet: options.Quiet = False,
) -> None:
    """Reproduce a figure or table of the paper, on corpora and models of your choice."""
    from tedaudit.cli.console import progress_bar, show_outcome, show_section
    from tedaudit.paper.cost import tabulate_plan
    from tedaudit.paper.definition import Workspace, load
    from tedaudit.paper.reproduction import reproduce as reproduced
    from tedaudit.runs.spec.flags import merge_engine, parse_corpus

    flags = {"engine": engine, "workers": workers, "address": address, "resource": resource}
    chosen = merge_engine(None, flags) or None
    changes = {"corpora": [parse_corpus(name) for name in corpus or []], "trials": trials}
    definition = load(experiment, scale, changes, assign or [])
    if dry_run:
        show_section(tabulate_plan(definition))
        return
    with progress_bar(quiet=quiet) as progress:
        workspace = Workspace(out or Path("runs") / "reproduce" / scale, progress, chosen)
        outcome, files = reproduced(definition, workspace, redact=redact, force=force)
    show_outcome(replace(outcome, notes=(*definition.remarks, *outcome.notes)), files)
