"""Your own texts: one table, or a folder with one table for each split.

Formats: csv, tsv, jsonl, parquet or txt (one text per line), plain or compressed with gz, bz2, xz or zst.
A single file is the training split. In a folder, file names identify the splits: train.csv, my_test.csv,
dev.tsv. All columns except the text are kept as labels.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tedaudit.errors import CorpusError, join_names
from tedaudit.paths import parse_path
from tedaudit.plugins.values import Card, Corpus, Repeats, Split, fold_text
from tedaudit.text.characters import has_surrogate
from tedaudit.text.readers import FORMATS, choose_column, read_table, table_format, take_text

SPLIT_WORDS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "validation": "valid",
    "validate": "valid",
    "val": "valid",
    "dev": "valid",
    "test": "test",
}


def split_of(name: str) -> str:
    """Return the split that a file or folder name refers to; "" if it is none or more than one."""
    words = re.split(r"[^a-z]+", name.lower())
    named = {SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS}
    return named.pop() if len(named) == 1 else ""


def split_files(files: Iterable[Path]) -> dict[str, Path]:
    """Return one file for each split that the names refer to, train first.

    If several refer to the same split, the one with no other word in its name is used (train.csv
    rather than old_train.csv); if that does not settle it, the user has to choose.
    """
    by_split: dict[str, list[Path]] = {"train": [], "valid": [], "test": []}
    for file in sorted(files):
        if split := split_of(file.name):
            by_split[split].append(file)
    chosen: dict[str, Path] = {}
    for split, rivals in by_split.items():
        plain = [file for file in rivals if file.name.lower().split(".")[0] in SPLIT_WORDS]
        best = plain if len(plain) == 1 else rivals
        if len(best) > 1:
            names = join_names(file.name for file in best)
            raise CorpusError(
                f"'{best[0].parent}' has {len(best)} files for the {split} split: {names}. "
                f"Keep only one, or rename the right one to '{split}{''.join(best[0].suffixes[-1:])}'."
            )
        if best:
            chosen[split] = best[0]
    return chosen


@dataclass(frozen=True)
class Files:
    """Texts from a file, or from a folder with one file per split."""

    card: ClassVar[Card] = Card(
        name="files",
        summary="Your own texts: a csv, tsv, jsonl, parquet or txt file, or a folder with one per split.",
    )

    path: str
    """A csv, tsv, jsonl, parquet or txt file, plain or compressed, or a folder with one for each split."""
    column: str = ""
    """Column of texts; empty: guessed by its name, or because it is the only one of strings."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    header: bool = True
    """Whether the first line of a csv or tsv file has the names of columns."""
    test: str = ""
    """File of the test split, if `path` is the training file; empty: none."""

    def load(self) -> Corpus:
        """Return the corpus, with every other column kept as a label."""
        files, notes = self.find_files()
        column = self.column
        splits = {}
        for split, file in files.items():
            table = read_table(file, encoding=self.encoding, header=self.header)
            column, note = choose_column(table, column, f"'{file}'", advice=self.advice)
            notes += [note] if note else []
            splits[split] = take_text(table, column, f"'{file}'")
        return assemble(self.card.name, splits, notes)

    @property
    def advice(self) -> str:
        """What to try if no column is a text."""
        return (
            " If these are the first row of data and not names, set 'header: false'." if self.header else ""
        )

    def find_files(self) -> tuple[dict[str, Path], list[str]]:
        """Return the file of each split, train first, and notes on the choice."""
        if not self.path:
            raise CorpusError(
                "The corpus 'files' has no path. Set 'path' to a file, or a folder with train.csv."
            )
        place = parse_path(self.path)
        notes: list[str] = []
        files = {"train": place}
        if place.is_dir():
            contents = join_names(entry.name for entry in place.iterdir())
            tables = [entry for entry in place.iterdir() if entry.is_file() and table_format(entry)]
            files = split_files(tables)
            if "train" not in files:
                raise CorpusError(
                    f"'{place}' has no file for the training split. Looked for train.csv or similar, "
                    f"ending in one of: {join_names(FORMATS)}. The folder contains: {contents}. "
                    "Rename one of its files, or set 'path' to the file itself."
                )
            unread = sorted(entry.name for entry in set(tables) - set(files.values()))
            notes += [f"not read in '{place.name}': {', '.join(unread)}"] if unread else []
        if self.test:
            if "test" in files:
                raise CorpusError(
                    f"There are two test splits: 'test' is '{self.test}', and '{place}' contains "
                    f"'{files['test'].name}'. Remove 'test', or set 'path' to the training file."
                )
            files["test"] = parse_path(self.test)
        return files, notes


