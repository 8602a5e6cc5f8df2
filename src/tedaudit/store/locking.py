"""One writer at a time in a folder, and nothing left of one that was killed."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tedaudit.errors import RunDirectoryError, RunInUseError
from tedaudit.paths import describe_os_error
from tedaudit.store.files import TEMPORARY

LOCK = ".lock"


@contextmanager
def lock_folder(root: Path) -> Iterator[None]:
    """Keep other processes out of a folder for as long as this lasts."""
    path = root / LOCK
    try:
        # neither emptied nor followed: a link could name any file of its owner
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except OSError as error:
        if path.is_symlink():
            raise RunDirectoryError(
                f"'{path}' is a link to somewhere else, which tedaudit never makes. Remove it, and run the "
                "same command again."
            ) from error
        raise RunDirectoryError(
            f"'{root}' cannot be written to ({describe_os_error(error)}); name another folder with `out`."
        ) from error
    try:
        _lock(handle, root)
        yield
    finally:
        os.close(handle)


def clear_leftovers(root: Path) -> None:
    """Remove what a killed process left half-written."""
    for leftover in root.rglob(f"{TEMPORARY}*"):
        if leftover.is_symlink() or leftover.is_file():
            leftover.unlink(missing_ok=True)


def _lock(handle: int, root: Path) -> None:
    try:
        import fcntl
    except ImportError:  # not on this platform: two writers at a time are the user's own risk
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise RunInUseError(
            f"Another process is writing to '{root}'. Wait for it to end, or name another folder with `out`."
        ) from error
