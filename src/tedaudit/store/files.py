"""Files that survive a kill at any moment, and the keys that say which table they belong to.

Every file is written under a temporary name, flushed and renamed. Every table carries a key, the
hash of what determines it.
"""

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tedaudit.errors import RunDirectoryError

TEMPORARY = ".writing-"
_KEY = "tedaudit"  # under which a Parquet file carries the key of its table


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


def write_frame(path: Path, frame: pl.DataFrame, key: str, notes: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file that knows which table it belongs to; `notes` stand in its metadata."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={**(notes or {}), _KEY: key})
    write_atomically(path, buffer.getvalue())


def read_frame(path: Path, key: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a Parquet file of a table; a damaged or foreign one is named, with the way out."""
    read_notes(path, key)
    try:
        # glob: the name of a run or a label may hold [ or *, which stand for themselves
        return pl.read_parquet(path, columns=list(columns) if columns else None, glob=False)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _damaged(path, error) from error


def read_notes(path: Path, key: str) -> Mapping[str, str]:
    """Return what stands in the metadata of a Parquet file of a table."""
    try:
        notes: Mapping[str, str] = pl.read_parquet_metadata(path)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise _damaged(path, error) from error
    if notes.get(_KEY, "") != key:
        raise RunDirectoryError(
            f"'{path}' does not belong to this table: it was written by another run or program. "
            "Move it away and run the same command again."
        )
    return notes


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


def _damaged(path: Path, error: BaseException) -> RunDirectoryError:
    return RunDirectoryError(
        f"'{path}' is damaged ({str(error).splitlines()[0]}). Delete it and run the same command again: "
        "only what was in it is computed anew."
    )


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
