"""Files that survive a kill at any moment, and say what they are: of which table, in which place, and whole.

Every file is written under a temporary name, flushed and renamed. Every table carries a key, the
hash of what determines it; every file of a table its own name and a checksum.
"""

import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from tedaudit.errors import RunDirectoryError, RunInUseError
from tedaudit.paths import describe_os_error, lock_file
from tedaudit.runs.checksums import (
    BLANK_NOTE,
    FIELD,
    ChecksumError,
    check_footer,
    check_parquet,
    footer_length,
    seal_parquet,
)

TEMPORARY = ".writing-"
_KEY = "tedaudit"  # under which a Parquet file carries the key of its table,
_NAME = "file"  # and its own name: a part that was put into the place of another is noticed
_LEVEL = 1  # of zstd: a third of the time of level 3, for a twentieth more bytes
_BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, ChecksumError)


def key_of(determinants: Mapping[str, Any]) -> str:
    """Return the hash of what determines a table."""
    plain = json.dumps(determinants, sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()


def make_folders(path: Path, root: Path | None) -> None:
    """Make a folder below another, which must be there; without one, whatever is missing is made."""
    try:
        if root is None:
            path.mkdir(parents=True, exist_ok=True)
            return
        folders = [path, *path.parents]
        for folder in reversed(folders[: folders.index(root)]):
            folder.mkdir(exist_ok=True)
    except OSError as error:
        gone = root is not None and not root.is_dir()
        reason = f"'{root}' was deleted or moved while it was in use" if gone else describe_os_error(error)
        raise RunDirectoryError(
            f"'{path}' cannot be made ({reason}). Run the same command again, or name another folder."
        ) from error


def write_atomically(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file so that a reader or a crash sees all of it or nothing; its folder must be there."""
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{path.name}")
    try:
        temporary.unlink(missing_ok=True)
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)  # never what a link points to
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except OSError as error:
        _forget(temporary)
        raise _unwritable(path, error) from error


def write_frame(path: Path, frame: pl.DataFrame, key: str, notes: Mapping[str, str] | None = None) -> None:
    """Write a Parquet file that says what it is; `notes` stand in its metadata."""
    write_atomically(path, make_parquet(path.name, frame, key, notes))


def make_parquet(name: str, frame: pl.DataFrame, key: str, notes: Mapping[str, str] | None = None) -> bytes:
    """Return a Parquet file that says what it is; `notes` stand in its metadata."""
    buffer = io.BytesIO()
    identity = {_KEY: key, _NAME: name, FIELD: BLANK_NOTE}
    frame.write_parquet(buffer, compression_level=_LEVEL, metadata={**(notes or {}), **identity})
    return seal_parquet(buffer.getvalue())


def read_frame(path: Path, key: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return a Parquet file of a table; a damaged or foreign one is named, with the way out."""
    return parse_frame(path, read_part(path), key, columns)


def read_part(path: Path) -> bytes:
    """Return the bytes of a file of a table."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise _damaged(path, error) from error


def parse_frame(path: Path, raw: bytes, key: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Return the table of a file whose bytes these are."""
    try:
        has_checksum = check_parquet(raw)
        notes = pl.read_parquet_metadata(io.BytesIO(raw))
        _check_identity(path, key, notes)
        _refuse_lost_checksum(has_checksum=has_checksum)
        return pl.read_parquet(io.BytesIO(raw), columns=list(columns) if columns else None)
    except _BROKEN as error:
        raise _damaged(path, error) from error


def count_rows(path: Path) -> int:
    """Return how many rows a Parquet file has, by its footer; 0 if there is none."""
    try:
        if not path.is_file():
            return 0
        with path.open("rb") as part:  # a path is a pattern; labels may have [brackets]
            return int(pl.scan_parquet(part).select(pl.len()).collect().item())
    except _BROKEN as error:
        raise _damaged(path, error) from error


def read_notes(path: Path, key: str) -> Mapping[str, str]:
    """Return what stands in the metadata of a Parquet file of a table; its data is not read."""
    try:
        footer = _read_footer(path)
        has_checksum = check_footer(footer) is not None
        notes: Mapping[str, str] = pl.read_parquet_metadata(io.BytesIO(b"PAR1" + footer))
        _check_identity(path, key, notes)
        _refuse_lost_checksum(has_checksum=has_checksum)
    except _BROKEN as error:
        raise _damaged(path, error) from error
    return notes


def _check_identity(path: Path, key: str, notes: Mapping[str, str]) -> None:
    """Refuse a file of another table or place."""
    if notes.get(_KEY, "") != key or notes.get(_NAME, path.name) != path.name:
        raise RunDirectoryError(
            f"'{path}' does not belong to this table, or not into this place: it was written by another run "
            "or program, or has another name. Move it away and run the same command again."
        )


def _refuse_lost_checksum(*, has_checksum: bool) -> None:
    if not has_checksum:
        raise ChecksumError("it lacks the checksum that it was written with")


def _read_footer(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - 8))
        length = footer_length(file.read())
        if not 8 < length <= size:
            raise ChecksumError("it has no footer")
        file.seek(size - length)
        return file.read()


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
    if isinstance(error, FileNotFoundError):
        return RunDirectoryError(f"'{path}' is missing; run the same command again, which makes it again.")
    if isinstance(error, OSError):
        reason = describe_os_error(error)
        return RunDirectoryError(f"'{path}' cannot be read ({reason}). Check its permissions and the disk.")
    reason = str(error).partition("\n")[0]
    return RunDirectoryError(
        f"'{path}' is damaged ({reason}). Delete it and run the same command again: "
        "only what was in it is computed again."
    )


def _unwritable(path: Path, error: OSError) -> RunDirectoryError:
    if not path.parent.is_dir():
        return RunDirectoryError(
            f"'{path}' cannot be written: its folder was deleted or moved while it was in use. Run the same "
            "command again."
        )
    return RunDirectoryError(
        f"'{path}' cannot be written ({describe_os_error(error)}). Make room or name another folder, and run "
        "the same command again: what is finished is kept."
    )


def _forget(temporary: Path) -> None:
    try:
        temporary.unlink(missing_ok=True)
    except OSError:
        return  # the reason why it could not be written is the one to be told


def _flush_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# --- One writer at a time in a folder, and nothing left of one that was killed.

LOCK = ".lock"
CLAIM = ".claim.json"  # which audit a folder was made for, if nobody named the folder


@contextmanager
def lock_folder(root: Path, name: str = LOCK, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes out of a folder for as long as this lasts; `wait` for one that is in it."""
    path = root / name
    try:
        # neither emptied nor followed: a link could name any file of its owner
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        refuse_link(path)
        raise RunDirectoryError(
            f"'{root}' cannot be written to ({describe_os_error(error)}); name another folder with `out`."
        ) from error
    try:
        if not lock_file(handle, wait=wait):
            raise RunInUseError(
                f"Another process is writing to '{root}'. Wait for it to end, or name another folder with "
                "`out`."
            )
        yield
    finally:
        os.close(handle)


def refuse_link(path: Path) -> Path:
    """Return a path of a run unless it is a link, which could lead to any file or folder of its owner."""
    if path.is_symlink():
        raise RunDirectoryError(
            f"'{path}' is a link to somewhere else, which tedaudit never makes. Remove it, and run the same "
            "command again."
        )
    return path


def clear_leftovers(root: Path) -> None:
    """Remove what a killed process left half-written."""
    for leftover in root.rglob(f"{TEMPORARY}*"):
        if leftover.is_symlink() or leftover.is_file():
            leftover.unlink(missing_ok=True)
