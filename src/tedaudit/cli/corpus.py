"""The commands on files of texts: what one would be read as, and a table of triples made from one."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tedaudit.cli.help_pages import Command, end_page
from tedaudit.cli.options import AUDITED, OUTPUT, WORK, Column, Json, Quiet, option, print_json

if TYPE_CHECKING:
    from tedaudit.corpora._check import AuthorFacts, CorpusCheck, FileCheck, Rows, TextFacts
    from tedaudit.studies.forecast.cuts import Cut

corpus = typer.Typer(
    no_args_is_help=True, help="Look at a file of texts, or make a table of triples from one."
)
_HIDDEN = {
    "bidi": "characters that turn the order of writing around",
    "control": "control characters or others of no width",
    "joiner": "joiners of no width, as emoji, Persian and Indic scripts have them",
    "line": "line ends inside a text",
}
_LONGEST = 200  # characters of a text that is shown


@corpus.command(
    cls=Command,
    epilog=end_page("tedaudit corpus check reviews.csv", "tedaudit corpus check texts.txt --show 3"),
)
def check(
    path: Annotated[
        str, typer.Argument(metavar="FILE", help="txt, csv, tsv, jsonl or parquet; or a folder of splits.")
    ],
    column: Column = "",
    encoding: Annotated[
        str,
        option(
            AUDITED,
            "--encoding",
            metavar="NAME",
            help="Of the file, as in --set corpus.encoding=NAME of `run`.",
        ),
    ] = "utf-8",
    header: Annotated[
        bool, option(AUDITED, "--header/--no-header", help="Whether the first row has names.")
    ] = True,
    author: Annotated[
        str,
        option(
            AUDITED,
            "--author",
            metavar="COLUMN",
            help="Who wrote a text, to count texts of each; without it a column called author.",
        ),
    ] = "",
    test: Annotated[
        str, option(AUDITED, "--test", metavar="FILE", help="A second file, the test split.")
    ] = "",
    show: Annotated[
        int, option(OUTPUT, "--show", help="Print so many texts; without it none is printed.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Tell what `run` would read: format, encoding, columns, texts, authors, what would be refused or cut.

    No text is printed unless asked for with --show. Exits with 2 if `run` could not read the file.
    """
    from tedaudit.corpora._check import check_files
    from tedaudit.corpora.files import Files
    from tedaudit.studies.forecast.cuts import count_cuts

    checked = check_files(
        Files(path=path, column=column, encoding=encoding, header=header, test=test), author
    )
    cuts = [] if checked.corpus is None else count_cuts(checked.corpus.texts)
    if as_json:
        told = {**checked.to_dict(), "cut_by_default": [cut.to_dict() for cut in cuts]}
        print_json({**told, **({"shown": _list_texts(checked, show)} if show else {})})
    else:
        _show(checked, cuts, show)
    if not checked.is_readable:
        raise typer.Exit(2)


@corpus.command(
    cls=Command,
    epilog=end_page(
        "tedaudit corpus triples public.txt table --encoder zoo:encoder --clusters 50",
        "tedaudit run -m dp-st -e 100 --set table=table --trials 100",
    ),
)
def triples(
    source: Annotated[Path, typer.Argument(help="A file of public texts.")],
    folder: Annotated[Path, typer.Argument(help="A new folder for the table.")],
    encoder: Annotated[
        str, option(WORK, "--encoder", metavar="NAME", help="A SentenceTransformer: name or folder.")
    ],
    column: Column = "",
    extractor: Annotated[
        str, option(WORK, "--extractor", metavar="NAME", help="spacy:NAME_OR_FOLDER or openie:URL.")
    ] = "zoo:parser",
    clusters: Annotated[
        int, option(WORK, "--clusters", help="DP-ST's own: 50000, 100000 or 200000.")
    ] = 50_000,
    dimensions: Annotated[
        int, option(WORK, "--dimensions", help="Dimensions of the stored embeddings.")
    ] = 32,
    quiet: Quiet = False,
) -> None:
    """Make a table of triples, from which DP-ST draws, from any public corpus."""
    from tedaudit.cli.console import progress_bar
    from tedaudit.cli.texts import read_columns
    from tedaudit.models.triples.build import TableRecipe, build_table

    texts, _ = read_columns(str(source), column)
    recipe = TableRecipe(extractor=extractor, encoder=encoder, clusters=clusters, dimensions=dimensions)
    with progress_bar(quiet=quiet) as progress:

        def advance(read: int, found: int) -> None:
            if progress is not None:
                progress(f"{found:,} triples", read, len(texts))

        table = build_table(texts, folder, recipe, advance)
    typer.echo(f"Wrote {folder}: {len(table):,} triples. Use it with: --set table={folder}")


def _list_texts(checked: "CorpusCheck", number: int) -> dict[str, list[str]]:
    return {file.split: list(file.texts[:number]) for file in checked.files}


