"""One writer at a time in a folder, and nothing left of one that was killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tedaudit.errors import RunDirectoryError, RunInUseError
from tedaudit.paths import describe_os_error
from tedaudit.store.files import TEMPORARY

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
        _lock(handle, root, wait=wait)
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


def _lock(handle: int, root: Path, *, wait: bool) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform: two writers at a time are the user's own risk
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError as error:
        raise RunInUseError(
            f"Another process is writing to '{root}'. Wait for it to end, or name another folder with `out`."
        ) from error
