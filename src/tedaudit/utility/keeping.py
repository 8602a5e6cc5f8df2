"""The folder of a study: rewrites as tables, scores as one small file each, all of them written once."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tedaudit.errors import RunDirectoryError, listed
from tedaudit.store.directory import TEMPORARY, RunDirectory, claim_table, epsilon_name, write_atomically

_MARK = "study.json"


@dataclass(frozen=True)
class StudyFolder:
    """Where a study lies. It holds texts, so only their owner may look into it."""

    root: Path

    def check(self) -> None:
        """Refuse a folder that holds something else."""
        if self.root.exists() and not self.root.is_dir():
            raise RunDirectoryError(f"'{self.root}' is a file; name a folder with `out`.")
        if (self.root / "manifest.json").exists():
            raise RunDirectoryError(
                f"'{self.root}' holds an audit; name another folder with `out` (--out), and the audit with "
                "--run to have the result in its report."
            )
        found = [path.name for path in self.root.iterdir()] if self.root.is_dir() else []
        if found and _MARK not in found and any(not name.startswith((".lock", TEMPORARY)) for name in found):
            raise RunDirectoryError(
                f"'{self.root}' is not empty and holds no study (no {_MARK}; it has: {listed(found[:5])}). "
                "Name a new or empty folder with `out` (--out)."
            )

    @contextmanager
    def locked(self, spec: Mapping[str, Any]) -> Iterator[None]:
        """Keep other processes out while writing; the settings last used are noted."""
        with RunDirectory(self.root).locked():
            text = json.dumps(spec, indent=2, ensure_ascii=False, default=str)
            write_atomically(self.root / _MARK, text.encode())
            yield

    def rewrites(self, label: str, epsilon: float) -> Path:
        """Return where the rewrites of a mechanism at an epsilon lie."""
        return self.root / "rewrites" / label / epsilon_name(epsilon)

    def scores(self, task: str, label: str, epsilon: float) -> Path:
        """Return where the scores of a task lie; without a label, those on texts that are not rewritten."""
        column = quote(task, safe="").replace(".", "%2E")  # any column names a folder
        place = self.root / ("scores" if label else "upper") / column
        return place / label / epsilon_name(epsilon) if label else place


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one classifier on one kind of texts, a file per seed."""

    folder: Path
    determinants: Mapping[str, Any]

    def score(self, seed: int, compute: Callable[[], float]) -> float:
        """Return a score, computed unless it is there already."""
        key = claim_table(self.folder, self.determinants, {})
        path = self.folder / f"part-{seed:03d}.json"
        if path.exists():
            return _read(path, key)
        value = compute()
        write_atomically(path, json.dumps({"key": key, "seed": seed, "macro_f1": value}).encode())
        return value


def _read(path: Path, key: str) -> float:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        found, value = stored["key"], float(stored["macro_f1"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({error!r}). Delete it and run the same command again: only this score is "
            "computed anew."
        ) from error
    if found != key:
        raise RunDirectoryError(f"'{path}' does not belong here. Delete it and run the same command again.")
    return value