def _show(checked: "CorpusCheck", cuts: Sequence["Cut"], number: int) -> None:
    """Print everything, a line for each fact."""
    from tedaudit.cli.console import console, escape_text
    from tedaudit.errors import shorten

    out = console()
    for file in checked.files:
        out.print(escape_text(f"{file.path} ({file.split})"), style="bold", soft_wrap=True)
        for line in describe_file(file):
            out.print(f"  {escape_text(line)}", soft_wrap=True)
        for text in file.texts[:number]:
            out.print(f"  > {escape_text(shorten(text, _LONGEST))}", soft_wrap=True)
    for line in [*checked.notes, *_describe_recurring(checked), *map(describe_cut, cuts)]:
        out.print(f"- {escape_text(line)}", soft_wrap=True)
    if checked.error:
        console(error=True).print(escape_text(f"`run` would refuse this: {checked.error}"), soft_wrap=True)


def describe_file(file: "FileCheck") -> Iterator[str]:
    """Yield what is known of a file, a line for each fact; no text is in it."""
    known = file.bytes
    if known is not None:
        packed = f", packed as {known.compression}" if known.compression else ""
        yield f"format: {known.format or 'not told by its name'}{packed}, {known.size:,} bytes"
        read = f", read as {known.encoding}" if known.encoding else ""
        remark = f"; {known.suspicion}" if known.suspicion else ""
        yield f"encoding: {known.found}{read}{remark}"
        if known.undecodable:
            lines = ", ".join(f"{line:,}" for line in known.first_undecodable)
            yield f"lines that cannot be decoded: {known.undecodable:,} (line {lines})"
    for column in file.columns:
        yield (
            f"column '{column.name}': {column.use}, because {column.why}"
            if column.use == "text"
            else (f"column '{column.name}': {column.use}; {column.why}")
        )
    if file.refusals:
        yield f"refused: {file.refusals:,}" + (
            " (the first of them)" if file.refusals > len(file.refused) else ""
        )
        yield from (
            f"  {one.reason if one.where in one.reason else f'{one.where}: {one.reason}'}"
            for one in file.refused
        )
    if file.facts is not None:
        yield from _describe_facts(file.facts)
    if file.authors is not None:
        yield from _describe_authors(file.authors)


def _describe_facts(facts: "TextFacts") -> Iterator[str]:
    yield f"rows: {facts.rows:,}, of which blank {facts.blank:,}; {facts.distinct:,} distinct texts"
    yield (
        f"duplicates: {facts.exact:,} exactly; {facts.folded:,} up to Unicode NFC and white space, which are "
        f"left out; {facts.cased:,} more if case were folded, which are kept"
    )
    yield f"characters: {_describe_range(facts.characters)}"
    yield f"words: {_describe_range(facts.words)} (a letter of a script without spaces is a word)"
    yield f"scripts: {facts.scripts.describe(6)}" if facts.scripts.total else "scripts: no letters"
    for kind, rows in facts.hidden.items():
        yield f"{_HIDDEN[kind]}: {_describe_rows(rows)}"
    for rows, what in (
        (facts.garbled, "UTF-8 that was read as Latin-1 before, as in Ã© for é"),
        (facts.replaced, "the mark U+FFFD: something could not be decoded when the file was made"),
        (facts.surrogates, "half a surrogate pair, which is no Unicode: `run` refuses it"),
    ):
        if rows.count:
            yield f"{what}: {_describe_rows(rows)}"


def _describe_authors(facts: "AuthorFacts") -> Iterator[str]:
    """Yield how many texts there are of each author; nobody is named."""
    few = f"; texts of one: {_describe_range(facts.texts)}" if facts.authors else ""
    yield f"authors, column '{facts.column}': {facts.authors:,}{few}"
    if facts.authors:
        least = ", ".join(f"{count:,} have {n} or more" for n, count in facts.at_least.items())
        yield f"of these authors {least}"
    if facts.unnamed:
        yield f"texts without an author: {facts.unnamed:,}"
    if facts.shared:
        yield f"the same text by several authors: {facts.shared:,}, counted for each of them"


def _describe_recurring(checked: "CorpusCheck") -> Iterator[str]:
    if checked.recurring is not None:
        yield f"authors with texts in several splits: {checked.recurring:,}"


def _describe_range(numbers: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value:,.10g}" for name, value in numbers.items())


def _describe_rows(rows: "Rows") -> str:
    more = ", ..." if rows.count > len(rows.first) else ""
    return (
        f"{rows.count:,} row{'s' * (rows.count != 1)} ({', '.join(f'{row:,}' for row in rows.first)}{more})"
    )


def describe_cut(cut: "Cut") -> str:
    """Return how many texts a mechanism of the embedded audit would cut."""
    return (
        f"{cut.mechanism} reads {cut.limit:,} {cut.unit}: of {cut.of:,} texts counted, {cut.cut:,} are "
        "longer and would be cut"
    )
