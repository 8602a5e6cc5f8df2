"""Options that several commands share, and how all of them print JSON."""

import json
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Corpus = Annotated[str | None, typer.Option("--corpus", "-c", help="A name, or a file of texts.")]
Mechanisms = Annotated[list[str] | None, typer.Option("--mechanism", "-m", help="Repeat for several.")]
Epsilons = Annotated[
    list[str] | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Repeat for several.")
]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="LABEL.KEY=VALUE: a plug-in's field.")]


def print_json(data: Any) -> None:
    """Print data as JSON that a person can read too."""
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
