"""A table's folder: its parts, and a small file that says what determined them and what they are about."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tedaudit.errors import RunDirectoryError
from tedaudit.store.files import TEMPORARY, difference, key_of, write_atomically

_INFO = "table.json"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table says of itself: its key, what it is about and what determined it."""

    key: str
    about: Mapping[str, Any]
    determinants: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableFolder:
    """Where a table lies. A table whose key still fits is extended; any other is refused."""

    path: Path

    def check(self, determinants: Mapping[str, Any]) -> str:
        """Return the table's key; refuse, with the difference, if the stored table has another."""
        key = key_of(determinants)
        if (self.path / _INFO).exists():
            stored = self.info()
            if stored.key != key and self.has_parts():
                changes = difference(stored.determinants, determinants)
                raise RunDirectoryError(
                    f"'{self.path}' was made with other settings: {changes}. Results "
                    "cannot be mixed: choose another `out` or label, or delete that folder."
                )
        return key

    def claim(self, determinants: Mapping[str, Any], about: Mapping[str, Any]) -> str:
        """Return the table's key after checking it; a new table is given its description."""
        key = self.check(determinants)
        if not (self.path / _INFO).exists() or not self.has_parts():
            content = {"key": key, "about": about, "determinants": determinants}
            write_atomically(self.path / _INFO, json.dumps(content, indent=1, default=str).encode())
        return key

    def exists(self) -> bool:
        """Return whether the table has been described: it may still be empty."""
        return (self.path / _INFO).is_file()

    def was_begun(self) -> bool:
        """Return whether there is anything but an empty folder, which a killed run leaves behind."""
        return not self.path.is_dir() or any(self.path.glob("[!.]*"))

    def has_parts(self) -> bool:
        """Return whether the table has rows; one without, whose plug-in failed at once, may be replaced."""
        return any(self.path.glob("part-*"))

    def info(self) -> TableInfo:
        """Return the table's key and what it is about."""
        path = self.path / _INFO
        try:
            info = json.loads(path.read_text(encoding="utf-8"))
            return TableInfo(info["key"], info["about"], info["determinants"])
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise RunDirectoryError(
                f"'{path}' is damaged ({error}). Delete the folder '{self.path}' and run the same command "
                "again."
            ) from error

    def parts(self, pattern: str) -> list[tuple[Path, tuple[int, ...]]]:
        """Return the parts in order, with the numbers in their names; any other file is refused."""
        parts = []
        for path in self.path.iterdir() if self.path.is_dir() else ():
            if path.name == _INFO or path.name.startswith(TEMPORARY) or path.is_dir():
                continue
            match = re.fullmatch(pattern, path.name)
            if match is None:
                raise RunDirectoryError(
                    f"'{path}' is not part of this table. Move it away and run the same command again."
                )
            parts.append((path, tuple(int(number) for number in match.groups())))
        return sorted(parts, key=lambda part: part[1])


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table as a run wants it: where it lies, what determines it and what it is about."""

    folder: TableFolder
    determinants: Mapping[str, Any]
    about: Mapping[str, Any]

    def check(self) -> str:
        """Return the table's key; refuse if another table lies there."""
        return self.folder.check(self.determinants)

    def claim(self) -> str:
        """Return the table's key, and describe the table if it is new."""
        return self.folder.claim(self.determinants, self.about)
