"""Shared by the loaders of published corpora: finding the data, its edition and its splits.

An edition is a function from a path (a folder or a file) to rows per split; it returns nothing if it
does not recognise the data, so that the next edition is tried.
"""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tedaudit.corpora.files import split_files, split_of
from tedaudit.errors import CorpusError, join_names
from tedaudit.paths import parse_path
from tedaudit.text.readers import (
    explain_json,
    lines_of,
    read_bytes,
    read_table,
    read_text,
    table_format,
    take_text,
)

Rows = tuple[list[str], dict[str, list[Any]]]
Splits = dict[str, Rows]
Edition = Callable[[Path], Splits]

ROOT_VARIABLE = "TEDAUDIT_DATA"


def locate_corpus(name: str, path: str, origin: str) -> Path:
    """Return the path of a corpus: the one given, or the subfolder with its name in the data root."""
    if path:
        place = parse_path(path)
        set_by = "'path'"
    elif root := os.environ.get(ROOT_VARIABLE):
        place = parse_path(root) / name
        set_by = f"the environment variable {ROOT_VARIABLE}"
    else:
        raise CorpusError(
            f"The location of the corpus '{name}' is not set. Set its 'path' to the folder or file, or set "
            f"the environment variable {ROOT_VARIABLE} to a folder with a subfolder '{name}'. {origin} "
            "The corpus 'demo' comes with tedaudit."
        )
    if not place.exists():
        raise CorpusError(
            f"There is no '{place.absolute()}', which {set_by} gives as the location of '{name}'. {origin}"
        )
    return place


def read_edition(name: str, place: Path, editions: Mapping[str, Edition]) -> tuple[Splits, list[str]]:
    """Return the first edition that has a training split, and a note that names it."""
    partial: list[str] = []
    for edition, read in editions.items():
        splits = read(place)
        if "train" in splits:
            return splits, [f"read as: {edition}"]
        partial += [f"{split} ({edition})" for split in splits]
    contents = (
        join_names(entry.name for entry in place.iterdir()) if place.is_dir() else f"the file {place.name}"
    )
    without_train = f" It has splits, but none for training: {join_names(partial)}." if partial else ""
    raise CorpusError(
        f"'{place}' contains no known edition of '{name}'.{without_train} "
        f"Looked for: {'; '.join(editions)}. Found: {contents}."
    )


def find_split_files(place: Path, accepts: Callable[[Path], bool]) -> dict[str, Path]:
    """Return the accepted files of a folder by split; a single accepted file is the training split."""
    if place.is_file():
        return {"train": place} if accepts(place) else {}
    return split_files(entry for entry in place.iterdir() if entry.is_file() and accepts(entry))


def find_tables(place: Path, kind: str) -> dict[str, Path]:
    """Return the tables of one format by split."""
    return find_split_files(place, lambda file: table_format(file) == kind)


def read_labelled(file: Path, column: str) -> Rows:
    """Read one table with the text in a known column; the other columns are labels."""
    table = read_table(file)
    if column not in table:
        raise CorpusError(
            f"'{file}' has no column '{column}', which this edition requires. It has: {join_names(table)}. "
            "For any other table use the corpus 'files'."
        )
    return take_text(table, column, f"'{file}'")


def read_intent_csv(place: Path) -> Splits:
    """Read csv files of two columns, intent and text; a header is optional."""
    return {split: _read_intents(file) for split, file in find_tables(place, "csv").items()}


def _read_intents(file: Path) -> Rows:
    table = read_table(file, header=False)
    if len(table) != 2:
        raise CorpusError(f"'{file}' has {len(table)} columns. This edition has two: intent, text.")
    intents, texts = table.values()
    head = [intents[0].strip().lower(), texts[0].strip().lower()]
    if head == ["text", "intent"]:
        intents, texts = texts, intents
    skip = 1 if sorted(head) == ["intent", "text"] else 0
    return texts[skip:], {"intent": intents[skip:]}


def read_slot_gated(place: Path) -> Splits:
    """Read one folder per split: a sentence per line in seq.in, its intent on the same line of label."""
    if not place.is_dir():
        return {}
    folders = {
        split_of(entry.name): entry for entry in sorted(place.iterdir()) if (entry / "seq.in").is_file()
    }
    splits: Splits = {}
    for split in ("train", "valid", "test"):
        if split in folders:
            texts = lines_of(read_text(folders[split] / "seq.in"))
            intents = [line.strip() for line in lines_of(read_text(folders[split] / "label"))]
            if len(texts) != len(intents):
                raise CorpusError(
                    f"'{folders[split]}' has {len(texts):,} lines in seq.in and {len(intents):,} in label. "
                    "The numbers must be equal: download both files again."
                )
            splits[split] = texts, {"intent": intents}
    return splits


def read_json(file: Path) -> tuple[Any, bool]:
    """Return a JSON document, and whether it had to be read as Latin-1."""
    raw = read_bytes(file)
    try:
        text, latin = raw.decode("utf-8-sig"), False
    except UnicodeDecodeError:
        text, latin = raw.decode("latin-1"), True
    try:
        return json.loads(text), latin
    except json.JSONDecodeError as error:
        raise CorpusError(
            f"'{file}' is not JSON: {error.msg}, line {error.lineno:,}, column {error.colno:,}. "
            "Download it again."
        ) from error
    except (ValueError, RecursionError) as error:
        raise CorpusError(f"'{file}' is not JSON: {explain_json(error)}. Download it again.") from error
