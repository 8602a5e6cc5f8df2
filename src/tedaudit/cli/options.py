"""Options that several commands share, what a shell offers for them, and how JSON and folders are printed."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tedaudit.errors import SpecError, join_names

if TYPE_CHECKING:
    from tedaudit.plugins.registry import Kind


# --- What a shell offers when the name of a plug-in is half typed; no plug-in is imported for it.

# A shell falls back to names of files if nothing is offered, which is right for files of texts.


def complete_mechanism(incomplete: str) -> list[str]:
    """Return the mechanisms whose names begin like this."""
    return _complete("mechanism", incomplete)


def complete_attack(incomplete: str) -> list[str]:
    """Return the attacks whose names begin like this."""
    return _complete("attack", incomplete)


def complete_corpus(incomplete: str) -> list[str]:
    """Return the corpora whose names begin like this."""
    return _complete("corpus", incomplete)


def _complete(kind: "Kind", incomplete: str) -> list[str]:
    from tedaudit.plugins.registry import names

    return [name for name in names(kind) if name.startswith(incomplete)]


# --- Options by what they are about: each panel of a help page is one of these.

AUDITED = "What is audited"
ADVERSARY = "Adversary"
STATISTICS = "Statistics"
WORK = "Work"
OUTPUT = "Output"


def option(panel: str, *names: str, help: str, **more: Any) -> Any:  # noqa: A002 - as typer has it
    """Return an option that stands in a panel of the help page."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **more)


