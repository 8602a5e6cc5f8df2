"""Files that go where the user says: a file that is there already is replaced only if tedaudit wrote it.

A run, or the folder of an experiment, notes a digest of every file that was written from it, of name and
content together. So a file that somebody else made, edited since, or made from another run is known as such,
wherever the folders were moved to, and nothing needs to stand in the file itself: a CSV has no room for it.
"""

import contextlib
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from tedaudit.errors import PathError
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import write_atomically

RECORD = "exported.txt"  # a digest on each line


def check_target(path: Path, runs: Sequence[Path], *, force: bool = False) -> None:
    """Refuse a file that would be lost: one that was not written from any of these runs.

    `force` is the user's word that it may be. What a run itself consists of is refused even so.
    """
    target = _find_target(path)
    for run in runs:
        _refuse_part_of_run(target, path, RunDirectory(run))
    if target.is_dir():
        raise PathError(f"'{path}' is a folder; name a file.")
    if force or _holds_nothing(target) or any(_was_written(target, run) for run in runs):
        return
    source = f", or not from '{runs[0]}', or it was edited since" if runs else ""
    raise PathError(
        f"'{path}' already exists: tedaudit did not write it{source}. Name another file, or replace this one "
        "with --force."
    )


def write_exported(
    path: Path, content: bytes, runs: Sequence[Path], *, force: bool = False, private: bool = False
) -> None:
    """Write a file whole or not at all; one that is `private` can be read by its owner alone."""
    check_target(path, runs, force=force)
    target = _find_target(path)
    if _is_device(target):
        _write_through(target, content)
        return
    if not target.parent.is_dir():
        raise PathError(f"'{path}' cannot be written: there is no folder '{target.parent}'. Make it first.")
    for run in runs:
        _note(target, content, run)
    write_atomically(target, content, mode=0o600 if private else 0o666)


def _find_target(path: Path) -> Path:
    """Return the file that a path stands for, links followed: what they lead to would be overwritten."""
    given = parse_path(path)
    try:
        return given if _is_device(given) else given.resolve()
    except (OSError, RuntimeError) as error:  # links in a circle
        raise PathError(f"'{path}' cannot be written ({error}); name another file.") from error


def _is_device(path: Path) -> bool:
    """Return whether it is a pipe or a device, as /dev/stdout: nothing in it can be lost."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _holds_nothing(target: Path) -> bool:
    """Return whether there is no file, or an empty one, as `mktemp` makes it."""
    return not target.is_file() or target.stat().st_size == 0


def _refuse_part_of_run(target: Path, path: Path, run: RunDirectory) -> None:
    """Refuse what a run needs, and the folders of its tables."""
    if not run.manifest_path.is_file():
        return
    root = run.root.resolve()
    own = (
        run.manifest_path, run.summary, run.page, run.report, run.estimates, run.utility, run.certain_losses,
        run.pieces, run.files.path, run.root / RECORD,
    )  # fmt: skip
    in_a_folder = target.parent != root and target.is_relative_to(root)
    if in_a_folder or target in [one.resolve() for one in own]:
        raise PathError(
            f"'{path}' belongs to the run itself, which --out does not overwrite. Name another file."
        )


def _was_written(target: Path, run: Path) -> bool:
    try:
        return _digest(target, target.read_bytes()) in _read_record(run)
    except OSError:  # nobody may read it
        return False


def _find_record(run: Path) -> Path:
    return parse_path(run) / RECORD


def _read_record(run: Path) -> list[str]:
    record = _find_record(run)
    return record.read_text(encoding="ascii", errors="replace").split() if record.is_file() else []


def _note(target: Path, content: bytes, run: Path) -> None:
    """Note what is about to be written; who may only read the run notes nothing, and needs `force` later."""
    digest = _digest(target, content)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    with contextlib.suppress(OSError):
        if digest in _read_record(run):
            return
        with os.fdopen(os.open(_find_record(run), flags, 0o600), "wb") as record:
            record.write(f"{digest}\n".encode())


def _digest(target: Path, content: bytes) -> str:
    name = os.fsencode(target.name)
    return hashlib.sha256(b"%d %b %b" % (len(name), name, content)).hexdigest()


def _write_through(target: Path, content: bytes) -> None:
    try:
        target.write_bytes(content)
    except OSError as error:
        raise PathError(
            f"'{target}' cannot be written ({describe_os_error(error)}); name another file."
        ) from error
