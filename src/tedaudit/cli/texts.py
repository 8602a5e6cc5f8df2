"""The command that rewrites texts for release."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tedaudit.cli.options import AUDITED, OUTPUT, WORK, Assignments, Column, Mechanism, Quiet, option
from tedaudit.errors import SpecError, did_you_mean, join_names

_PAIR_COLUMNS = ("original", "rewrite", "error")  # of a table of pairs
_BROKEN_PIPE = 141  # as a shell has it: 128 and SIGPIPE


def rewrite(
    source: Annotated[
        str, typer.Argument(help="A file of texts (txt, csv, tsv, jsonl, parquet); - for lines")
    ] = "-",
    mechanism: Mechanism = "",
    epsilon: Annotated[
        str,
        option(AUDITED, "--epsilon", "-e", metavar="NUMBER", help="Not for mechanisms that take none."),
    ] = "",
    assign: Assignments = None,
    column: Column = "",
    draws: Annotated[
        int, option(AUDITED, "--draws", help="Rewrites of each text; each costs the claim again.")
    ] = 1,
    seed: Annotated[
        int | None, option(AUDITED, "--seed", help="Repeatable noise: for experiments, never for release.")
    ] = None,
    batch_size: Annotated[int, option(WORK, "--batch-size", help="Draws per call of the mechanism.")] = 512,
    out: Annotated[
        Path | None,
        option(OUTPUT, "--out", "-o", metavar="FILE", help="A new file; standard output without it."),
    ] = None,
    form: Annotated[
        str, option(OUTPUT, "--format", metavar="NAME", help="csv, jsonl or txt; by default the file's.")
    ] = "",
    pairs: Annotated[
        bool,
        option(
            OUTPUT, "--pairs", help="Originals beside rewrites, for `link` and `recorded`: not for release."
        ),
    ] = False,
    keep: Annotated[
        list[str] | None,
        option(
            OUTPUT, "--keep", metavar="NAME", help="--pairs: a column to keep beside 'id', as gender. Repeat."
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Rewrite texts for release, with secret noise from the system's entropy."""
    from tedaudit.cli.console import progress_bar
    from tedaudit.plugins.registry import Reference, build
    from tedaudit.runs.release import (
        Order,
        Stream,
        choose_epsilon,
        format_of,
        release,
        release_stream,
        stream_lines,
        write_released,
    )
    from tedaudit.runs.spec.flags import assign_fields

    if not mechanism:
        raise SpecError("`rewrite` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`).")
    given = _parse_epsilon(epsilon) if epsilon else None
    shape = format_of(out, form or ("csv" if pairs and out is None else ""))
    _check_pairs(source, shape, draws, pairs=pairs, keep=keep or ())
    if out is not None:
        _refuse_existing(out)
    [fields] = assign_fields("mechanism", [mechanism], assign or ())
    plugin = build(Reference("mechanism", fields.pop("name"), fields))
    order = Order(epsilon=choose_epsilon(plugin, given), draws=draws, seed=seed, batch_size=batch_size)
    texts, table = (None, {}) if source == "-" else read_columns(source, column)
    beside = _keep_columns(texts or (), table, keep or ()) if pairs else None
    _announce(plugin, order, is_paired=pairs)
    with progress_bar(quiet=quiet or out is None) as shown:
        progress = _flush_output if out is None else shown
        if texts is None:
            arriving = stream_lines(cast("Stream", sys.stdin.buffer), max(1, batch_size // draws))
            released = release_stream(plugin, arriving, order, progress)
        else:
            released = release(plugin, texts, order, progress)
        if out is None:
            written = write_released(released, _StandardOutput(), shape, order.epsilon, beside)
        else:
            partial = out.with_name(f".{out.name}.partial")
            with _open_new(partial, closed=pairs) as file:
                written = write_released(released, file, shape, order.epsilon, beside)
            _refuse_existing(out)
            partial.replace(out)
    if written.failed:
        _tell(
            f"{written.failed:,} of {written.rows:,} rewrites failed; their rows are empty and carry an "
            "error code."
        )


class _StandardOutput:
    """Standard output of which the reader may go away, as `head` does: nothing more is written then."""

    def write(self, text: str) -> None:
        """Write some more, or leave with the code of a broken pipe if nobody reads it."""
        try:
            sys.stdout.write(text)
        except BrokenPipeError:
            _leave()


def _flush_output(_: str, __: int, ___: int) -> None:
    """Have a batch printed at once: whoever reads it may be waiting."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()


def _leave() -> None:
    """End quietly; what is left in the buffer goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(_BROKEN_PIPE)


def read_columns(source: str, column: str) -> tuple[list[str], Mapping[str, Sequence[Any]]]:
    """Return the texts of all rows of a file, and its other columns."""
    from tedaudit.text.readers import choose_column, read_table, take_text

    table = read_table(source)
    chosen, note = choose_column(table, column, f"'{source}'")
    if note:
        _tell(note)
    return take_text(table, chosen, source)


def _check_pairs(source: str, shape: str, draws: int, *, pairs: bool, keep: Sequence[str]) -> None:
    """Refuse what does not go with --pairs, before anything is read."""
    if keep and not pairs:
        raise SpecError(f"--keep {keep[0]}: columns are kept with --pairs only; a release has none.")
    if pairs and (source == "-" or shape == "txt" or draws > 1):
        reason = (
            "reads a file" if source == "-" else "writes csv or jsonl" if draws == 1 else "makes one draw"
        )
        raise SpecError(
            f"--pairs {reason}: it writes a table with one row per text of a file, as csv or jsonl."
        )


def _keep_columns(
    texts: Sequence[str], table: Mapping[str, Sequence[Any]], keep: Sequence[str]
) -> dict[str, Sequence[Any]]:
    """Return the columns that stand before the rewrites: ids if there are any, those asked for, originals."""
    kept = dict.fromkeys([*(["id"] if "id" in table else []), *keep])
    for name in kept:
        if name not in table or name in _PAIR_COLUMNS:
            raise SpecError(
                f"--keep {name}: there is no such column, or pairs have one of that name."
                f"{did_you_mean(name, table)} There are: {join_names(set(table) - set(_PAIR_COLUMNS))}."
            )
    return {**{name: table[name] for name in kept}, "original": texts}


def _refuse_existing(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise SpecError(f"'{out}' already exists; name another file, or remove it first.")


def _open_new(path: Path, *, closed: bool) -> Any:
    """Open a new file to write; `closed` if only its owner may read it, because originals are in it."""
    path.unlink(missing_ok=True)  # of a process that was killed; never what a link points to
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if closed else 0o666)
    return os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="")


def _announce(plugin: Any, order: Any, *, is_paired: bool) -> None:
    """Say what each rewrite costs, what is to know of the mechanism, and whether its noise is secret."""
    from tedaudit.plugins.extras import name_needs
    from tedaudit.plugins.protocols import HasCautions

    claim, card = plugin.claim(order.epsilon), plugin.card
    promise = "no claim" if claim is None else f"epsilon {claim}, for {claim.neighbours}"
    repeated = "" if order.draws == 1 else f"; {order.draws} draws of a text cost {order.draws} times that"
    _tell(f"{card.name}: {promise}{repeated}")
    if isinstance(plugin, HasCautions):
        with name_needs(card.name, card.needs):
            for caution in plugin.cautions():
                _tell(f"note: {caution}.")
    if is_paired:
        _tell("--pairs: the table holds the originals and is not for release.")
    if order.seed is not None:
        _tell("warning: with --seed the noise can be computed by anyone who knows the seed, which voids the "
              "guarantee. Use it for experiments only.")  # fmt: skip


def _parse_epsilon(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise SpecError(
            f"--epsilon is '{value}'; it must be a number above 0, such as --epsilon 8."
        ) from error


def _tell(message: str) -> None:
    sys.stderr.write(message + "\n")
