"""The command line: one sub-command per verb; each parses, calls and prints."""

import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from tedaudit.cli.audit import init, run
from tedaudit.cli.calibrate import calibrate, frontier
from tedaudit.cli.corpus import corpus
from tedaudit.cli.export import export, schema
from tedaudit.cli.judge import judge
from tedaudit.cli.leaks import leaks, lint, selftest
from tedaudit.cli.link import link
from tedaudit.cli.listing import describe_versions, list_plugins
from tedaudit.cli.plan import plan
from tedaudit.cli.records import loss, records
from tedaudit.cli.reproduce import reproduce
from tedaudit.cli.results import card, compare, disagree, estimate, replay, report
from tedaudit.cli.texts import rewrite, triples
from tedaudit.cli.utility import utility
from tedaudit.errors import TedauditError
from tedaudit.paths import explain_os_error

FAULT = 70  # EX_SOFTWARE of sysexits.h

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich",
    help="Measure, by attack, how private a text rewriter really is.",
)  # fmt: skip

_COMMANDS: dict[str, Callable[..., None]] = {
    "init": init, "plan": plan, "run": run, "report": report, "compare": compare, "card": card,
    "replay": replay, "disagree": disagree, "records": records, "loss": loss, "leaks": leaks, "lint": lint,
    "link": link, "export": export, "schema": schema,
    "selftest": selftest, "estimate": estimate, "calibrate": calibrate, "utility": utility,
    "frontier": frontier, "reproduce": reproduce, "ls": list_plugins, "rewrite": rewrite, "judge": judge,
}  # fmt: skip
for _name, _command in _COMMANDS.items():
    app.command(_name)(_command)
app.add_typer(corpus, name="corpus")
app.add_typer(triples, name="triples")


@app.callback(invoke_without_command=True)
def _root(version: Annotated[bool, typer.Option("--version", help="Print versions.")] = False) -> None:
    if version:
        typer.echo(describe_versions())
        raise typer.Exit


def main() -> None:
    """Run the command line.

    Exit codes: 0 fine, 1 a gate failed (--fail-on, --fail-above), 2 wrong input, 70 a fault of this
    program, 130 stopped from the keyboard, 141 nobody reads the output of `rewrite` any more.
    """
    try:
        app()
    except TedauditError as error:
        if os.environ.get("TEDAUDIT_DEBUG"):
            raise
        sys.stderr.write(f"error: {error}\n")
        sys.exit(2)
    except OSError as error:  # a disk that is full, a folder that is closed
        if os.environ.get("TEDAUDIT_DEBUG"):
            raise
        sys.stderr.write(f"error: {explain_os_error(error)}\n")
        sys.exit(2)
    except (KeyboardInterrupt, SystemExit) as stop:  # typer turns the first into the second
        if isinstance(stop, SystemExit) and stop.code != 130:
            raise
        sys.stderr.write("\nStopped. Finished work is kept: run the same command again to continue.\n")
        sys.exit(130)
    except Exception:  # ours, or a plug-in's: never the code of a gate
        traceback.print_exc()
        sys.stderr.write(
            "\nThis is a fault of tedaudit or of a plug-in, not of your input. Finished work is kept.\n"
        )
        sys.exit(FAULT)
