"""The folder of a study: rewrites as tables, each score as a small file, and what is told of them."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tedaudit.errors import RunDirectoryError, join_names
from tedaudit.plugins.nominal import Nominal
from tedaudit.reports.writers.figures import figures_missing, save_figure
from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_table
from tedaudit.results.utility import FILE
from tedaudit.runs.checksums import ChecksumError, check_json, seal_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.files import TEMPORARY, make_folders, write_atomically
from tedaudit.runs.table_folder import TableFolder
from tedaudit.studies.utility.results import UtilityResult
from tedaudit.studies.utility.telling import describe_changes, figure, tell

_MARK = "study.json"
_LONGEST = 200  # characters of a folder's name


@dataclass(frozen=True)
class StudyFolder:
    """The folder of a study. It contains texts, so only its owner may read it."""

    root: Path

    def exists(self) -> bool:
        """Return whether a study was begun here."""
        return (self.root / _MARK).exists()

    def check(self) -> None:
        """Refuse a folder that contains something else."""
        if self.root.exists() and not self.root.is_dir():
            raise RunDirectoryError(f"'{self.root}' is a file; name a folder with `out`.")
        if (self.root / "manifest.json").exists():
            raise RunDirectoryError(
                f"'{self.root}' contains an audit; name another folder with `out` (--out), and the audit "
                "with --run to have the result in its report."
            )
        entries = [path.name for path in self.root.iterdir()] if self.root.is_dir() else []
        if _MARK in entries and not self._is_marked():
            raise RunDirectoryError(
                f"'{self.root / _MARK}' does not belong to a utility study, and would be replaced. Name a "
                "new or empty folder with `out` (--out)."
            )
        if (
            entries
            and _MARK not in entries
            and any(not name.startswith((".lock", TEMPORARY)) for name in entries)
        ):
            raise RunDirectoryError(
                f"'{self.root}' is not empty and is not a study (no {_MARK}; it has: "
                f"{join_names(entries[:5])}). "
                "Name a new or empty folder with `out` (--out)."
            )

    def _is_marked(self) -> bool:
        """Return whether the file that marks a study is one: it has its settings."""
        try:
            marked = json.loads((self.root / _MARK).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(marked, dict) and "mechanisms" in marked

    @contextmanager
    def locked(self, spec: Mapping[str, Any]) -> Iterator[None]:
        """Lock the folder while writing, and record the settings last used."""
        with RunDirectory(self.root).locked():
            text = json.dumps(spec, indent=2, ensure_ascii=False, default=str)
            write_atomically(self.root / _MARK, text.encode())
            yield

    def rewrites(self, label: str, epsilon: Nominal) -> TableFolder:
        """Return the folder of the rewrites of a mechanism at an epsilon."""
        return RunDirectory(self.root).rewrites_folder(label, epsilon)

    def tested(self, label: str, epsilon: Nominal) -> TableFolder:
        """Return the folder of the rewrites of test texts, from which private columns are guessed."""
        return TableFolder(self.root / "tested" / label / epsilon.name, self.root)

    def scores(self, task: str, label: str, epsilon: Nominal, kind: str = "scores") -> TableFolder:
        """Return the folder of a task's scores; without a label, those on texts that are not rewritten."""
        column = quote(task, safe="", errors="replace").replace(".", "%2E")  # any column can name a folder
        if len(column) > _LONGEST:
            column = f"{column[:_LONGEST]}%{hashlib.sha256(column.encode()).hexdigest()[:16]}"
        place = self.root / (kind if label else "upper") / column
        return TableFolder(place / label / epsilon.name if label else place, self.root)


@dataclass(frozen=True)
class Prediction:
    """A score, and the classes that were predicted; none if the file is of a version that kept none."""

    score: float
    classes: tuple[str, ...]


@dataclass(frozen=True)
class ScoreTable:
    """The scores and predictions of one classifier on one kind of texts, a file per seed."""

    folder: TableFolder
    determinants: Mapping[str, Any]

    def check(self) -> None:
        """Refuse scores that were computed with other settings."""
        self.folder.check(self.determinants)

    def predictions(self, seed: int, compute: Callable[[], Prediction]) -> Prediction:
        """Return a score with the predictions behind it; compute them unless they are already stored."""
        key = self.folder.claim(self.determinants, {})
        path = self.folder.path / f"part-{seed:03d}.json"
        if path.exists():
            return _read_score(path, key)
        found = compute()
        stored = {"key": key, "seed": seed, "macro_f1": found.score, "predicted": list(found.classes)}
        write_atomically(path, json.dumps(seal_json(stored)).encode())
        return found


def _read_score(path: Path, key: str) -> Prediction:
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        check_json(stored)
        stored_key = stored["key"]
        found = Prediction(float(stored["macro_f1"]), tuple(map(str, stored.get("predicted", ()))))
    except (ChecksumError, OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({error!r}). Delete it and run the same command again: only this score is "
            "computed again."
        ) from error
    if stored_key != key:
        raise RunDirectoryError(f"'{path}' does not belong here. Delete it and run the same command again.")
    return found


# --- The files of a study: utility.json, utility.md and a figure; and a copy for an audit's report.


def write_study(result: UtilityResult, run: Path | None = None) -> list[Path]:
    """Write the result into the study's folder, and into an audit's if one is named; return the files."""
    content = json.dumps(result.to_dict(), indent=2, ensure_ascii=False).encode()
    written = [result.folder / FILE, result.folder / "utility.md"]
    make_folders(result.folder, None)
    write_atomically(written[0], content)
    write_atomically(written[1], markdown(result).encode())
    if not figures_missing():
        written += save_figure(figure(result), result.folder / "utility")
    if run is not None:
        store = check_run(run)
        store.files.write({store.utility: content}, redacted=False)
        written.append(store.utility)
    return written


def check_run(run: Path) -> RunDirectory:
    """Return an audit's run directory, or raise an error if it is not one."""
    store = RunDirectory(run)
    if not store.manifest_path.is_file():
        raise RunDirectoryError(
            f"'{run}' is not the run directory of an audit: it has no manifest.json. Name another with --run."
        )
    return store


def markdown(result: UtilityResult) -> str:
    """Return the table as Markdown, with its caption."""
    notes = markdown_list([*result.notes, *describe_changes(result)])
    told = [
        f"{'#' * min(number, 2)} {section.title}\n\n{write_table(section.table)}\n\n"
        f"{markdown_text(' '.join(section.sentences))}\n\n"
        for number, section in enumerate(tell(result), 1)
    ]
    return f"{''.join(told)}## Notes\n\n{notes}\n"
