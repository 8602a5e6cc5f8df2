"""The command that shows where two attacks of a run disagree."""

from pathlib import Path
from typing import Annotated

import typer

from tedaudit.cli.options import Json, print_json


def disagree(
    run_directory: Annotated[Path, typer.Argument()],
    first: Annotated[str, typer.Argument(help="An attack of the run.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    plan: Annotated[str | None, typer.Option()] = None,
    mechanism: Annotated[str | None, typer.Option("--mechanism", "-m")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e")] = None,
    examples: Annotated[int, typer.Option(min=0, help="Trials shown for each of the two.")] = 3,
    redact: Annotated[bool, typer.Option("--redact", help="Counts only, no texts.")] = False,
    as_json: Json = False,
) -> None:
    """Show the trials that one attack got right and another got wrong, with their texts."""
    from tedaudit.cli.console import show_disagreements
    from tedaudit.results.disagreement import disagreements
    from tedaudit.store.directory import RunDirectory

    given = {"plan": plan, "mechanism": mechanism, "epsilon": epsilon}
    only = {key: value for key, value in given.items() if value is not None}
    results = disagreements(RunDirectory(run_directory), (first, second), only, 0 if redact else examples)
    if as_json:
        print_json([result.to_dict() for result in results])
    else:
        show_disagreements(results)
