"""The command that links the rewrites of a release to their originals: a table, and no code or claim."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tedaudit.cli import options
from tedaudit.cli.gates import FailAbove, FailOnLimit, check_limit_gates, pass_limit
from tedaudit.cli.options import ADVERSARY, AUDITED, OUTPUT, STATISTICS, option, print_json

if TYPE_CHECKING:
    from tedaudit.studies.link.result import LinkResult


def link(
    pairs: Annotated[
        str, typer.Argument(help="A file of originals and rewrites (csv, tsv, jsonl, parquet).")
    ],
    id_column: Annotated[
        str,
        option(
            AUDITED,
            "--id",
            metavar="NAME",
            help="The column that names records; 'id' if there is one, else rows.",
        ),
    ] = "",
    original: Annotated[
        str, option(AUDITED, "--original", metavar="NAME", help="The column with the originals.")
    ] = "original",
    rewrite: Annotated[
        str, option(AUDITED, "--rewrite", metavar="NAME", help="The column with the rewrites.")
    ] = "rewrite",
    private: options.Private = None,
    author: Annotated[
        str, option(AUDITED, "--author", metavar="NAME", help="The column that names who wrote a text.")
    ] = "",
    attack: Annotated[
        list[str] | None,
        option(ADVERSARY, "--attack", "-a", metavar="NAME", help="One that scores all originals. Repeat."),
    ] = None,
    assign: options.Assignments = None,
    knows: Annotated[
        Literal["other", "same"] | None,
        option(ADVERSARY, "--knows", help="Of authors: other texts of theirs (the default), or the same."),
    ] = None,
    author_texts: Annotated[
        int,
        option(
            ADVERSARY,
            "--author-texts",
            metavar="N",
            help="Most rewrites seen of each author or id; else what half have.",
        ),
    ] = 0,
    classifier: Annotated[
        str,
        option(
            ADVERSARY,
            "--classifier",
            metavar="NAME",
            help="For --private: tfidf, zoo:mlm, a folder, a hub id, or llm (--set llm.judge=...).",
        ),
    ] = "tfidf",
    guesses: Annotated[
        list[str] | None,
        option(
            ADVERSARY,
            "--guesses",
            metavar="NAME",
            help="Instead: a column with guesses of the n-th --private. Repeat.",
        ),
    ] = None,
    guesses_fixed: Annotated[
        bool,
        option(
            ADVERSARY,
            "--guesses-fixed",
            help="They were made from the rewrite alone, by a rule fixed before.",
        ),
    ] = False,
    alpha: Annotated[float, option(STATISTICS, "--alpha", help="Two-sided error of intervals.")] = 0.01,
    seed: Annotated[
        int, option(STATISTICS, "--seed", help="Decides ties, the pairs and which records are held out.")
    ] = 0,
    out: Annotated[
        Path | None, option(OUTPUT, "--out", "-o", metavar="FOLDER", help="runs/NAME-link by default.")
    ] = None,
    committee: Annotated[
        bool, option(OUTPUT, "--committee/--no-committee", help="Two pages to print, without texts.")
    ] = True,
    ids: Annotated[
        int, option(OUTPUT, "--show-ids", help="Name so many records on these pages; with --author, people.")
    ] = 0,
    texts: Annotated[bool, option(OUTPUT, "--texts", help="Put the texts into records.csv.")] = False,
    count: Annotated[int, option(OUTPUT, "--count", help="Records that are shown.")] = 10,
    fail_above: FailAbove = None,
    fail_on: FailOnLimit = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Link rewrites to their originals: which records can be found, how surely, and what can be inferred."""
    from tedaudit.cli.console import progress_bar
    from tedaudit.runs.spec.flags import assign_fields
    from tedaudit.studies.link.inference import LLM
    from tedaudit.studies.link.linker import default_attacks
    from tedaudit.studies.link.linker import link as link_release

    check_limit_gates("link", fail_on, fail_above)
    folder = out or Path("runs") / f"{_name(pairs)}-link"
    asked = [classifier] if classifier == LLM else []
    attacks = assign_fields("attack", [*(attack or default_attacks()), *asked], assign or ())
    settings: dict[str, Any] = {
        "id_column": id_column, "original_column": original, "rewrite_column": rewrite,
        "private": private or (), "classifier": attacks.pop() if asked else classifier,
        "guesses": guesses or (), "guesses_fixed": guesses_fixed,
        "attacks": attacks, "alpha": alpha, "seed": seed,
        "author": author, "knows": knows or "", "texts": author_texts,
    }  # fmt: skip
    with progress_bar(quiet=quiet) as progress:
        result = link_release(pairs, out=folder, progress=progress, **settings)
        written = _write_more(result, folder, committee=committee, ids=ids, texts=texts)
    if as_json:
        print_json({**result.to_dict(count), "folder": str(folder)})
    else:
        _show(result, written, count)
    if fail_above is not None:
        pass_limit(result.judge_limit(fail_above), fail_on, fail_above)


def _name(pairs: str) -> str:
    """Return what a folder is called after a file."""
    return Path(pairs).name.partition(".")[0] or "pairs"


def _write_more(result: "LinkResult", folder: Path, *, committee: bool, ids: int, texts: bool) -> list[str]:
    """Write the document, and the texts if asked for; return what there is, with a word on each."""
    from tedaudit.reports.writers.html import write_document
    from tedaudit.runs.files import write_atomically
    from tedaudit.studies.link.study_folder import DOCUMENT, FIGURES, RECORDS, REPORT, write_records
    from tedaudit.studies.link.telling import redact_names, tell_committee

    if texts:
        write_atomically(folder / RECORDS, write_records(result, texts=True).encode("utf-8", "replace"))
    written = [
        f"{folder / REPORT}: how to read the tables, and what they do not say; with ids, no texts",
        f"{folder / FIGURES}: the same figures as JSON",
        f"{folder / RECORDS}: all records by id{', with their texts' if texts else ''}",
    ]
    if committee:
        pages = tell_committee(redact_names(result), ids)
        write_atomically(folder / DOCUMENT, write_document(pages, pages[0][0]).encode("utf-8", "replace"))
        held = "no texts" if ids else "no texts and no ids"
        written.append(f"{folder / DOCUMENT}: two pages for a committee, to read or print, with {held}")
    return written


def _show(result: "LinkResult", written: Sequence[str], count: int) -> None:
    """Print what was found, a sentence each, the tables, and where everything lies."""
    from dataclasses import replace

    from rich.text import Text

    from tedaudit.cli.console import console, escape_text, show_section, width
    from tedaudit.studies.link.telling import LIMITS, tell, tell_findings, tell_headline, tell_title

    out = console()
    for sentence, style in ((tell_title(result), "bold"), (tell_headline(result), "bold")):
        out.print(Text(f"{escape_text(sentence)}\n"), style=style, width=width())
    for sentence in tell_findings(result):
        out.print(Text(f"- {escape_text(sentence)}"), width=width())
    for section in tell(result, count):
        out.print()
        show_section(replace(section, reading=""), width())
    for sentence in (LIMITS[0], *(f"- {note}" for note in result.notes)):
        out.print(Text(escape_text(sentence)), width=width())
    for line in written:  # paths: a line each, so that they can be copied
        out.print(f"- {escape_text(line)}", soft_wrap=True)
