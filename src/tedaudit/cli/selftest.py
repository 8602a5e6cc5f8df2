"""The command that has the tool test itself."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tedaudit.cli.options import Force, Json, Quiet, print_json


def selftest(
    quick: Annotated[bool, typer.Option("--quick", help="A part of it, in about a minute.")] = False,
    nulls: Annotated[
        int | None, typer.Option(min=0, help="Audits of rewriters that reveal nothing; 1,000 by default.")
    ] = None,
    flaw: Annotated[
        list[str] | None, typer.Option(help="Only this planted flaw. Repeat for several.")
    ] = None,
    processes: Annotated[int, typer.Option(min=0, help="0: one for each core.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the page here too.")] = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Test tedaudit itself: on rewriters that reveal nothing, known epsilons and planted flaws.

    Prints a page in Markdown. Ends with 1 if the tool fails its own test.
    """
    from dataclasses import replace

    from tedaudit.cli.console import console, progress_bar
    from tedaudit.store.exported import check_target, write_exported
    from tedaudit.trust.planted.flaws import find_flaw
    from tedaudit.trust.selftest.page import write_page
    from tedaudit.trust.selftest.selftest import FULL, QUICK, run_selftest

    if out is not None:
        check_target(out, [], force=force)
    size = QUICK if quick else FULL
    size = size if nulls is None else replace(size, nulls=nulls)
    size = replace(size, flaws=tuple(find_flaw(name).name for name in flaw)) if flaw else size
    with progress_bar(quiet=quiet) as progress:
        test = run_selftest(size, progress, processes=processes or os.cpu_count() or 1)
    flags = [*(["--quick"] if quick else []), *([] if nulls is None else [f"--nulls {nulls}"])]
    page = write_page(
        test, " ".join(["tedaudit selftest", *flags, *(f"--flaw {name}" for name in flaw or ())])
    )
    if out is not None:
        write_exported(out, page.encode(), [], force=force)
    if as_json:
        print_json(test.to_dict())
    else:
        console().print(page, soft_wrap=True)
    if test.failures:
        raise typer.Exit(1)
