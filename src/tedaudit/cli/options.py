"""Options that several commands share, and how all of them print JSON."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tedaudit.errors import SpecError, join_names

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Corpus = Annotated[str | None, typer.Option("--corpus", "-c", help="A name, or a file of texts.")]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option(
        "--mechanism",
        "-m",
        help="A name, or py:package.module:name, which runs that code. Repeat for several.",
    ),
]
Epsilons = Annotated[
    list[str] | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Repeat for several.")
]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="LABEL.KEY=VALUE: a plug-in's field.")]

_UNSAFE = re.compile(r"[\x7f-\x9f\u2028-\u202e\ud800-\udfff]")  # what JSON may hold and a terminal obeys


def print_json(data: Any) -> None:
    """Print data as JSON that a person can read too."""
    typer.echo(_UNSAFE.sub(_escape, json.dumps(data, indent=2, ensure_ascii=False)))


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"


def refuse_settings(run: Path, given: Mapping[str, Any]) -> None:
    """Refuse flags, by their names, for what a run has itself."""
    extra = [f"--{name}" for name, value in given.items() if value]
    if extra:
        raise SpecError(f"'{run}' has settings of its own: leave out {join_names(extra)}.")
