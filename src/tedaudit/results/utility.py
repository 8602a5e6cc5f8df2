"""The table of utility that a study leaves in a run directory, for the report to show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tedaudit.errors import RunDirectoryError
from tedaudit.results.redaction import rename_labels
from tedaudit.runs.checksums import parse_json
from tedaudit.runs.directory import RunDirectory
from tedaudit.text.plain_data import PlainData

FILE = "utility.json"
SCORE, PRIVATE = " F1", " F1 (private: lower is better)"
"""How the title of a task ends, after the name of its column."""
_COLUMNS = ("mechanism", "epsilon", "task", "score", "spread")


@dataclass(frozen=True, slots=True)
class Utility(PlainData):
    """What classifiers learn from rewrites; the caption explains the scores."""

    rows: Sequence[Mapping[str, Any]] = ()  # mechanism, epsilon, task, score, spread
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # upper, lower, private; by title
    caption: str = ""


def read_utility(run: RunDirectory) -> Utility:
    """Return the content of a run's utility.json; empty if there is no such file."""
    raw = run.files.read(run.utility)
    if raw is None:
        return Utility()
    try:
        content = parse_json(raw.decode("utf-8"))
        rows = [{column: row[column] for column in _COLUMNS} for row in content["rows"]]
        tasks = {
            task["task"]: {
                "upper": task["upper"]["score"], "lower": task["lower"], "private": task["role"] == "private"
            }
            for task in content["tasks"]
        }  # fmt: skip
        return Utility(rows, tasks, str(content.get("caption", "")))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunDirectoryError(
            f"'{run.utility}' is damaged ({error!r}). Delete it, or write it again with `tedaudit utility "
            "--run`."
        ) from error


def redact_utility(utility: Utility, labels: Sequence[str]) -> Utility:
    """Return it without mechanisms and columns whose names could be texts, and without the caption."""
    mechanisms = rename_labels("mechanism", [*labels, *(row["mechanism"] for row in utility.rows)])
    titles = list(dict.fromkeys(str(row["task"]) for row in utility.rows))
    ends = {title: next((end for end in (PRIVATE, SCORE) if title.endswith(end)), "") for title in titles}
    columns = rename_labels("task", [title.removesuffix(ends[title]) for title in titles])
    shown = {title: columns[title.removesuffix(ends[title])] + ends[title] for title in titles}
    rows = [
        {**row, "mechanism": mechanisms[row["mechanism"]], "task": shown[row["task"]]} for row in utility.rows
    ]
    return Utility(rows, {shown[task]: lines for task, lines in utility.tasks.items() if task in shown})
