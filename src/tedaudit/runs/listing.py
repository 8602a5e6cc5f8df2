"""The list of the files of a run's tables, as `sha256sum -c` reads it: what is not listed does not exist.

A file of guesses is listed with a digest of the files that it was made from, in a comment. If one of these
comes out otherwise when it is made again (a function without a seed, a program, a server), the guesses are
not listed any more. Each list has one writer: the run, or a part of it that runs beside others.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from tedaudit.errors import RunDirectoryError
from tedaudit.paths import describe_os_error
from tedaudit.runs.files import make_folders, read_part, write_atomically

NAME = "files.txt"
TABLES = ("rewrites", "own_rewrites", "guesses")
_SHARD = re.compile(r"part-\d{6}\.parquet|part-\d{9}-\d{9}\.parquet")
_LINE = re.compile(r"([0-9a-f]{64})  (.+)")
_SOURCE = re.compile(r"# from ([0-9a-f]{64}) ([0-9a-f]{8}): (.+)")


@dataclass(frozen=True, slots=True)
class Made:
    """A file that a step has written: its name in the run, its digest, and that of what it was made from."""

    name: str
    digest: str
    source: str = ""

    def to_lines(self) -> str:
        """Return it as the list has it."""
        told = f"# from {self.source} {_seal(self.source, self.name)}: {self.name}\n" if self.source else ""
        return f"{told}{self.digest}  {self.name}\n"


class Listing:
    """The files of the tables of a run: those that are listed, and there."""

    def __init__(self, root: Path, part: str = "") -> None:
        self._root = root
        self.path = root / (f"files-{part}.txt" if part else NAME)
        self._digests: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        self._there: set[str] = set()
        self.spoilt: list[Path] = []  # lists with a line that says nothing: torn by a kill, or damaged
        self.read()

    @property
    def paths(self) -> list[Path]:
        """All lists that are there; those of parts are newer."""
        lists = (self._root / NAME, *sorted(self._root.glob("files-*.txt")))
        return [path for path in lists if path.exists()]

    def read(self) -> None:
        """Read all lists again, those of other parts included, and see which files are there."""
        self._digests, self._sources, self.spoilt = {}, {}, []
        for path in self.paths:
            digests, sources, is_whole = _parse(path)
            self.spoilt += [] if is_whole else [path]
            self._digests |= digests
            self._sources |= sources
        self._there = set(_find_shards(self._root))

    def __contains__(self, name: object) -> bool:
        return name in self._there and name in self._digests

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._there & self._digests.keys()))

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of every file that must be there."""
        return self._digests

    def list_lost(self) -> list[str]:
        """Return the files that are listed and not there."""
        return sorted(self._digests.keys() - self._there)

    def digest_of(self, names: Iterable[str]) -> str:
        """Return the digest of several files together, by their names and digests."""
        told = "".join(f"{self._digests.get(name, '')}  {name}\n" for name in sorted(names))
        return _digest(told.encode())

    def is_made_from(self, name: str, names: Iterable[str]) -> bool:
        """Return whether a file was made from these, as they are now; as far as its list tells."""
        return self._sources.get(name) in (None, self.digest_of(names))

    def refuse_others(self, names: Iterable[str]) -> None:
        """Refuse files that are not those that are listed: nobody knows then what was made from what."""
        for name in names:
            if name in self and _digest(read_part(self._root / name)) != self._digests[name]:
                raise RunDirectoryError(
                    f"'{self._root / name}' is another file than '{NAME}' lists. Restore one of them; or "
                    "delete the file and run the same command again, which makes it again."
                )

    def add(self, made: Iterable[Made]) -> None:
        """List files that were written; a line that was torn by a kill is closed first."""
        lines = "".join(one.to_lines() for one in made)
        try:
            with self.path.open("a+b") as file:
                self.path.chmod(0o600)
                if file.tell() and not _ends_line(file.fileno(), file.tell()):
                    file.write(b"\n")
                file.write(lines.encode())
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise RunDirectoryError(
                f"'{self.path}' cannot be written ({describe_os_error(error)}). Make room, and run the same "
                "command again: what is finished is kept."
            ) from error
        for one in made:
            self._digests[one.name] = one.digest
            self._there.add(one.name)
            if one.source:
                self._sources[one.name] = one.source

    def drop(self, names: Iterable[str]) -> None:
        """Take files from the list, and remove them."""
        is_new = False
        for name in names:
            self._digests.pop(name, None)
            self._sources.pop(name, None)
            self._there.discard(name)
            (self._root / name).unlink(missing_ok=True)
            is_new = True
        if is_new:
            self._write()

    def tidy(self) -> None:
        """Put all lists into one and remove files that are on none: a kill came before they were listed."""
        for name in self._there - self._digests.keys():
            (self._root / name).unlink(missing_ok=True)
        self._there &= self._digests.keys()
        others = [path for path in self._root.glob("files-*.txt") if path != self.path]
        if others or self.spoilt or not self.path.exists():
            self._write()
            self.spoilt = []
        for path in others:
            path.unlink(missing_ok=True)

    def _write(self) -> None:
        made = (Made(name, digest, self._sources.get(name, "")) for name, digest in self._digests.items())
        make_folders(self._root, None)
        write_atomically(self.path, "".join(one.to_lines() for one in made).encode(), 0o600)


def _parse(path: Path) -> tuple[dict[str, str], dict[str, str], bool]:
    """Return the digests and sources in a list, and whether all of its lines say something."""
    digests, sources, read = {}, {}, 0
    *lines, torn = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for line in lines:
        if not line.isprintable():
            continue
        if match := _LINE.fullmatch(line):
            digests[match[2]] = match[1]
        elif (match := _SOURCE.fullmatch(line)) and _seal(match[1], match[3]) == match[2]:
            sources[match[3]] = match[1]
        else:
            match = None
        read += match is not None
    return digests, sources, read == len(lines) and not torn


def _seal(source: str, name: str) -> str:
    """Return the checksum of a comment, which nothing else vouches for."""
    return f"{crc32(f'{source} {name}'.encode()):08x}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _ends_line(handle: int, size: int) -> bool:
    return os.pread(handle, 1, size - 1) == b"\n"


def _find_shards(root: Path) -> Iterable[str]:
    """Yield the names of all files of tables that are there."""
    for table in TABLES:
        for folder, _, names in os.walk(root / table):
            place = Path(folder).relative_to(root).as_posix()
            yield from (f"{place}/{name}" for name in names if _SHARD.fullmatch(name))
