"""Paths as people write them: `~` is the home folder, and what no file can be called is refused."""

import hashlib
import os
from collections.abc import Collection
from pathlib import Path

from tedaudit.errors import PathError, shorten

_LONGEST_NAME, _LONGEST_PATH = 255, 4095  # bytes, on the file systems in use
_DIGITS = 16  # of a checksum
_TOGETHER = 1 << 20  # bytes read at a time


def parse_path(written: str | Path) -> Path:
    """Return the path that somebody wrote, the home folder in the place of a leading `~`."""
    path, shown = Path(written), shorten(str(written), 80)
    try:
        path = path.expanduser()
        name = max((len(os.fsencode(part)) for part in path.parts), default=0)
        whole = len(os.fsencode(path))
    except RuntimeError as error:
        raise PathError(f"'{shown}' names the home folder of a user who is not known here.") from error
    except UnicodeEncodeError as error:
        raise PathError(f"'{shown}' holds half a surrogate pair; no file can be called that.") from error
    if "\0" in str(path):
        raise PathError(f"'{shown}' holds the character NUL; no file can be called that.")
    if name > _LONGEST_NAME or whole > _LONGEST_PATH:
        raise PathError(
            f"'{shown}' is too long: a name has at most {_LONGEST_NAME} bytes and a path {_LONGEST_PATH:,}; "
            f"this has one of {name:,}, and {whole:,} in all. Choose a shorter one."
        )
    return path


def explain_os_error(error: OSError) -> PathError:
    """Return an error of the operating system as one of ours: the file, the reason, the next step."""
    where = f"'{error.filename}'" if error.filename else "A file or folder"
    return PathError(
        f"{where} cannot be used ({describe_os_error(error)}). Check the path, its permissions and the room "
        "on the disk, and run the same command again: what is finished is kept."
    )


def describe_os_error(error: OSError) -> str:
    """Return what went wrong with a file, without its name."""
    return error.strerror or str(error) or type(error).__name__


def lock_file(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file for this process until it is closed; return whether no other process has it.

    Some platforms and file systems know no locks: there two at a time are the user's own risk.
    """
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def checksum_file(path: Path) -> str:
    """Return a hash of a file that is short enough to be shown."""
    return digest_file(path)[:_DIGITS]


def checksum_folder(folder: Path, endings: Collection[str] = ()) -> str:
    """Return a hash of all files in a folder and their names, or of those with one of some endings."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if not endings or path.suffix in endings:
            digest.update(str(path.relative_to(folder)).encode())
            with path.open("rb") as file:  # weights may not fit into memory
                while part := file.read(_TOGETHER):
                    digest.update(part)
    return digest.hexdigest()[:_DIGITS]
