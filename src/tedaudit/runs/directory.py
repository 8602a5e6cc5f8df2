"""The run directory: what an audit did, and the only place that knows a path inside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Corpus, Plan, Repeats, Split
from tedaudit.runs.file_list import LIST, FileList
from tedaudit.runs.files import (
    CLAIM,
    LOCK,
    TEMPORARY,
    clear_leftovers,
    count_rows,
    lock_folder,
    make_folders,
    read_frame,
    read_notes,
    refuse_link,
    write_frame,
)
from tedaudit.runs.formats import read_manifest, write_manifest
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.table_folder import TableFolder, parse_epsilon
from tedaudit.text.characters import replace_surrogates

REPEATS = "train.repeats.parquet"
_BEFORE_MANIFEST = {"corpus", "plans", LIST}  # what a run writes before its first manifest


class RunDirectory:
    """One audit on disk. Texts are private, so only their owner may look into it."""

    def __init__(self, root: Path) -> None:
        self.root = parse_path(root)
        self.files = FileList(self.root, self._name_list)
        self._manifest: dict[str, Any] | None = None
        self._corpus: Corpus | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RunDirectory, (self.root,)  # what it has read stays in its process

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RunDirectory) and self.root == other.root

    def __hash__(self) -> int:
        return hash(self.root)

    def __repr__(self) -> str:
        return f"RunDirectory({str(self.root)!r})"

    @property
    def manifest_path(self) -> Path:
        """Where the manifest lies."""
        return self.root / "manifest.json"

    @property
    def claim(self) -> Path:
        """Where it is noted which audit the folder was made for, if nobody named the folder."""
        return self.root / CLAIM

    @property
    def page(self) -> Path:
        """Where the report for a browser lies."""
        return self.root / "report.html"

    @property
    def report(self) -> Path:
        """Where the report as Markdown lies."""
        return self.root / "report.md"

    @property
    def summary(self) -> Path:
        """Where the findings lie as JSON."""
        return self.root / "summary.json"

    @property
    def estimates(self) -> Path:
        """Where the findings lie as a table."""
        return self.root / "estimates.parquet"

    @property
    def utility(self) -> Path:
        """Where a study of utility leaves its result for the report."""
        return self.root / "utility.json"

    @property
    def cards(self) -> Path:
        """Where calibration cards lie; a link to somewhere else is refused."""
        return refuse_link(self.root / "cards")

    @property
    def certain_losses(self) -> Path:
        """Where losses above a claim lie that were computed twice."""
        return self.root / "certain.json"

    @property
    def pieces(self) -> Path:
        """Where it lies how mechanisms cut texts whose losses are told: classes of words, and no text."""
        return self.root / "pieces.json"

    @property
    def sections(self) -> Path:
        """Where what was found beside the findings waits for the report: a file for each section."""
        return self.root / "sections"

    def study(self, name: str, label: str, epsilon: Nominal) -> "RunDirectory":
        """Return the run of fresh trials that a study of one mechanism and epsilon made."""
        return RunDirectory(self.root / "studies" / name / label / epsilon.name)

    def studies(self, name: str) -> list["RunDirectory"]:
        """Return the runs of fresh trials that a study made, by mechanism and epsilon."""
        folders = [path for path in (self.root / "studies").glob("*/*/*") if path.parts[-3] == name]
        return [RunDirectory(path) for path in sorted(folders) if RunDirectory(path).manifest_path.is_file()]

    def fresh(self, name: str) -> "RunDirectory":
        """Return the run of fresh trials that belongs to one target of a calibration."""
        return RunDirectory(self.root / "studies" / name)

    def figure(self, plan: str) -> Path:
        """Return where the figures of a plan lie, without the ending; a link to somewhere else is refused."""
        return refuse_link(self.root / "figures") / plan

    def exists(self) -> bool:
        """Return whether there is a run here; anything else in the way is refused."""
        try:
            return self._exists()
        except OSError as error:
            raise RunDirectoryError(
                f"'{self.root}' cannot be read ({describe_os_error(error)}); name another folder with `out`."
            ) from error

    def _exists(self) -> bool:
        if self.manifest_path.is_file():
            return True
        if self.root.is_dir():
            others = [p.name for p in self.root.iterdir() if not p.name.startswith((LOCK, TEMPORARY, CLAIM))]
            killed_at_once = (self.root / LOCK).is_file() and _BEFORE_MANIFEST.issuperset(others)
            if others and not killed_at_once:
                raise RunDirectoryError(
                    f"'{self.root}' is not empty and holds no run (no manifest.json; it has: "
                    f"{join_names(others[:5])}). Name a new or empty folder with `out`."
                )
        elif self.root.exists():
            raise RunDirectoryError(f"'{self.root}' is a file; name a folder with `out`.")
        return False

    def create(self) -> None:
        """Make the folder, closed to others; an empty one that is there already is closed too."""
        try:
            self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not self.manifest_path.exists():
                self.root.chmod(0o700)
        except OSError as error:
            raise RunDirectoryError(
                f"'{self.root}' cannot be made ({describe_os_error(error)}); name another folder with `out`."
            ) from error

    def manifest(self) -> dict[str, Any]:
        """Return the manifest; it is read once."""
        if self._manifest is None:
            self._manifest = read_manifest(self.manifest_path)
        return self._manifest

    def manifest_bytes(self) -> bytes:
        """Return the manifest as it is on disk, or nothing: tells whether another process has written."""
        return self.manifest_path.read_bytes() if self.manifest_path.is_file() else b""

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        files = self._name_list() or self.files.begin()
        self._manifest = write_manifest(self.manifest_path, {**data, "files": files})

    def note_redaction(self, *, redacted: bool) -> None:
        """Note whether what people are shown of this run is without texts, whichever command writes it."""
        self.manifest()  # refuses what is no run
        self.files.note_redaction(redacted=redacted)

    @contextmanager
    def locked(self, *, wait: bool = False) -> Iterator[None]:
        """Keep other processes out while writing, and clear what a killed one left half-written.

        Whoever waits is one of several that write, and clears nothing of the others.
        """
        self.create()
        with lock_folder(self.root, wait=wait):
            if not wait:
                clear_leftovers(self.root)
            self._manifest = None  # another process may have written it
            yield

    def write_corpus(self, corpus: Corpus) -> None:
        """Store the texts with their columns and splits."""
        for name, split in corpus.splits.items():
            frame, notes = frame_of_split(split)
            write_frame(self._folder("corpus") / f"{name}.parquet", frame, corpus.fingerprint, notes)
        self._corpus = None

    def write_repeats(self, corpus: Corpus) -> None:
        """Store the rows that repeat a text, too: whoever audits authors must know to whom they give it."""
        frame = frame_of_repeats(corpus.splits["train"].repeats)
        write_frame(self._folder("corpus") / REPEATS, frame, corpus.fingerprint)
        self._corpus = None

    def has_corpus(self, corpus: Corpus) -> bool:
        """Return whether every split of the corpus is stored."""
        return all((self.root / "corpus" / f"{split}.parquet").exists() for split in corpus.splits)

    def corpus(self) -> Corpus:
        """Return the texts that the run was made with."""
        if self._corpus is not None:
            return self._corpus
        about = self.manifest()["corpus"]
        splits = {}
        for name in about["splits"]:
            path = self.root / "corpus" / f"{name}.parquet"
            frame = read_frame(path, about["fingerprint"])
            splits[name] = split_of_frame(frame, read_notes(path, about["fingerprint"]), path)
        if about.get("has_repeats"):
            frame = read_frame(self.root / "corpus" / REPEATS, about["fingerprint"])
            splits["train"] = replace(splits["train"], repeats=repeats_of_frame(frame))
        self._corpus = Corpus(about["name"], splits, tuple(about["notes"]))
        return self._corpus

    def write_plan(self, name: str, plan: Plan, key: str) -> None:
        """Store a plan."""
        columns: dict[str, Any] = {"secret": plan.secret, "replicate": plan.replicate}
        if plan.candidates is not None:
            columns["candidates"] = plan.candidates
        if plan.released is not None:
            columns |= {"released": plan.released, "known": np.full(len(plan), plan.known, np.int32)}
        write_frame(self._folder("plans") / f"{name}.parquet", pl.DataFrame(columns), key)

    def plan(self, name: str, key: str) -> Plan | None:
        """Return a stored plan, or None if there is none yet."""
        path = self.root / "plans" / f"{name}.parquet"
        if not path.exists():
            return None
        frame = read_frame(path, key)
        candidates = frame["candidates"].to_numpy() if "candidates" in frame.columns else None
        plan = Plan(candidates, frame["secret"].to_numpy(), frame["replicate"].to_numpy())
        if "released" not in frame.columns:
            return plan
        return replace(plan, released=frame["released"].to_numpy(), known=max(frame["known"], default=1))

    def count_plan(self, name: str) -> int:
        """Return how many rows a stored plan has; 0 if there is none."""
        return count_rows(self.root / "plans" / f"{name}.parquet")

    def read_plan(self, name: str) -> Plan:
        """Return a plan that findings of the run speak of."""
        plan = self.plan(name, self.manifest()["plans"][name]["key"])
        if plan is None:
            raise RunDirectoryError(f"'{self.root}' lacks its plan '{name}'; run the same command again.")
        return plan

    def rewrites_folder(self, label: str, epsilon: Nominal) -> TableFolder:
        """Return where the rewrites of a mechanism at an epsilon lie."""
        return TableFolder(self.root / "rewrites" / label / epsilon.name, self.root)

    def own_rewrites_folder(self, label: str, epsilon: Nominal) -> TableFolder:
        """Return where rewrites for adversaries lie, which no audited trial uses."""
        return TableFolder(self.root / "own_rewrites" / label / epsilon.name, self.root)

    def guesses_folder(self, plan: str, label: str, epsilon: Nominal, attack: str) -> TableFolder:
        """Return where the guesses of an attack on a plan, mechanism and epsilon lie."""
        return TableFolder(self.root / "guesses" / plan / label / epsilon.name / attack, self.root)

    def rewrites(self, label: str, epsilon: Nominal) -> RewriteTable:
        """Return the stored rewrites of a mechanism at an epsilon."""
        folder = self.rewrites_folder(label, epsilon)
        return RewriteTable(folder, folder.info().key)

    def count_own_rewrites(self, label: str, epsilon: Nominal) -> int:
        """Return how many rewrites were made for adversaries at an epsilon."""
        folder = self.own_rewrites_folder(label, epsilon)
        return len(RewriteTable(folder, folder.info().key)) if folder.exists() else 0

    def guesses(self, plan: str, label: str, epsilon: Nominal, attack: str) -> GuessTable:
        """Return the stored guesses of an attack on a plan, mechanism and epsilon."""
        folder = self.guesses_folder(plan, label, epsilon, attack)
        return GuessTable(folder, folder.info().key)

    def guess_folders(self) -> list[TableFolder]:
        """Return all tables of guesses, by plan, mechanism, epsilon and attack."""
        plans, found = self.manifest()["plans"], []
        for path in (self.root / "guesses").glob("*/*/*/*"):
            folder = TableFolder(path, self.root)
            if folder.was_begun():
                found.append((folder.place_of_guesses(plans), folder))
        return [folder for _, folder in sorted(found, key=lambda entry: entry[0])]

    def rewrite_folders(self) -> Iterator[tuple[str, Nominal, TableFolder]]:
        """Yield all tables of rewrites, with mechanism and epsilon."""
        for path in sorted((self.root / "rewrites").glob("*/*")):
            if TableFolder(path).exists():
                yield path.parent.name, parse_epsilon(path), TableFolder(path, self.root)

    def _folder(self, name: str) -> Path:
        """Return a folder of the run, made if it is not there yet."""
        make_folders(self.root / name, self.root)
        return self.root / name

    def _name_list(self) -> str:
        """Return how the manifest names the list of files that must be there; or nothing."""
        return str(self.manifest()["files"]) if self.manifest_path.exists() else ""

    def has_guesses(self, plan: str) -> bool:
        """Return whether any attack has guessed on a plan."""
        return any((self.root / "guesses" / plan).rglob("part-*"))


# --- A split of a corpus as a table, and back: the texts, and a column for every label.
#
# Labels come from anybody's file: a column may have any name and hold anything. What no column of a table
# can hold as it is, is stored as JSON.

_TEXTS = "texts"  # the note that says which column holds the texts
_USUAL = "text"
_POSITION, _VALUE = "position", "column "
_PLAIN: dict[type, Any] = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}


def frame_of_split(split: Split) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the table of a split, and the note that says which of its columns holds the texts."""
    columns = {replace_surrogates(name): _to_series(values) for name, values in split.columns.items()}
    name = _USUAL
    while name in columns:
        name += "_"
    return pl.DataFrame({name: pl.Series(split.texts, dtype=pl.String), **columns}), {_TEXTS: name}


