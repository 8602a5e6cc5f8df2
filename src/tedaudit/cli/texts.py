"""The commands that turn texts into texts or tables: `rewrite` and `triples build`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from tedaudit.cli.options import Quiet
from tedaudit.errors import SpecError

triples = typer.Typer(no_args_is_help=True, help="Public tables of triples, from which DP-ST draws.")
_BROKEN_PIPE = 141  # as a shell has it: 128 and SIGPIPE


def rewrite(
    source: Annotated[
        str, typer.Argument(help="A file of texts (txt, csv, tsv, jsonl, parquet); - for lines")
    ] = "-",
    mechanism: Annotated[
        str, typer.Option("--mechanism", "-m", help="By name, or py:package.module:name.")
    ] = "",
    epsilon: Annotated[str, typer.Option("--epsilon", "-e", metavar="NUMBER")] = "",
    draws: Annotated[int, typer.Option(help="Rewrites of each text; each costs the claim again.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A new file; standard output without it.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl or txt; by default the file's.")] = "",
    column: Annotated[str, typer.Option(help="The column with the texts.")] = "",
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
    from tedaudit.execution.line_stream import Stream, stream_lines
    from tedaudit.execution.release import Order, format_of, release, release_stream, write_released
    from tedaudit.registry import Reference, build

    if not mechanism:
        raise SpecError("`rewrite` needs a mechanism: --mechanism NAME (`tedaudit ls mechanisms`).")
    order = Order(_parse_epsilon(epsilon), draws, seed, batch_size)
    shape = format_of(out, form)
    if out is not None and out.exists():
        raise SpecError(f"'{out}' already exists; name another file, or remove it first.")
    plugin = build(Reference("mechanism", mechanism, dict(_parse_assignments(assign or []))))
    texts = None if source == "-" else _read_texts(source, column)
    _announce(plugin, order)
    with progress_bar(quiet=quiet or out is None) as shown:
        progress = _flush_output if out is None else shown
        if texts is None:
            arriving = stream_lines(cast("Stream", sys.stdin.buffer), max(1, batch_size // draws))
            released = release_stream(plugin, arriving, order, progress)
        else:
            released = release(plugin, texts, order, progress)
        if out is None:
            written = write_released(released, _StandardOutput(), shape, order.epsilon)
        else:
            partial = out.with_name(f".{out.name}.partial")
            with partial.open("w", encoding="utf-8", errors="replace", newline="") as file:
                written = write_released(released, file, shape, order.epsilon)
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
    from tedaudit.readers import choose_column, read_table, take_text

    table = read_table(source)
    chosen, note = choose_column(table, column, f"'{source}'")
    if note:
        _tell(note)
    return take_text(table, chosen, source)[0]


def _announce(plugin: Any, order: Any) -> None:
    """Say what each rewrite costs, and whether its noise is secret."""
    claim = plugin.claim(order.epsilon)
    promise = "no claim" if claim is None else f"epsilon {claim}, for {claim.neighbours}"
    repeated = "" if order.draws == 1 else f"; {order.draws} draws of a text cost {order.draws} times that"
    _tell(f"{plugin.card.name}: {promise}{repeated}")
    if order.seed is not None:
        _tell("warning: with --seed the noise can be computed by anyone who knows the seed, which voids the "
              "guarantee. Use it for experiments only.")  # fmt: skip


def _parse_assignments(assignments: Sequence[str]) -> list[tuple[str, Any]]:
    from tedaudit.spec.flags import parse_value

    pairs = []
    for assignment in assignments:
        key, equals, raw = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set takes KEY=VALUE, such as slots=8, not '{assignment}'.")
        pairs.append((key, parse_value(assignment, raw)))
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
