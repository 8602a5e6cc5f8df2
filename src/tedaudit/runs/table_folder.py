"""A table's folder: its parts, and a small file that says what determined them and what they are about."""

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tedaudit.errors import RunDirectoryError
from tedaudit.paths import describe_os_error
from tedaudit.plugins.batches import Ragged
from tedaudit.plugins.nominal import Nominal
from tedaudit.runs.checksums import FIELD, ChecksumError, check_json, parse_json, seal_json
from tedaudit.runs.files import TEMPORARY, difference, key_of, make_folders, write_atomically
from tedaudit.runs.shapes import misfit_of_guesses

_INFO = "table.json"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """What a table says of itself: its key, what it is about and what determined it."""

    key: str
    about: Mapping[str, Any]
    determinants: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TableFolder:
    """Where a table lies. A table whose key still fits is extended; any other is refused.

    `root` is the folder that must be there before: a table never brings back a run that was deleted.
    """

    path: Path
    root: Path | None = None

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
            plain = json.loads(json.dumps(content, default=str))
            make_folders(self.path, self.root)
            write_atomically(self.path / _INFO, json.dumps(seal_json(plain), indent=1).encode())
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
            return _parse_info(parse_json(path.read_text(encoding="utf-8")))
        except (ChecksumError, ValueError, RecursionError, KeyError, TypeError, OSError) as error:
            reason = describe_os_error(error) if isinstance(error, OSError) else error
            raise RunDirectoryError(
                f"'{path}' is damaged ({reason}). Delete the folder '{self.path}' and run the same command "
                "again."
            ) from error

    def place_of_guesses(self, plans: Collection[str]) -> tuple[str, str, Nominal, str]:
        """Return plan, mechanism, epsilon and attack of a table of guesses; refuse a misplaced one."""
        info, (plan, label, _, attack) = self.info(), self.path.parts[-4:]
        epsilon, about = parse_epsilon(self.path.parent), info.about
        misfit = misfit_of_guesses(about, info.determinants)
        if not misfit:
            told = about["plan"], about["label"], Nominal.of(about["epsilon"]).name, about["attack"]
            if told != (plan, label, epsilon.name, attack):
                misfit = f"it describes the table of {' '.join(map(str, told))}"
            elif plan not in plans:
                misfit = f"the run has no plan '{plan}'"
        if misfit:
            raise RunDirectoryError(
                f"'{self.path}' does not belong here ({misfit}). Move it away and run the same command again."
            )
        return plan, label, epsilon, attack

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


def _parse_info(info: dict[str, Any]) -> TableInfo:
    if not check_json(info):
        raise ChecksumError(f"it lacks: {FIELD}")
    return TableInfo(str(info["key"]), dict(info["about"]), dict(info["determinants"]))


def parse_epsilon(path: Path) -> Nominal:
    """Return the epsilon that a folder is named after."""
    try:
        return Nominal.of(path.name)
    except ValueError as error:
        raise RunDirectoryError(
            f"'{path}' is not part of this run: folders here are named after an epsilon. Move it away."
        ) from error


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A table as a run wants it: where it lies, what determines it and what it is about."""

    folder: TableFolder
    determinants: Mapping[str, Any]
    about: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The hash of what determines it."""
        return key_of(self.determinants)

    def check(self) -> str:
        """Return the table's key; refuse if another table lies there."""
        return self.folder.check(self.determinants)

    def claim(self) -> str:
        """Return the table's key, and describe the table if it is new."""
        return self.folder.claim(self.determinants, self.about)


# --- Ragged columns as lists in a table, and back.


def to_lists(column: Ragged, dtype: Any) -> pl.Series:
    """Return a column of lists for a ragged one; a missing row is null."""
    matrix = column.matrix()
    if matrix is not None and matrix.size:
        if dtype == pl.Int32 and -(2**31) <= matrix.min() <= matrix.max() < 2**31:
            matrix = matrix.astype(np.int32)  # far faster than a cast of lists
        return pl.Series(matrix).cast(pl.List(dtype))
    if len(column) and column.missing is not None and column.missing.all():
        return pl.Series([None], dtype=pl.List(dtype)).new_from_index(0, len(column))
    of_value = np.repeat(np.arange(len(column)), column.lengths)
    values = pl.DataFrame({"row": of_value, "value": pl.Series(column.values).cast(dtype)})
    lists = values.group_by("row", maintain_order=True).agg("value")
    rows = pl.DataFrame({"row": np.arange(len(column))})
    missing = column.missing if column.missing is not None else np.zeros(len(column), dtype=np.bool_)
    filled = pl.col("value").fill_null(pl.lit([], dtype=pl.List(dtype)))
    joined = rows.join(lists, on="row", how="left", maintain_order="left")
    return joined.select(pl.when(pl.Series(missing)).then(None).otherwise(filled)).to_series()


def from_lists(column: pl.Series, dtype: Any, numbers: Any) -> Ragged:
    """Return a column of lists as a ragged one; most mechanisms show no tokens or no latents at all."""
    if column.null_count() == len(column):
        return Ragged.absent(len(column), numbers)
    missing = column.is_null().to_numpy()
    lengths = column.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    values = column.drop_nulls().explode().drop_nulls().cast(dtype).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Ragged(np.asarray(values, dtype=numbers), offsets, missing if missing.any() else None)
