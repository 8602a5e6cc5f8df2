"""The list of the files beside a run's tables: the digest of each, and whether the run is redacted.

Tables carry checksums of their own. What was found beside them (sections, certain losses, utility) and what
is shown to people (page, report, summary, estimates, figures, cards) is read by other programs or has a
published shape, so that its digests stand here, in one sealed file. It tells damage, mix-ups and careless
edits; who computes digests anew is not stopped.

Every such file is written by `write`. The list admits its new state before the file is put into place, and
forgets the old one afterwards: whenever a process is killed, the file is in a state that the list knows.
"""

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tedaudit.errors import RunDirectoryError
from tedaudit.paths import describe_os_error
from tedaudit.runs.checksums import ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.files import TEMPORARY, lock_folder, make_folders, write_atomically

LIST = "files.json"
SHOWN = ("report.html", "report.md", "summary.json", "estimates.parquet", "figures", "cards", "sections")
"""What people are shown, and may pass on if the run is redacted: files, and folders of files."""
FOUND = ("certain.json", "pieces.json", "utility.json")
"""What reports are made from beside sections; never to be passed on."""
SECTIONS = "sections"
_INSIDE = {"figures": ("*.pdf", "*.png"), "cards": ("*.card.md", "*.card.json"), SECTIONS: ("*.json",)}
_LOCK = ".lock-files"
_ABSENT = ""  # the state of a file that is not there
States = dict[str, bool]  # digests that a file may have, and whether it is then without texts


@dataclass(frozen=True)
class _Listed:
    """What the list says."""

    run: str = ""  # as the manifest names it: the list of another run is noticed
    redacted: bool = False
    files: Mapping[str, States] = field(default_factory=dict)

    @classmethod
    def parse(cls, content: Any) -> "_Listed":
        """Return a list as it was written."""
        if not check_json(content):
            raise ChecksumError("it lacks its checksum")
        files = {
            _check_name(name): {str(digest): bool(clean) for digest, clean in states.items()}
            for name, states in content["files"].items()
        }
        return cls(str(content["run"]), bool(content["redacted"]), files)

    def to_bytes(self) -> bytes:
        """Return the list as it is written."""
        plain = {"run": self.run, "redacted": self.redacted, "files": self.files}
        return json.dumps(seal_json(plain), indent=1, sort_keys=True).encode()

    def list_full(self) -> list[str]:
        """Return what is shown and may hold texts, in one of the states that it may have."""
        return [
            name
            for name, states in self.files.items()
            if _is_shown(name) and not all(clean for state, clean in states.items() if state != _ABSENT)
        ]


