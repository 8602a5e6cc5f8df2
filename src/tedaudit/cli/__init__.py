"""The command line: one sub-command per verb; each parses, calls and prints."""

import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from tedaudit.cli.audit import init, run
from tedaudit.cli.calibrate import calibrate, frontier
from tedaudit.cli.corpus import corpus
from tedaudit.cli.export import export
from tedaudit.cli.help_pages import Command, Group, end_page
from tedaudit.cli.judge import judge
from tedaudit.cli.leaks import leaks, lint
from tedaudit.cli.link import link
from tedaudit.cli.listing import describe_versions, list_plugins
from tedaudit.cli.models import models
from tedaudit.cli.records import loss, records
from tedaudit.cli.reproduce import reproduce
from tedaudit.cli.results import compare, estimate, replay, report
from tedaudit.cli.texts import rewrite
from tedaudit.cli.utility import utility
from tedaudit.errors import SpecError, TedauditError
from tedaudit.paths import explain_os_error

FAULT = 70  # EX_SOFTWARE of sysexits.h

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode="rich", cls=Group,
    help="Measure, by attack, how private a text rewriter really is.",
)  # fmt: skip
# Commands by the question that they answer, each with two examples of its help page.
_GROUPS: dict[str, dict[str, tuple[Callable[..., None], str, str]]] = {
    "Audit": {
        "run": (run, "tedaudit run -m word-rr -e 1 -e 8 --trials 500", "tedaudit run audit.yaml --dry-run"),
        "link": (link, "tedaudit link pairs.csv --id id", "tedaudit link pairs.csv --fail-above 1"),
        "leaks": (leaks, "tedaudit leaks -m word-rr -e 1", "tedaudit leaks runs/demo --fail-on finding"),
        "lint": (lint, "tedaudit lint -m dp-mlm", "tedaudit lint -m dp-mlm --set variant=published"),
        "loss": (loss, "tedaudit loss runs/demo", "tedaudit loss -m word-rr -e 1 --trials 500"),
    },
    "Read a run": {
        "report": (report, "tedaudit report runs/demo --table full", "tedaudit report runs/demo --redact"),
        "compare": (compare, "tedaudit compare runs/old runs/new", "tedaudit compare runs/demo --examples 3"),
        "replay": (replay, "tedaudit replay runs/demo 3", "tedaudit replay runs/demo 3 -m word-rr -e 8"),
        "records": (records, "tedaudit records runs/demo --csv r.csv", "tedaudit records runs/demo --loss"),
        "export": (
            export, "tedaudit export runs/demo --format latex", "tedaudit export runs/demo --format card",
        ),
        "estimate": (
            estimate, "tedaudit estimate --correct 10000 --trials 10000", "tedaudit estimate runs/demo",
        ),
    },
    "Choose an epsilon": {
        "calibrate": (
            calibrate, "tedaudit calibrate -m word-rr --target 2 --trials 500",
            "tedaudit calibrate -m word-rr --target 2 --dry-run",
        ),
        "utility": (
            utility, "tedaudit utility -c demo --task topic -m word-rr -e 8 --limit 500",
            "tedaudit utility --run runs/demo -c demo --task topic --limit 500",
        ),
        "frontier": (
            frontier, "tedaudit frontier -m word-rr -c demo --target 2 --task topic --limit 500",
            "tedaudit frontier -m word-rr -c demo --target 2 --task topic --dry-run",
        ),
    },
    "Texts": {
        "rewrite": (
            rewrite, "tedaudit rewrite texts.txt -m word-rr -e 8 -o rewritten.txt",
            "tedaudit rewrite reviews.csv -m word-rr -e 8 --pairs -o pairs.csv",
        ),
    },
    "Setting up": {
        "init": (init, "tedaudit init audit.yaml", "tedaudit init --schema"),
        "ls": (list_plugins, "tedaudit ls mechanisms", "tedaudit ls attacks lexical"),
        "judge": (judge, "tedaudit judge", "tedaudit judge --model model.gguf --port 0"),
        "reproduce": (
            reproduce, "tedaudit reproduce fig-embedding --dry-run",
            "tedaudit reproduce fig-embedding --scale smoke",
        ),
    },
}  # fmt: skip


for _panel, _commands in _GROUPS.items():
    for _name, (_command, *_examples) in _commands.items():
        app.command(_name, cls=Command, rich_help_panel=_panel, epilog=end_page(*_examples))(_command)
app.add_typer(corpus, name="corpus", cls=Group, rich_help_panel="Texts")
app.add_typer(models, name="models", cls=Group, rich_help_panel="Setting up")


# --- Commands of earlier versions: each says how it is spelled now, or what there is in its place.


def _plan(given: Sequence[str]) -> list[str]:
    return ["run", *given, "--dry-run"]


def _schema(given: Sequence[str]) -> list[str]:
    return ["export", "--schema", *(given or ["summary"])]


def _card(given: Sequence[str]) -> list[str]:
    return ["export", *given, "--format", "card"]


def _disagree(given: Sequence[str]) -> list[str]:
    run_directory, first, second, *rest = [*given, "RUN", "ATTACK", "ATTACK"][: max(3, len(given))]
    examples = [] if "--examples" in rest else ["--examples", "3"]
    return ["compare", run_directory, "-a", first, "-a", second, *examples, *rest]


def _triples(given: Sequence[str]) -> list[str]:
    return ["corpus", "triples", *given[1:]]


_GONE: dict[str, Callable[[Sequence[str]], list[str]] | str] = {
    "plan": _plan, "schema": _schema, "card": _card, "disagree": _disagree, "triples": _triples,
    "selftest": "tedaudit.testing.selftest() in Python",
}  # fmt: skip


def _refuse_gone(context: typer.Context) -> None:
    name = str(context.info_name)
    now = _GONE[name]
    spelled = now if isinstance(now, str) else shlex.join(["tedaudit", *now(context.args)])
    raise SpecError(f"`tedaudit {name}` is gone. Use: {spelled}")


for _name in _GONE:
    app.command(
        _name, hidden=True, add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(_refuse_gone)  # fmt: skip


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