def split_of_frame(frame: pl.DataFrame, notes: Mapping[str, str], path: Path) -> Split:
    """Return the split in a table."""
    name = notes.get(_TEXTS, "")
    if name not in frame.columns or frame[name].dtype != pl.String or frame[name].has_nulls():
        raise RunDirectoryError(
            f"'{path}' is damaged (it lacks the column of texts). Delete it and run the same command again."
        )
    columns = {key: tuple(frame[key].to_list()) for key in frame.columns if key != name}
    return Split(tuple(frame[name].to_list()), columns)


def frame_of_repeats(repeats: Repeats) -> pl.DataFrame:
    """Return the table of the rows that repeat a text: its position, and every value as a string."""
    columns = {
        f"{_VALUE}{replace_surrogates(name)}": [
            None if value is None else replace_surrogates(str(value)) for value in values
        ]
        for name, values in repeats.columns.items()
    }
    return pl.DataFrame(
        {_POSITION: repeats.positions, **columns},
        schema={_POSITION: pl.Int32, **dict.fromkeys(columns, pl.String)},
    )


def repeats_of_frame(frame: pl.DataFrame) -> Repeats:
    """Return the rows that repeat a text."""
    columns = {name.removeprefix(_VALUE): tuple(frame[name].to_list()) for name in frame.columns[1:]}
    return Repeats(tuple(frame[_POSITION].to_list()), columns)


def _to_series(values: Sequence[Any]) -> pl.Series:
    """Return a column of one plain type, missing values left out; or else every value as JSON."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else str
        small = kind is not int or all(value is None or -(2**63) <= value < 2**63 for value in values)
        if kind in _PLAIN and small:
            plain = [replace_surrogates(value) if kind is str and value else value for value in values]
            return pl.Series(plain, dtype=_PLAIN[kind])
    return pl.Series([None if value is None else _to_json(value) for value in values], dtype=pl.String)


def _to_json(value: Any) -> str:
    """Return any value as JSON, which is escaped and so holds no lone surrogate."""
    return json.dumps(value, default=lambda other: replace_surrogates(str(other)))
