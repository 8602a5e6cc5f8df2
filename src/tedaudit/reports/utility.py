"""The table of utility that a study leaves in a run directory, for the report to show."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tedaudit.errors import RunDirectoryError

Utility = Sequence[Mapping[str, Any]]  # rows of mechanism, epsilon, task, score, spread
FILE = "utility.json"
_COLUMNS = ("mechanism", "epsilon", "task", "score", "spread")


def read_utility(folder: Path) -> Utility:
    """Return the rows of a run's utility.json; none where there is no such file."""
    path = folder / FILE
    if not path.is_file():
        return ()
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["rows"]
        return [{column: row[column] for column in _COLUMNS} for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunDirectoryError(
            f"'{path}' is damaged ({error!r}). Delete it, or write it again with `tedaudit utility --run`."
        ) from error