class FileList:
    """The files beside the tables of a run, and their list.

    `expected` returns how the manifest names the list that must be there, or nothing while there is no
    manifest.
    """

    def __init__(self, root: Path, expected: Callable[[], str]) -> None:
        self._root, self._expected = root, expected

    @property
    def path(self) -> Path:
        """Where the list lies."""
        return self._root / LIST

    @property
    def is_redacted(self) -> bool:
        """Whether everything that is shown is written without texts."""
        listed = self._read()
        return listed is not None and listed.redacted

    def read(self, path: Path) -> bytes | None:
        """Return what is in a file of the list, or None without one; one that does not fit is refused."""
        raw, fits = self._compare(path)
        if not fits and os.access(self._root, os.W_OK):  # another process may have been writing it
            with lock_folder(self._root, _LOCK, wait=True):
                raw, fits = self._compare(path)
        if not fits:
            raise RunDirectoryError(self._describe_misfit(path))
        return raw

    def write(self, contents: Mapping[Path, bytes], *, redacted: bool) -> None:
        """Write files that belong together; `redacted` says that none of them holds a text."""
        files = {self._name(path): (path, content) for path, content in contents.items()}
        with self._changing() as listed:
            if listed.redacted and not redacted and any(map(_is_shown, files)):
                raise RunDirectoryError(
                    f"'{self._root}' was redacted while this command was working, and nothing with texts is "
                    "written into it any more. Run the same command again."
                )
            before = self._remove_full(listed)
            new = {name: {_digest(content): redacted} for name, (_, content) in files.items()}
            known = {name: before.files.get(name, {_ABSENT: True}) for name in files}
            self._store(before, {name: {**known[name], **states} for name, states in new.items()})
            for path, content in files.values():
                make_folders(path.parent, self._root)
                _clear_leftovers(path)
                write_atomically(path, content)
            self._store(before, new)

    def begin(self) -> str:
        """Make sure that there is a list, and return its name for the manifest to hold."""
        with self._changing() as listed:
            if not self.path.exists():
                self._store(listed, {})
            return listed.run

    def note_redaction(self, *, redacted: bool) -> None:
        """Note whether what is shown is without texts from now on; if so, what may hold some is removed.

        Sections are not removed: reports are made from them, and whoever writes these strips them first. A
        list that is lost is made anew, since the one thing that nobody could know has now been said.
        """
        with self._changing(lost=not self.path.exists()) as listed:
            noted = replace(listed, redacted=redacted)
            self._store(noted, {})
            self._remove_full(noted)

    def list_full(self) -> list[Path]:
        """Return what is shown and listed and may hold texts."""
        listed = self._read()
        return [] if listed is None else [self._root / name for name in listed.list_full()]

    def list_shown(self) -> list[str]:
        """Return what there is to be shown: files and folders, by name."""
        there = [name for name in SHOWN if (self._root / name).exists()]
        return [f"{name}/" if (self._root / name).is_dir() else name for name in there]

    def list_stripped(self) -> list[str]:
        """Return the sections that were stored without texts."""
        listed = self._read()
        full = [] if listed is None else listed.list_full()
        return [] if listed is None else [n for n in listed.files if _is_section(n) and n not in full]

    def list_gone(self) -> list[str]:
        """Return what was found beside the tables and is listed, but is not there any more."""
        listed = self._read()
        known = {} if listed is None else listed.files
        return [
            name
            for name, states in known.items()
            if (name in FOUND or _is_section(name))
            and _ABSENT not in states
            and not (self._root / name).exists()
        ]

    def examine(self) -> Iterator[str]:
        """Yield for the list and every file why it is not as the list has it, or nothing."""
        listed = self._read()
        if listed is None:
            return
        yield ""
        for name, states in listed.files.items():
            if _ABSENT not in states and not (self._root / name).exists():
                yield f"'{self._root / name}' is gone. Restore it, or run the command that wrote it again."
        there = {self._root / name for name in listed.files if (self._root / name).exists()}
        for path in sorted({*there, *self._find_files()}):
            try:
                raw = self.read(path) or b""
            except RunDirectoryError as error:
                yield str(error)
                continue
            name = self._name(path)
            has_texts = (
                listed.redacted and _is_shown(name) and not listed.files.get(name, {}).get(_digest(raw), True)
            )
            yield self._describe_full(path) if has_texts else ""

    def _compare(self, path: Path) -> tuple[bytes | None, bool]:
        """Return what is in a file, and whether the list has it in that state."""
        raw, listed = _read_file(path), self._read()
        return raw, raw is None or listed is None or _digest(raw) in listed.files.get(self._name(path), {})

    @contextmanager
    def _changing(self, *, lost: bool = False) -> Iterator[_Listed]:
        """Give the list while nobody else changes it; where there is none, it is of the files as they are."""
        with lock_folder(self._root, _LOCK, wait=True):
            listed = None if lost else self._read()
            if listed is None:
                digests = {self._name(path): _digest(path.read_bytes()) for path in self._find_files()}
                files = {name: {digest: False} for name, digest in digests.items()}
                listed = _Listed(self._expected() or secrets.token_hex(8), files=files)
            yield listed

    def _remove_full(self, listed: _Listed) -> _Listed:
        """Remove whatever may hold texts from a redacted run, sections apart; return the list without it."""
        if not listed.redacted:
            return listed
        names = [
            name for name in listed.list_full() if not (_is_section(name) and (self._root / name).exists())
        ]
        if not names:
            return listed
        self._store(listed, {name: {**listed.files[name], _ABSENT: True} for name in names})
        for name in names:
            path = self._root / name
            if path.parent.is_symlink():
                raise RunDirectoryError(
                    f"'{path.parent}' is a link to somewhere else, which tedaudit never makes. Remove it "
                    "and run the same command again."
                )
            _clear_leftovers(path)
            path.unlink(missing_ok=True)
        left = replace(listed, files={name: of for name, of in listed.files.items() if name not in names})
        self._store(left, {})
        return left

    def _store(self, listed: _Listed, changed: Mapping[str, States]) -> None:
        _clear_leftovers(self.path)
        write_atomically(self.path, replace(listed, files={**listed.files, **changed}).to_bytes())

    def _read(self) -> _Listed | None:
        """Return the list; None if there is none and need not be."""
        expected = self._expected()
        try:
            listed = _Listed.parse(parse_json(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError as error:
            if not expected:
                return None
            raise self._damaged("it is gone") from error
        except OSError as error:
            raise RunDirectoryError(f"'{self.path}' cannot be read ({describe_os_error(error)}).") from error
        except (ChecksumError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
            raise self._damaged(str(error)) from error
        if expected and listed.run != expected:
            raise self._damaged("it is that of another run")
        return listed

    def _damaged(self, reason: str) -> RunDirectoryError:
        return RunDirectoryError(
            f"'{self.path}' is damaged ({reason}): it says which files belong to the run, and whether it is "
            f"redacted. Restore it; or delete what is there and say which: `tedaudit report {self._root} "
            "--redact`, or --full. That lists all files as they are now."
        )

    def _describe_misfit(self, path: Path) -> str:
        anew = (
            "delete it, and run the command that wrote it again"
            if self._name(path) in FOUND or _is_section(self._name(path))
            else f"delete it: `tedaudit report {self._root}`, or `export --format card`, writes it again"
        )
        return (
            f"'{path}' is not the file that was written here: it was damaged, edited or put in the place of "
            f"another. Restore it, or {anew}."
        )

    def _describe_full(self, path: Path) -> str:
        return (
            f"'{path}' holds texts, and the run is redacted: a command was stopped. `tedaudit report "
            f"{self._root}` finishes its work."
        )

    def _find_files(self) -> Iterator[Path]:
        """Yield the files beside the tables that are there."""
        for name in (*SHOWN, *FOUND):
            place = self._root / name
            patterns = _INSIDE.get(name)
            found = [place] if patterns is None else [p for one in patterns for p in sorted(place.glob(one))]
            if not place.is_symlink():  # what lies behind a link is not ours
                yield from (path for path in found if path.is_file() and not path.name.startswith("."))

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()


def _check_name(name: str) -> str:
    """Return the name of a file in the list; one that could lead anywhere else is refused."""
    first, *others = name.split("/")
    is_ours = len(others) == 1 if first in _INSIDE else first in (*SHOWN, *FOUND) and not others
    if not is_ours or any(part in ("", "..") or "\0" in part for part in others):
        raise ValueError(f"it names '{name}', which is not beside the tables")
    return name


def _is_shown(name: str) -> bool:
    return name.partition("/")[0] in SHOWN


def _is_section(name: str) -> bool:
    return name.startswith(f"{SECTIONS}/")


def _clear_leftovers(path: Path) -> None:
    """Remove what killed processes left of a file; whoever calls this keeps others from writing it."""
    for leftover in path.parent.glob(f"{TEMPORARY}*-{path.name}"):
        leftover.unlink(missing_ok=True)


def _read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunDirectoryError(
            f"'{path}' cannot be read ({describe_os_error(error)}). Check its permissions and the disk."
        ) from error


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
