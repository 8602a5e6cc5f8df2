"""The commands that turn texts into texts or tables: `rewrite` and `triples build`."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tedaudit.cli.options import Quiet
from tedaudit.errors import SpecError, did_you_mean, join_names

triples = typer.Typer(no_args_is_help=True, help="Public tables of triples, from which DP-ST draws.")
_PAIR_COLUMNS = ("original", "rewrite", "error")  # of a table of pairs
_BROKEN_PIPE = 141  # as a shell has it: 128 and SIGPIPE


def rewrite(
    source: Annotated[
        str, typer.Argument(help="A file of texts (txt, csv, tsv, jsonl, parquet); - for lines")
    ] = "-",
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="By name, or py:package.module:name.")
    ] = "",
    epsilon: Annotated[
        str, typer.Option("--epsilon", "-e", metavar="NUMBER", help="Not for mechanisms that take none.")
    ] = "",
    draws: Annotated[int, typer.Option(help="Rewrites of each text; each costs the claim again.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new file; standard output without it.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl or txt; by default the file's.")] = "",
    column: Annotated[str, typer.Option(help="The column with the texts.")] = "",
    pairs: Annotated[
        bool,
        typer.Option(
            "--pairs", help="Originals beside rewrites, for `link` and `recorded`: not for release."
        ),
    ] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="--pairs: a column to keep beside 'id', such as gender. Repeat.")
    ] = None,
    assign: Annotated[
        list[str] | None, typer.Option("--set", help="KEY=VALUE: a field of the mechanism.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Repeatable noise: for experiments, never for release.")
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Draws per call of the mechanism.")] = 512,
    quiet: Quiet = False,
) -> None:
    """Rewrite texts for release, with secret noise from the system's entropy."""
    from tedaudit.cli.console import progress_bar
    from tedaudit.plugins.registry import Reference, build
    from tedaudit.releasing.release import (
        Order,
        Stream,
        choose_epsilon,
        format_of,
        release,
        release_stream,
        stream_lines,
        write_released,
    )

    if not mechanism:
        raise SpecError("`rewrite` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`).")
    given = _parse_epsilon(epsilon) if epsilon else None
    shape = format_of(out, form or ("csv" if pairs and out is None else ""))
    _check_pairs(source, shape, draws, pairs=pairs, keep=keep or ())
    if out is not None:
        _refuse_existing(out)
    plugin = build(Reference("mechanism", mechanism, dict(_parse_assignments(mechanism, assign or []))))
    order = Order(choose_epsilon(plugin, given), draws, seed, batch_size)
    texts, table = (None, {}) if source == "-" else _read_columns(source, column)
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


@triples.command()
def build(
    source: Annotated[Path, typer.Argument(help="A file of public texts.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the table.")],
    encoder: Annotated[str, typer.Option(help="A SentenceTransformer: name or folder.")],
    extractor: Annotated[str, typer.Option(help="spacy:NAME_OR_FOLDER or openie:URL.")] = "zoo:parser",
    clusters: Annotated[int, typer.Option(help="DP-ST's own: 50000, 100000 or 200000.")] = 50_000,
    dimensions: Annotated[int, typer.Option(help="Dimensions of the stored embeddings.")] = 32,
    column: Annotated[str, typer.Option(help="The column with the texts.")] = "",
    quiet: Quiet = False,
) -> None:
    """Make a table from any public corpus: extraction, embedding, mini-batch k-means."""
    from tedaudit.cli.console import progress_bar
    from tedaudit.inference.triples.build import TableRecipe, build_table

    texts = _read_texts(str(source), column)
    recipe = TableRecipe(extractor, encoder, clusters, dimensions)
    with progress_bar(quiet=quiet) as progress:

        def advance(read: int, found: int) -> None:
            if progress is not None:
                progress(f"{found:,} triples", read, len(texts))

        table = build_table(texts, folder, recipe, advance)
    typer.echo(f"Wrote {folder}: {len(table):,} triples. Use it with: --set table={folder}")


def _read_texts(source: str, column: str) -> list[str]:
    """Return the texts of all rows of a file."""
    return _read_columns(source, column)[0]


def _read_columns(source: str, column: str) -> tuple[list[str], Mapping[str, Sequence[Any]]]:
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
    from tedaudit.plugins.abilities import HasCautions
    from tedaudit.plugins.extras import name_needs

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


def _parse_assignments(mechanism: str, assignments: Sequence[str]) -> list[tuple[str, Any]]:
    from tedaudit.spec.flags import parse_field

    pairs = []
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set takes KEY=VALUE, such as slots=8, not '{assignment}'.")
        pairs.append((key, parse_field(assignment, raw, "mechanism", mechanism, key)))
    return pairs


def _parse_epsilon(value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise SpecError(
            f"--epsilon is '{value}'; it must be a number above 0, such as --epsilon 8."
        ) from error


def _tell(message: str) -> None:
    sys.stderr.write(message + "\n")
