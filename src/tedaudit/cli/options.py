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


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Redact = Annotated[
    bool, typer.Option("--redact", help="Leave every text out; noted in a run, until `report RUN --full`.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a file that tedaudit did not write, or not from this run.")
]
TableKind = Literal["pivot", "full", "none"]
TableChoice = Annotated[
    TableKind,
    typer.Option("--table", help="pivot: the strongest attacks; full: every row and column; none: words."),
]
Corpus = Annotated[
    str | None,
    typer.Option("--corpus", "-c", help="A name, or a file of texts.", autocompletion=complete_corpus),
]
Mechanisms = Annotated[
    list[str] | None,
    typer.Option(
        "--mechanism",
        "-m",
        help="A name, or py:package.module:name, which runs that code. Repeat for several.",
        autocompletion=complete_mechanism,
    ),
]
Epsilons = Annotated[
    list[str] | None, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Repeat for several.")
]
Assignments = Annotated[list[str] | None, typer.Option("--set", help="LABEL.KEY=VALUE: a plug-in's field.")]

# The candidates of a trial, and how a run goes.
Candidates = Annotated[str | None, typer.Option("--k", help="Candidates per trial, or 'all'.")]
Lambda = Annotated[float | None, typer.Option("--lambda", help="< 0 diverse, > 0 similar.")]
Strategy = Annotated[str | None, typer.Option("--strategy", help="transition, nearest or furthest.")]
Encoder = Annotated[
    str | None, typer.Option("--encoder", help="Measures the distance of candidates: lexical, or a model.")
]
Seed = Annotated[int | None, typer.Option("--seed")]
BatchSize = Annotated[int | None, typer.Option("--batch-size", help="Draws or trials per call of a plug-in.")]
Name = Annotated[str | None, typer.Option("--name", help="Names the run directory.")]
RunFolder = Annotated[
    str | None,
    typer.Option("--out", "-o", help="The run directory; without it and a name, one of its own in runs/."),
]

# Who does the model work.
Engine = Annotated[
    str | None, typer.Option("--engine", help="Who does the model work: serial, processes or ray.")
]
Workers = Annotated[
    int | None, typer.Option("--workers", help="processes, ray: how many work at a time; as many as fit.")
]
Address = Annotated[
    str | None, typer.Option("--address", help="ray: of a cluster, or auto; without it, one is started here.")
]
Resources = Annotated[
    list[str] | None, typer.Option("--resource", help="ray: NAME=AMOUNT that a worker takes, as gpu=0.5.")
]

# What classifiers learn from rewrites.
Tasks = Annotated[
    list[str] | None, typer.Option("--task", help="A label column to learn. Repeat for several.")
]
Private = Annotated[
    list[str] | None, typer.Option("--private", help="A label column that should stay private.")
]
Classifier = Annotated[
    str | None, typer.Option("--classifier", help="tfidf; or an encoder: zoo:mlm, a folder, a hub id.")
]
Limit = Annotated[int | None, typer.Option("--limit", help="At most this many training texts.")]
Repeats = Annotated[int | None, typer.Option("--seeds", help="How often each classifier is trained; 3.")]
TestSplit = Annotated[str | None, typer.Option("--test-split", help="'test' by default.")]
HoldOut = Annotated[
    float | None,
    typer.Option("--hold-out", help="Without a test split: the share of texts to test on; 0.2."),
]
HoldOutKey = Annotated[
    str | None, typer.Option("--key", help="Without a test split: the column whose hash holds texts out.")
]

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
