"""The commands that present finished runs: `compare` and `card`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from tedaudit.cli.options import Force, Json, print_json
from tedaudit.errors import SpecError


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run directories; one is enough with several attacks.")],
    by: Annotated[
        Literal["run", "mechanism", "attack"] | None,
        typer.Option(help="What is compared; by default runs, or attacks if there is one run."),
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="What to compare the others with; by default the one in most settings.")
    ] = None,
    scale: Annotated[
        Literal["success", "epsilon"] | None,
        typer.Option(help="Differences of what; by default success rates, or epsilon if their k differ."),
    ] = None,
    alpha: Annotated[
        float, typer.Option(help="The error of each interval, and of all answers together.")
    ] = 0.01,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write a page to read in a browser; it contains no texts."),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Compare runs, attacks or mechanisms trial by trial; loads no model."""
    from tedaudit import api
    from tedaudit.cli.console import show_comparison
    from tedaudit.store.exported import check_target

    if out is not None and (out.is_dir() or out.suffix.lower() not in (".html", ".htm")):
        raise SpecError(f"--out is '{out}'; it must be an HTML file, such as comparison.html.")
    if out is not None:
        check_target(out, runs, force=force)
    compared = api.compare(*runs, by=by, against=against, alpha=alpha, scale=scale)
    if out is not None:
        from tedaudit.reports.comparison_page import write_comparison

        write_comparison(compared, out, runs, force=force)
    if as_json:
        print_json(compared.to_dict())
    else:
        show_comparison(compared, out)


def card(
    run_directory: Annotated[Path, typer.Argument()],
    mechanism: Annotated[
        str | None, typer.Option("--mechanism", "-m", help="Only this one; every mechanism by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The folder; RUN/cards by default.")] = None,
    force: Force = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the cards as JSON too.")] = False,
) -> None:
    """Write a calibration card per mechanism, Markdown and JSON without texts, to put beside a model card."""
    from tedaudit import api
    from tedaudit.cli.console import say_redacted
    from tedaudit.reports.calibration_card import calibration_cards
    from tedaudit.reports.calibration_card_files import write_cards

    if out is not None and out.exists() and not out.is_dir():
        raise SpecError(f"--out is '{out}', which is a file; name a folder.")
    result = api.load_run(run_directory)
    cards = calibration_cards(result, mechanism)
    written = write_cards(cards, result.run, out, force=force)
    say_redacted(result.run)
    if as_json:
        print_json(cards)
        return
    for path in written:
        typer.echo(f"Wrote {path}")