# --- A corpus in memory: texts passed in Python, or those of an earlier run.


@dataclass(frozen=True)
class Given:
    """Texts, or a whole corpus, used unchanged."""

    given: Corpus | Sequence[str]
    card: ClassVar[Card] = Card(name="given", summary="Texts passed in Python.")

    def load(self) -> Corpus:
        """Return a corpus of the distinct texts."""
        if isinstance(self.given, Corpus):
            return self.given
        if isinstance(self.given, str | bytes) or not isinstance(self.given, Iterable):
            raise CorpusError(
                "A corpus must be a name, a `Corpus` or a list of strings, not a "
                f"{type(self.given).__name__}. For a file use {{'name': 'files', 'path': '...'}}."
            )
        texts = list(self.given)
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong:
            raise CorpusError(f"A corpus must be a list of strings; it contains a {type(wrong[0]).__name__}.")
        return assemble("given", {"train": (texts, {})})


# --- Shared by all loaders: turns rows into splits of distinct texts and counts every row left out.


def assemble(
    name: str,
    splits: Mapping[str, tuple[Sequence[str], Mapping[str, Sequence[Any]]]],
    notes: Sequence[str] = (),
) -> Corpus:
    """Return a corpus of distinct, non-blank texts from (texts, columns) per split; "train" is required."""
    assembled: dict[str, Split] = {}
    all_notes = list(notes)
    for split, (texts, columns) in splits.items():
        keep, blank, repeated = find_distinct(texts)
        again = {key: tuple(values[i] for i in repeated) for key, values in columns.items()}
        assembled[split] = Split(
            tuple(texts[i] for i in keep),
            {key: tuple(values[i] for i in keep) for key, values in columns.items()},
            Repeats(tuple(repeated.values()), again) if repeated and columns else Repeats(),
        )
        left_out = f"{len(repeated):,} duplicates and {blank:,} blank rows left out"
        all_notes.append(f"{split}: {len(keep):,} distinct texts of {len(texts):,} rows ({left_out})")
    _check_train(name, assembled, all_notes)
    shared = _count_shared_with_train(assembled)
    if shared:
        all_notes.append(f"{shared:,} texts of other splits are also in train")
    return Corpus(name, assembled, tuple(all_notes))


def find_distinct(texts: Sequence[str]) -> tuple[list[int], int, dict[int, int]]:
    """Return the rows that are kept, the number of blank ones, and which kept one each other row repeats."""
    seen: dict[str, int] = {}
    keep: list[int] = []
    repeated: dict[int, int] = {}
    blank = 0
    for row, text in enumerate(texts):
        form = fold_text(text)
        if not form:
            blank += 1
        elif form in seen:
            repeated[row] = seen[form]
        else:
            seen[form] = len(keep)
            keep.append(row)
    return keep, blank, repeated


def _count_shared_with_train(splits: Mapping[str, Split]) -> int:
    if len(splits) == 1:  # a large file is read through once less
        return 0
    train = {fold_text(text) for text in splits["train"].texts}
    others = (split for name, split in splits.items() if name != "train")
    return sum(fold_text(text) in train for split in others for text in split.texts)


def _check_train(name: str, splits: Mapping[str, Split], notes: Sequence[str]) -> None:
    if "train" not in splits:
        raise CorpusError(
            f"Corpus '{name}' has no training split, only: {', '.join(splits) or '(nothing)'}. "
            "Candidates come from the training split: name the file or split to use."
        )
    distinct = len(splits["train"])
    if distinct < 2:
        raise CorpusError(
            f"Corpus '{name}' has {distinct} distinct text{'s' * (distinct != 1)} to draw candidates "
            f"from ({'; '.join(notes)}). An audit needs at least 2: check the file and the column."
        )


def refuse_surrogates(name: str, split: Split) -> None:
    """Refuse texts that are not Unicode."""
    for position, text in enumerate(split.texts):
        if has_surrogate(text):
            raise CorpusError(
                f"Text {position + 1} of corpus '{name}' holds half a surrogate pair, which is not Unicode "
                "text. Repair it where it was read (it was probably decoded with the wrong encoding)."
            )
