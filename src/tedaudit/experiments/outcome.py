"""The outcome of an experiment: tables and figures, written as Markdown, JSON, PDF and PNG."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tedaudit.experiments.definition import Experiment
from tedaudit.reports.writers.figures import save_figure
from tedaudit.reports.writers.markdown import markdown_list, markdown_table, markdown_text
from tedaudit.store.exported import check_target, write_exported
from tedaudit.store.files import make_folders

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings. `texts`: cells contain texts of a corpus, which a redacted outcome leaves out.

    `caption` says which variants and models the numbers come from.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    texts: bool = False
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that an experiment found; figures are matplotlib's, by name."""

    tables: tuple[Table, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def check_files(experiment: Experiment, folder: Path, *, force: bool = False) -> None:
    """Refuse a folder with a file of somebody else that an outcome would replace."""
    figures = [path for kind in ("pdf", "png") for path in folder.glob(f"{experiment.id}-*.{kind}")]
    for path in (*_name_tables(experiment, folder), *figures):
        check_target(path, [folder], force=force)


def write_outcome(
    outcome: Outcome, experiment: Experiment, folder: Path, *, redact: bool, force: bool = False
) -> list[Path]:
    """Write an outcome into a folder and return the files; without texts if it is redacted."""
    written = _name_tables(experiment, folder)
    write = partial(write_exported, runs=[folder], force=force)
    shown = [table for table in outcome.tables if not (redact and table.texts)]
    make_folders(folder, None)
    write(written[0], markdown(outcome, experiment, shown).encode())
    content = {
        "experiment": experiment.id, "scale": experiment.scale, "title": experiment.title,
        "settings": _list_settings(experiment, redact=redact), "notes": list(outcome.notes),
        "tables": [
            {"title": table.title, "caption": table.caption, "headings": table.headings,
             "rows": [[_drop_infinite(cell) for cell in row] for row in table.rows]}
            for table in shown
        ],
    }  # fmt: skip
    write(written[1], json.dumps(content, indent=1, ensure_ascii=False).encode())
    for name, figure in outcome.figures.items():
        written += save_figure(figure, folder / f"{experiment.id}-{name}", write=write)
    return written


def _name_tables(experiment: Experiment, folder: Path) -> list[Path]:
    return [folder / f"{experiment.id}.md", folder / f"{experiment.id}.json"]


def markdown(outcome: Outcome, experiment: Experiment, tables: Sequence[Table]) -> str:
    """Return an outcome as Markdown, with the command that made it."""
    parts = [
        f"# {experiment.id}: {experiment.title}",
        f"`{experiment.command}` ({experiment.paper})",
    ]
    if experiment.claim:
        parts.append(f"The paper: {experiment.claim}")
    parts += [_format_table(table) for table in tables]
    names = [f"![{name}]({experiment.id}-{name}.png)" for name in outcome.figures]
    notes = markdown_list(outcome.notes)
    return "\n\n".join([*parts, *names, *([notes] if notes else [])]) + "\n"


def _format_table(table: Table) -> str:
    rows = [[format_cell(cell) for cell in row] for row in table.rows]
    caption = f"{markdown_text(table.caption)}\n\n" if table.caption else ""
    return f"### {markdown_text(table.title)}\n\n{caption}{markdown_table(table.headings, rows)}"


def format_cell(cell: Cell) -> str:
    """Return a cell as text: numbers shortened, None as an empty string."""
    if cell is None:
        return ""
    if isinstance(cell, float):
        if not math.isfinite(cell) or (cell == round(cell) and abs(cell) < 1e6):
            return f"{cell:g}"
        return f"{cell:.2f}" if abs(cell) >= 0.01 else f"{cell:.2g}"
    return f"{cell:,}" if isinstance(cell, int) else cell


def _list_settings(experiment: Experiment, *, redact: bool) -> dict[str, Any]:
    """Return an experiment's settings; if redacted, without the texts in them."""
    settings = experiment.model_dump(mode="json")
    texts = settings["options"].get("texts")
    if redact and isinstance(texts, list):
        settings["options"]["texts"] = ["(left out)" if isinstance(text, str) else text for text in texts]
    return settings


def _drop_infinite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
