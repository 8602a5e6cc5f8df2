"""The run directory: what an audit did, in files that survive a kill at any moment.

Every file is written under a temporary name, flushed and renamed. Every table carries a key, the
hash of what determines it: a table whose key still fits is extended, any other is refused with the
difference shown.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from tedaudit.errors import RunDirectoryError, listed
from tedaudit.types import Corpus, Plan, Split

TEMPORARY = ".writing-"
_FORMAT = 1
_PARTS = ("name", "spec", "corpus", "plans")  # of a manifest, without which nothing can be read
_BEFORE_MANIFEST = {"corpus", "plans"}  # what a run writes before its first manifest


def key_of(determinants: Mapping[str, Any]) -> str:
    """Return the hash of what determines a table."""
    plain = json.dumps(determinants, sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader or a crash sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _flush_folder(path.parent)


def write_frame(path: Path, frame: pl.DataFrame, key: str) -> None:
    """Write a Parquet file that knows which table it belongs to."""
    import io

    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={"tedaudit": key})
    write_atomically(path, buffer.getvalue())


def read_frame(path: Path, key: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a Parquet file of a table; a damaged or foreign one is named, with the way out."""
    try:
        found = pl.read_parquet_metadata(path).get("tedaudit", "")
        # glob: the name of a run or a label may hold [ or *, which stand for themselves
        frame = pl.read_parquet(path, columns=list(columns) if columns else None, glob=False)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({str(error).splitlines()[0]}). Delete it and run the same command again: "
            "only what was in it is computed anew."
        ) from error
    if found != key:
        raise RunDirectoryError(
            f"'{path}' does not belong to this table: it was written by another run or program. "
            "Move it away and run the same command again."
        )
    return frame


def epsilon_name(epsilon: float) -> str:
    """Return how an epsilon is called in folders and tables."""
    return "any" if math.isinf(epsilon) else f"{epsilon:.12g}"


class RunDirectory:
    """One audit on disk. Texts are private, so only their owner may look into it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def manifest_path(self) -> Path:
        """Where the manifest lies."""
        return self.root / "manifest.json"

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
                    f"{listed(others[:5])}). Name a new or empty folder with `out`."
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
        """Return the manifest."""
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
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise RunDirectoryError(
                f"'{self.manifest_path}' is not a manifest of format {_FORMAT}; "
                "it was written by another version of tedaudit. Use a new run directory."
            )
        missing = [part for part in _PARTS if part not in data]
        if missing:
            raise RunDirectoryError(
                f"'{self.manifest_path}' is damaged (it lacks: {listed(missing)}). "
                "Restore it, or move the folder away and run again."
            )
        return data

    def manifest_bytes(self) -> bytes:
        """Return the manifest as it lies there, or nothing: tells whether another process has written."""
        return self.manifest_path.read_bytes() if self.manifest_path.is_file() else b""

    def write_manifest(self, data: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        text = json.dumps({"format": _FORMAT, **data}, indent=2, ensure_ascii=False, default=str)
        write_atomically(self.manifest_path, text.encode())

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

    def corpus(self) -> Corpus:
        """Return the texts that the run was made with."""
        about = self.manifest()["corpus"]
        splits = {}
        for name in about["splits"]:
            frame = read_frame(self.root / "corpus" / f"{name}.parquet", about["fingerprint"])
            columns = {key: tuple(frame[key].to_list()) for key in frame.columns if key != "text"}
            splits[name] = Split(tuple(frame["text"].to_list()), columns)
        return Corpus(about["name"], splits, tuple(about["notes"]))

    def write_plan(self, name: str, plan: Plan, key: str) -> None:
        """Store a plan."""
        columns: dict[str, Any] = {"secret": plan.secret, "replicate": plan.replicate}
        if plan.candidates is not None:
            columns["candidates"] = plan.candidates
        write_frame(self.root / "plans" / f"{name}.parquet", pl.DataFrame(columns), key)

    def plan(self, name: str, key: str) -> Plan | None:
        """Return a stored plan, or None where there is none yet."""
        path = self.root / "plans" / f"{name}.parquet"
        if not path.exists():
            return None
        frame = read_frame(path, key)
        candidates = frame["candidates"].to_numpy() if "candidates" in frame.columns else None
        return Plan(candidates, frame["secret"].to_numpy(), frame["replicate"].to_numpy())


def claim_table(folder: Path, determinants: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    """Return a table's key after checking that what lies there was determined in the same way."""
    key = check_table(folder, determinants)
    if not (folder / "table.json").exists() or _is_empty(folder):
        content = {"key": key, "about": about, "determinants": determinants}
        write_atomically(folder / "table.json", json.dumps(content, indent=1, default=str).encode())
    return key


def check_table(folder: Path, determinants: Mapping[str, Any]) -> str:
    """Return a table's key; refuse, with the difference, if the one that lies there has another."""
    key = key_of(determinants)
    if (folder / "table.json").exists():
        stored = table_info(folder)
        if stored["key"] != key and not _is_empty(folder):
            changes = difference(stored["determinants"], determinants)
            raise RunDirectoryError(
                f"'{folder}' was made with other settings: {changes}. Results "
                "cannot be mixed: choose another `out` or label, or delete that folder."
            )
    return key


def _is_empty(folder: Path) -> bool:
    """Return whether a table has no part yet, as when its plug-in failed at once: it may be made anew."""
    return not any(folder.glob("part-*"))


def table_info(folder: Path) -> dict[str, Any]:
    """Return a table's key and what it is about."""
    path = folder / "table.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        return {"key": info["key"], "about": info["about"], "determinants": info["determinants"]}
    except (ValueError, KeyError, TypeError, OSError) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({error}). Delete the folder '{folder}' and run the same command again."
        ) from error


def difference(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> str:
    """Return what changed, as "slots: 16 -> 8"."""
    plain_new = json.loads(json.dumps(new, default=str))
    changes = []
    for key in sorted({*old, *plain_new}):
        before, after = old.get(key, "(nothing)"), plain_new.get(key, "(nothing)")
        if isinstance(before, dict) and isinstance(after, dict):
            changes.append(difference(before, after, f"{prefix}{key}."))
        elif before != after:
            changes.append(f"{prefix}{key}: {before} -> {after}")
    return "; ".join(change for change in changes if change)


def _lock(lock: Any, root: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform: two writers at a time are the user's own risk
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunDirectoryError(
            f"Another process is writing to '{root}'. Wait for it to end, or name another folder with `out`."
        ) from error


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