Json = Annotated[bool, option(OUTPUT, "--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, option(OUTPUT, "--quiet", "-q", help="No progress.")]
Redact = Annotated[
    bool,
    option(OUTPUT, "--redact", help="Leave every text out; noted in a run, until `report RUN --full`."),
]
Force = Annotated[
    bool,
    option(OUTPUT, "--force", help="Replace a file that tedaudit did not write, or not from this run."),
]
TableKind = Literal["pivot", "full", "none"]
TableChoice = Annotated[
    TableKind,
    option(OUTPUT, "--table", help="pivot: the strongest attacks; full: every row and column; none: words."),
]
Corpus = Annotated[
    str | None,
    option(
        AUDITED, "--corpus", "-c", metavar="NAME", help="A name, or a file of texts.",
        autocompletion=complete_corpus,
    ),
]  # fmt: skip
Column = Annotated[str, option(AUDITED, "--column", metavar="NAME", help="The column with the texts.")]
Mechanisms = Annotated[
    list[str] | None,
    option(
        AUDITED, "--mechanism", "-m", metavar="NAME", autocompletion=complete_mechanism,
        help="A name, or py:package.module:name, which runs that code. Repeat for several.",
    ),
]  # fmt: skip
Mechanism = Annotated[
    str,
    option(
        AUDITED, "--mechanism", "-m", metavar="NAME", autocompletion=complete_mechanism,
        help="A name, or py:package.module:name, which runs that code.",
    ),
]  # fmt: skip
Epsilons = Annotated[
    list[str] | None, option(AUDITED, "--epsilon", "-e", metavar="NUMBER", help="Repeat for several.")
]
Assignments = Annotated[
    list[str] | None,
    option(
        AUDITED, "--set", metavar="LABEL.KEY=VALUE",
        help="A plug-in's field; KEY=VALUE if there is one mechanism. Repeat.",
    ),
]  # fmt: skip

# The candidates of a trial, and how a run goes.
Attacks = Annotated[
    list[str] | None,
    option(
        ADVERSARY, "--attack", "-a", metavar="NAME",
        help="Repeat for several; else lexical, and text-likelihood if it fits.",
        autocompletion=complete_attack,
    ),
]  # fmt: skip
Candidates = Annotated[
    str | None, option(ADVERSARY, "--k", metavar="NUMBER", help="Candidates per trial, or 'all'; 2.")
]
Lambda = Annotated[
    float | None,
    option(ADVERSARY, "--lambda", help="Candidates: < 0 unlike each other, 0 at random, > 0 alike."),
]
Strategy = Annotated[
    str | None,
    option(ADVERSARY, "--strategy", metavar="NAME", help="transition, nearest or furthest."),
]
Author = Annotated[
    str | None,
    option(
        ADVERSARY, "--author", metavar="COLUMN",
        help="The secret is an author, of whom n rewrites are seen: 1, 2, 4 and so on.",
    ),
]  # fmt: skip
TextsOfAuthor = Annotated[
    int | None,
    option(ADVERSARY, "--texts", help="--author: the largest n; else what half of them have."),
]
Knows = Annotated[
    str | None,
    option(
        ADVERSARY,
        "--knows",
        metavar="WHICH",
        help="--author: these very texts (same, the default), or other.",
    ),
]
Encoder = Annotated[
    str | None,
    option(
        ADVERSARY, "--encoder", metavar="NAME",
        help="Measures how alike candidates are: lexical, or a model.",
    ),
]  # fmt: skip
Seed = Annotated[int | None, option(STATISTICS, "--seed", help="Of candidates and noise; 0.")]
BatchSize = Annotated[int | None, option(WORK, "--batch-size", help="Draws or trials per call of a plug-in.")]
Name = Annotated[str | None, option(OUTPUT, "--name", metavar="NAME", help="Names the run directory.")]
RunFolder = Annotated[
    str | None,
    option(
        OUTPUT, "--out", "-o", metavar="FOLDER",
        help="The run directory; without it and a name, a new one in runs/.",
    ),
]  # fmt: skip

# Who does the model work.
Engine = Annotated[
    str | None,
    option(WORK, "--engine", metavar="NAME", help="Who does the model work: serial, processes or ray."),
]
Workers = Annotated[
    int | None, option(WORK, "--workers", help="processes, ray: how many at a time; as many as fit.")
]
Address = Annotated[
    str | None,
    option(WORK, "--address", metavar="URL", help="ray: of a cluster, or auto; else one is started here."),
]
Resources = Annotated[
    list[str] | None,
    option(WORK, "--resource", metavar="NAME=AMOUNT", help="ray: what a worker takes, such as gpu=0.5."),
]
DryRun = Annotated[
    bool, option(WORK, "--dry-run", help="Only say what it would take and could show; nothing is written.")
]

# What classifiers learn from rewrites.
Tasks = Annotated[
    list[str] | None,
    option(AUDITED, "--task", metavar="NAME", help="A label column to learn. Repeat for several."),
]
Private = Annotated[
    list[str] | None,
    option(AUDITED, "--private", metavar="NAME", help="A label column that should stay private. Repeat."),
]
Classifier = Annotated[
    str | None,
    option(
        ADVERSARY, "--classifier", metavar="NAME", help="tfidf; or an encoder: zoo:mlm, a folder, a hub id."
    ),
]
Limit = Annotated[int | None, option(AUDITED, "--limit", help="At most this many training texts.")]
Repeats = Annotated[
    int | None, option(STATISTICS, "--seeds", help="How often each classifier is trained; 3.")
]
TestSplit = Annotated[str | None, option(AUDITED, "--test-split", metavar="NAME", help="'test' by default.")]
HoldOut = Annotated[
    float | None,
    option(AUDITED, "--hold-out", help="Without a test split: the share of texts to test on; 0.2."),
]
HoldOutKey = Annotated[
    str | None,
    option(
        AUDITED, "--key", metavar="NAME",
        help="Without a test split: the column whose hash holds texts out.",
    ),
]  # fmt: skip

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


def show_folder(folder: Path, remark: str, *, quiet: bool, as_json: bool) -> None:
    """Print the folder of a run as the first line, beside JSON to standard error; then what is to be told."""
    typer.echo(folder, err=as_json)
    if remark and not quiet:
        typer.echo(remark, err=True)
