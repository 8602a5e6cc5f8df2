"""The run directory: what an audit did, and the only place that knows a path inside it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from tedaudit.errors import RunDirectoryError, RunInUseError, join_names
from tedaudit.nominal import Nominal
from tedaudit.store.files import TEMPORARY, read_frame, write_atomically, write_frame
from tedaudit.store.formats import FORMAT, READABLE, upgrade_manifest
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.store.table_folder import TableFolder
from tedaudit.types import Corpus, Plan, Split

_PARTS = ("name", "spec", "corpus", "plans")  # of a manifest, without which nothing can be read
_BEFORE_MANIFEST = {"corpus", "plans"}  # what a run writes before its first manifest


class RunDirectory:
    """One audit on disk. Texts are private, so only their owner may look into it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._manifest: dict[str, Any] | None = None
        self._corpus: Corpus | None = None

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
        """Where calibration cards lie."""
        return self.root / "cards"

    def figure(self, plan: str) -> Path:
        """Return where the figures of a plan lie, without the ending."""
        return self.root / "figures" / plan

    def exists(self) -> bool:
        """Return whether there is a run here; anything else in the way is refused."""
        if self.manifest_path.is_file():
            return True
        if self.root.is_dir():
            others = [p.name for p in self.root.iterdir() if not p.name.startswith((".lock", TEMPORARY))]
            killed_at_once = (self.root / ".lock").is_file() and _BEFORE_MANIFEST.issuperset(others)
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
                f"'{self.root}' cannot be made ({error.strerror}); name another folder with `out`."
            ) from error

    def manifest(self) -> dict[str, Any]:
        """Return the manifest, in the current format; it is read once."""
        if self._manifest is None:
            self._manifest = upgrade_manifest(self._read_manifest())
        return self._manifest

    def _read_manifest(self) -> dict[str, Any]:
        try:
            data = json.loads(self.manifest_path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise RunDirectoryError(
                f"'{self.root}' is not a run directory: it has no manifest.json. `tedaudit run` makes one."
            ) from error
        except ValueError as error:
            raise RunDirectoryError(
                f"'{self.manifest_path}' is damaged ({error}). "
                "Restore it, or move the folder away and run again."
            ) from error
        if not isinstance(data, dict) or data.get("format") not in READABLE:
            raise RunDirectoryError(
                f"'{self.manifest_path}' is not a manifest of format {join_names(map(str, READABLE))}; "
                "it was written by another version of tedaudit. Use a new run directory."
            )
        missing = [part for part in _PARTS if part not in data]
        if missing:
            raise RunDirectoryError(
                f"'{self.manifest_path}' is damaged (it lacks: {join_names(missing)}). "
                "Restore it, or move the folder away and run again."
            )
        return data

    def manifest_bytes(self) -> bytes:
        """Return the manifest as it is on disk, or nothing: tells whether another process has written."""
        return self.manifest_path.read_bytes() if self.manifest_path.is_file() else b""

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps({**data, "format": FORMAT}, indent=2, ensure_ascii=False, default=str)
        write_atomically(self.manifest_path, text.encode())
        self._manifest = json.loads(text)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out while writing, and clear what a killed one left half-written."""
        self.create()
        with (self.root / ".lock").open("w") as lock:
            _lock(lock, self.root)
            for leftover in self.root.rglob(f"{TEMPORARY}*"):
                leftover.unlink()
            yield

    def write_corpus(self, corpus: Corpus) -> None:
        """Store the texts with their columns and splits."""
        for name, split in corpus.splits.items():
            columns = {key: pl.Series(list(values), strict=False) for key, values in split.columns.items()}
            frame = pl.DataFrame({"text": list(split.texts), **columns})
            write_frame(self.root / "corpus" / f"{name}.parquet", frame, corpus.fingerprint)
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
            frame = read_frame(self.root / "corpus" / f"{name}.parquet", about["fingerprint"])
            columns = {key: tuple(frame[key].to_list()) for key in frame.columns if key != "text"}
            splits[name] = Split(tuple(frame["text"].to_list()), columns)
        self._corpus = Corpus(about["name"], splits, tuple(about["notes"]))
        return self._corpus

    def write_plan(self, name: str, plan: Plan, key: str) -> None:
        """Store a plan."""
        columns: dict[str, Any] = {"secret": plan.secret, "replicate": plan.replicate}
        if plan.candidates is not None:
            columns["candidates"] = plan.candidates
        write_frame(self.root / "plans" / f"{name}.parquet", pl.DataFrame(columns), key)

    def plan(self, name: str, key: str) -> Plan | None:
        """Return a stored plan, or None if there is none yet."""
        path = self.root / "plans" / f"{name}.parquet"
        if not path.exists():
            return None
        frame = read_frame(path, key)
        candidates = frame["candidates"].to_numpy() if "candidates" in frame.columns else None
        return Plan(candidates, frame["secret"].to_numpy(), frame["replicate"].to_numpy())

    def read_plan(self, name: str) -> Plan:
        """Return a plan that findings of the run speak of."""
        plan = self.plan(name, self.manifest()["plans"][name]["key"])
        if plan is None:
            raise RunDirectoryError(f"'{self.root}' lacks its plan '{name}'; run the same command again.")
        return plan

    def rewrites_folder(self, label: str, epsilon: Nominal) -> TableFolder:
        """Return where the rewrites of a mechanism at an epsilon lie."""
        return TableFolder(self.root / "rewrites" / label / epsilon.name)

    def guesses_folder(self, plan: str, label: str, epsilon: Nominal, attack: str) -> TableFolder:
        """Return where the guesses of an attack on a plan, mechanism and epsilon lie."""
        return TableFolder(self.root / "guesses" / plan / label / epsilon.name / attack)

    def rewrites(self, label: str, epsilon: Nominal) -> RewriteTable:
        """Return the stored rewrites of a mechanism at an epsilon."""
        folder = self.rewrites_folder(label, epsilon)
        return RewriteTable(folder, folder.info().key)

    def guesses(self, plan: str, label: str, epsilon: Nominal, attack: str) -> GuessTable:
        """Return the stored guesses of an attack on a plan, mechanism and epsilon."""
        folder = self.guesses_folder(plan, label, epsilon, attack)
        return GuessTable(folder, folder.info().key)

    def guess_folders(self) -> list[TableFolder]:
        """Return all tables of guesses, by plan, mechanism, epsilon and attack."""
        folders = (TableFolder(path) for path in sorted((self.root / "guesses").glob("*/*/*/*"), key=_order))
        return [folder for folder in folders if folder.was_begun()]

    def rewrite_folders(self) -> Iterator[tuple[str, Nominal, TableFolder]]:
        """Yield all tables of rewrites, with mechanism and epsilon."""
        for path in sorted((self.root / "rewrites").glob("*/*")):
            if TableFolder(path).exists():
                yield path.parent.name, Nominal.of(path.name), TableFolder(path)

    def has_guesses(self, plan: str) -> bool:
        """Return whether any attack has guessed on a plan."""
        return any((self.root / "guesses" / plan).rglob("part-*"))


def _order(path: Path) -> tuple[str, str, float, str]:
    """Return plan, mechanism, epsilon and attack of a table of guesses."""
    plan, label, epsilon, attack = path.parts[-4:]
    return plan, label, Nominal.of(epsilon), attack


def _lock(lock: Any, root: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform: two writers at a time are the user's own risk
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunInUseError(
            f"Another process is writing to '{root}'. Wait for it to end, or name another folder with `out`."
        ) from error
