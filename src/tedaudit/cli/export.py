"""The command that gives results to others: a run as data, a table or cards, and the schemas of its data."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tedaudit.cli.gates import FailAbove, FailOn, check_gates, name_gates
from tedaudit.cli.options import AUDITED, OUTPUT, Force, option, print_json
from tedaudit.errors import SpecError

if TYPE_CHECKING:
    from tedaudit.reports.export.writing import Export, Format

_FORMATS = "csv, latex, parquet, json; junit and markdown for CI; card, a calibration card per mechanism"
_NO_LOSSES = (
    "There are no rows: a run has losses if an attack knows the mechanism's likelihoods, as with "
    "`tedaudit run ... --loss`."
)


def export(
    run_directory: Annotated[Path | None, typer.Argument(metavar="RUN", help="A run.")] = None,
    format_: Annotated[
        Literal["csv", "latex", "parquet", "json", "junit", "markdown", "card"] | None,
        option(OUTPUT, "--format", "-f", metavar="NAME", help=f"{_FORMATS}. Else by the name of --out."),
    ] = None,
    what: Annotated[
        Literal["rows", "trials", "losses"],
        option(AUDITED, "--what", help="rows: every bound; trials: every guess; losses."),
    ] = "rows",
    mechanism: Annotated[
        str | None, option(AUDITED, "--mechanism", "-m", metavar="NAME", help="card: only this mechanism.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT, "--out", "-o", metavar="PATH",
            help="The file; standard output by default. card: the folder; RUN/cards.",
        ),
    ] = None,
    texts: Annotated[
        bool, option(OUTPUT, "--texts", help="trials: sources, rewrites and guesses too, which are private.")
    ] = False,
    redact: Annotated[
        bool,
        option(
            OUTPUT, "--redact",
            help="Labels of several words become numbers; no path, no note. So if RUN is redacted.",
        ),
    ] = False,
    teda: Annotated[
        bool, option(OUTPUT, "--teda", help="latex: the bounds of the TeDA paper too, beside eps_emp.")
    ] = False,
    schema: Annotated[
        Literal["summary", "rows", "trials", "losses"] | None,
        option(
            OUTPUT, "--schema", metavar="KIND",
            help="Print the JSON schema of summary.json, or of rows, trials or losses as JSON; needs no run.",
        ),
    ] = None,
    fail_on: FailOn = None,
    fail_above: FailAbove = None,
    force: Force = False,
) -> None:  # fmt: skip
    """Write a run as data, as a table for a paper, or for CI; loads no model and holds no text of the corpus.

    junit and markdown tell how --fail-on and --fail-above came out, and end with 1 if one of them failed.
    """
    from tedaudit.reports.export.writing import Export

    if schema is not None:
        _print_schema(schema, run_directory)
        return
    if run_directory is None:
        raise SpecError("Name a run: tedaudit export RUN --format csv. A schema needs none: --schema rows.")
    check_gates("export", fail_on, fail_above)
    if format_ == "card":
        _write_cards(run_directory, mechanism, out, force=force)
        return
    if mechanism is not None:
        raise SpecError("--mechanism chooses a card: use it with --format card.")
    chosen = format_ or _guess_format(out)
    if out is None and (texts or chosen == "parquet"):
        reason = "texts are private" if texts else "Parquet is binary"
        raise SpecError(f"{reason}: name a file with --out.")
    wanted = Export(
        format=chosen, what=what, texts=texts, redact=redact, teda=teda, gates=name_gates(fail_on, fail_above)
    )
    _write_run(run_directory, wanted, out, force=force)


def _guess_format(out: Path | None) -> "Format":
    """Return the format that a file's name says."""
    from tedaudit.reports.export.writing import SUFFIXES

    chosen = None if out is None else SUFFIXES.get(out.suffix.lower())
    if chosen is None:
        ending = f"'{out.name}' does not end in one. " if out is not None else ""
        raise SpecError(f"{ending}Name a --format: {_FORMATS}.")
    return chosen


def _write_run(run_directory: Path, wanted: "Export", out: Path | None, *, force: bool) -> None:
    """Write a run to a file or standard output, and exit with 1 if a gate failed."""
    from tedaudit import api
    from tedaudit.cli.console import say_unfinished
    from tedaudit.reports.export.frames import frame_losses
    from tedaudit.reports.export.writing import make_export
    from tedaudit.results.gates import any_failed, judge_gates
    from tedaudit.runs.exported import check_target, write_exported

    if out is not None:
        check_target(out, [run_directory], force=force)
    redact = _is_redacted(run_directory, texts=wanted.texts) or wanted.redact
    result = api.judge_run(run_directory) if wanted.gates else api.load_run(run_directory)
    say_unfinished(result.run, result.missing)
    content = make_export(result, replace(wanted, redact=redact))
    if wanted.what == "losses" and frame_losses(result).is_empty():
        typer.echo(_NO_LOSSES, err=True)
    if out is None:
        sys.stdout.write(content.decode("utf-8"))
    else:
        write_exported(out, content, [run_directory], force=force, private=wanted.texts)
        typer.echo(f"Wrote {out}", err=True)
    if any_failed(judge_gates(result, wanted.gates)):
        raise typer.Exit(1)


def _is_redacted(run_directory: Path, *, texts: bool) -> bool:
    """Return whether a run is redacted, and say that the file will be; refuse to write its texts then."""
    from tedaudit.runs.directory import RunDirectory

    if not RunDirectory(run_directory).files.is_redacted:
        return False
    if texts:
        raise SpecError(
            f"'{run_directory}' is redacted, so that no texts are written from it. `tedaudit report "
            f"{run_directory} --full` takes that back; or leave out --texts."
        )
    typer.echo(f"Redacted, as {run_directory} is: no text, no label of several words, no path.", err=True)
    return True


def _print_schema(kind: str, run_directory: Path | None) -> None:
    from tedaudit.reports.export.schemas import read_schema

    if run_directory is not None:
        raise SpecError(f"--schema {kind} is the same for every run: leave out '{run_directory}'.")
    print_json(read_schema(kind))


def _write_cards(run_directory: Path, mechanism: str | None, out: Path | None, *, force: bool) -> None:
    """Write a calibration card per mechanism, Markdown and JSON without texts."""
    from tedaudit import api
    from tedaudit.cli.console import say_redacted, say_unfinished
    from tedaudit.reports.plugin_cards import calibration_cards, write_cards

    if out is not None and out.exists() and not out.is_dir():
        raise SpecError(f"--out is '{out}', which is a file; cards need a folder.")
    result = api.load_run(run_directory)
    say_unfinished(result.run, result.missing)
    written = write_cards(calibration_cards(result, mechanism), result.run, out, force=force)
    say_redacted(result.run)
    for path in written:
        typer.echo(f"Wrote {path}")
