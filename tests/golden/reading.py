"""The rows of a run's folder as plain tables: alone among the golden tests this knows how runs are stored.

What a bound is computed from, and what was released: texts, codes, units and tokens of rewrites; choices,
ranks, usable and failed guesses. Scores and latents are left out: their last digits belong to a processor.
"""

import polars as pl

from tedaudit.runs.directory import RunDirectory

HEADINGS = {
    "plans": ("plan", "row", "candidates", "secret", "source", "replicate"),
    "rewrites": ("mechanism", "epsilon", "text", "replicate", "output", "error", "units", "tokens"),
    "own_rewrites": ("mechanism", "epsilon", "text", "replicate", "output", "error", "units", "tokens"),
    "guesses": ("plan", "mechanism", "epsilon", "attack", "row", "choice", "rank", "usable", "failed"),
}


def read_rows(root):
    """Return the rows of all tables of a run, by kind of table, every cell in words."""
    found = {
        "plans": _read_plans(RunDirectory(root)),
        "rewrites": _read_rewrites(root / "rewrites"),
        "own_rewrites": _read_rewrites(root / "own_rewrites"),
        "guesses": _read_guesses(root / "guesses"),
    }
    written = {kind: [tuple(map(_write, row)) for row in rows] for kind, rows in found.items()}
    return {kind: rows for kind, rows in written.items() if rows}


def _read_plans(store):
    for name in sorted(store.manifest()["plans"]):
        plan = store.read_plan(name)
        sets = [()] * len(plan) if plan.candidates is None else plan.candidates.tolist()
        columns = (plan.secret.tolist(), plan.source.tolist(), plan.replicate.tolist())
        for row, (candidates, *rest) in enumerate(zip(sets, *columns, strict=True)):
            yield name, row, candidates, *rest


def _read_rewrites(folder):
    columns = HEADINGS["rewrites"][2:]
    for path in sorted(folder.glob("*/*")):
        rows = [row for part in path.glob("part-*.parquet") for row in _read(part, columns)]
        for row in sorted(rows, key=lambda row: row[:2]):
            yield path.parent.name, path.name, *row


def _read_guesses(folder):
    columns = HEADINGS["guesses"][5:]
    for path in sorted(folder.glob("*/*/*/*")):
        rows = [row for part in sorted(path.glob("part-*.parquet")) for row in _read(part, columns)]
        for number, row in enumerate(rows):
            yield *path.relative_to(folder).parts, number, *row


def _read(part, columns):
    with part.open("rb") as file:  # a path is a pattern, and labels may have [brackets]
        return pl.read_parquet(file, columns=list(columns)).select(columns).rows()


def _write(cell):
    """Return a cell as a file of golden rows has it."""
    if isinstance(cell, list | tuple):
        return " ".join(map(str, cell))
    return "" if cell is None else str(cell)
