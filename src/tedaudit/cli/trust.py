"""Asks before code runs that a run of somebody else names."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tedaudit.cli.options import WORK, option
from tedaudit.errors import SpecError, escape_control, join_names

Yes = Annotated[
    bool,
    option(
        WORK,
        "--yes",
        "-y",
        help="Run the code that the run names (py:..., functions, programs) without asking.",
    ),
]


def confirm_code(names: Sequence[str], run: Path, *, yes: bool) -> None:
    """Go on only if the run names no code, or somebody agrees to run it."""
    if not names or yes:
        return
    listed = join_names(names)
    if not sys.stdin.isatty():
        raise SpecError(
            f"'{run}' names code that would run here: {listed}. If you trust whoever made the run, say so "
            "with --yes."
        )
    typer.echo(
        f"'{escape_control(str(run))}' names code that will run here: {escape_control(listed)}.", err=True
    )
    if not typer.confirm("Do you trust whoever made the run?", default=False, err=True):
        raise SpecError("Nothing was run: its code was not trusted.")
