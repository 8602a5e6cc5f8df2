"""The commands that give results to other programs: `export` writes a run as a file, `schema` its shape."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from tedaudit.cli.gates import FailAbove, FailOn, check_gates, name_gates
from tedaudit.cli.options import Force, print_json
from tedaudit.errors import SpecError

_FORMATS = "csv, latex, parquet, json; junit and markdown for CI"
_NO_LOSSES = (
    "There are no rows: a run has losses if an attack knows the mechanism's likelihoods, as with "
    "`tedaudit run ... --loss`."
)


def export(
    run_directory: Annotated[Path, typer.Argument(help="A run.")],
    format_: Annotated[
        Literal["csv", "latex", "parquet", "json", "junit", "markdown"] | None,
        typer.Option("--format", "-f", help=f"{_FORMATS}. Without it, by the name of --out."),
    ] = None,
    what: Annotated[
        Literal["rows", "trials", "losses"],
        typer.Option(help="rows: one per mechanism, epsilon and attack; trials: every guess; losses."),
    ] = "rows",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The file; standard output by default.")
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="trials: sources, rewrites and guesses too, which are private.")
    ] = False,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Labels of several words become numbers; no path, no note. So if RUN is redacted.",
        ),
    ] = False,
    teda: Annotated[
        bool, typer.Option("--teda", help="latex: the bounds of the TeDA paper too, beside eps_emp.")
    ] = False,
    fail_on: FailOn = None,
    fail_above: FailAbove = None,
    force: Force = False,
) -> None:
    """Write a run as data, as a table for a paper, or for CI; loads no model and holds no text of the corpus.

    junit and markdown tell how --fail-on and --fail-above came out, and end with 1 if one of them failed.
    """
    from tedaudit import api
    from tedaudit.reports.export.frames import frame_losses
    from tedaudit.reports.export.writing import SUFFIXES, Export, make_export
    from tedaudit.results.gates import any_failed, judge_gates
    from tedaudit.store.exported import check_target, write_exported

    check_gates(fail_on, fail_above)
    chosen = format_ or (None if out is None else SUFFIXES.get(out.suffix.lower()))
    if chosen is None:
        ending = f"'{out.name}' does not end in one. " if out is not None else ""
        raise SpecError(f"{ending}Name a --format: {_FORMATS}.")
    if out is not None:
        check_target(out, [run_directory], force=force)
    gates = name_gates(fail_on, fail_above)
    hidden = _is_redacted(run_directory, texts=texts) or redact
    wanted = Export(chosen, what, texts, hidden, teda, gates)
    if out is None and (texts or chosen == "parquet"):
        reason = "texts are private" if texts else "Parquet is no text"
        raise SpecError(f"{reason}: name a file with --out.")
    result = api.judge_run(run_directory) if gates else api.load_run(run_directory)
    content = make_export(result, wanted)
    if what == "losses" and frame_losses(result).is_empty():
        typer.echo(_NO_LOSSES, err=True)
    if out is None:
        sys.stdout.write(content.decode("utf-8"))
    else:
        write_exported(out, content, [run_directory], force=force, private=texts)
        typer.echo(f"Wrote {out}", err=True)
    if any_failed(judge_gates(result, gates)):
        raise typer.Exit(1)


def _is_redacted(run_directory: Path, *, texts: bool) -> bool:
    """Return whether a run is redacted, and say that the file will be; refuse to write its texts then."""
    from tedaudit.store.directory import RunDirectory

    if not RunDirectory(run_directory).files.is_redacted:
        return False
    if texts:
        raise SpecError(
            f"'{run_directory}' is redacted, so that no texts are written from it. `tedaudit report "
            f"{run_directory} --full` takes that back; or leave out --texts."
        )
    typer.echo(f"Redacted, as {run_directory} is: no text, no label of several words, no path.", err=True)
    return True


def schema(
    kind: Annotated[
        Literal["summary", "rows", "trials", "losses"],
        typer.Argument(help="summary: summary.json and --json; the others: `export --format json`."),
    ] = "summary",
) -> None:
    """Print the JSON schema of summary.json, or of an exported file."""
    from tedaudit.reports.export.schemas import read_schema

    print_json(read_schema(kind))
