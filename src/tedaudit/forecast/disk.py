"""How much room a run takes: real rows written to a folder that is removed at once, and measured there."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from tedaudit.batches import Rewrites
from tedaudit.execution.preparation import PreparedAudit
from tedaudit.forecast.samples import Sample
from tedaudit.forecast.work import Guessing, Rewriting
from tedaudit.plans.trials import KEPT_SCORES, Judged
from tedaudit.seeding import derive, uniforms
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.store.table_folder import TableFolder

_ROWS = 512  # guesses that are written to be measured


@dataclass(frozen=True, slots=True)
class PartSize:
    """What a part of a table takes: so much in any case, and so much for each row."""

    fixed: float
    per_row: float

    def predict(self, rows: int, block: int) -> float:
        """Return the bytes of so many rows in parts of a block's size."""
        return ceil(rows / block) * self.fixed + rows * self.per_row


def measure_frame(audit: PreparedAudit) -> int:
    """Return the bytes of what a new run writes before any row: the texts and the plans; 0 if it exists."""
    if audit.store.exists():
        return 0
    with tempfile.TemporaryDirectory(prefix="tedaudit-") as folder:
        run = RunDirectory(Path(folder) / "run")
        run.create()
        run.write_corpus(audit.corpus)
        for job in audit.jobs:
            run.write_plan(job.plan_name, job.plan, job.plan_key)
        return _weigh(run.root)


def predict_rewrites(part: Rewriting, sample: Sample, audit: PreparedAudit) -> float:
    """Return the bytes of the rewrites that a mechanism still has to make."""
    jobs = [job for job in audit.jobs if job.label == part.label]
    pool = audit.corpus.texts
    tables = len(jobs[0].epsilons)
    size = _measure(lambda folder, rows: _write_rewrites(folder, sample.rewrites[:rows], pool),
                    len(sample.rewrites))  # fmt: skip
    block = audit.spec.block_size
    return sum(tables * size.predict(ceil(rows / tables), block) for rows in (part.audited, part.own))


def predict_guesses(part: Guessing, audit: PreparedAudit) -> float:
    """Return the bytes of the guesses that an attack still has to make on a mechanism and plan."""
    size = _measure(lambda folder, rows: _write_guesses(folder, rows, part.candidates), _ROWS)
    jobs = [job for job in audit.jobs if job.label == part.label]
    tables = len(jobs[0].epsilons)
    return tables * size.predict(ceil(part.rows / tables), audit.spec.block_size)


def _measure(write: Callable[[Path, int], None], rows: int) -> PartSize:
    """Return the size of a part, by one row and by all of them."""
    sizes = []
    for number in (1, rows):
        with tempfile.TemporaryDirectory(prefix="tedaudit-") as folder:
            write(Path(folder), number)
            sizes.append(_weigh(Path(folder)))
    per_row = (sizes[1] - sizes[0]) / (rows - 1) if rows > 1 else 0.0
    return PartSize(sizes[0] - per_row, per_row)


def _write_rewrites(folder: Path, rewrites: Rewrites, pool: tuple[str, ...]) -> None:
    numbers = np.arange(len(rewrites))
    RewriteTable(TableFolder(folder), "").append(numbers % len(pool), numbers, rewrites, pool)


def _write_guesses(folder: Path, rows: int, candidates: int) -> None:
    """Write guesses that are as hard to pack as any: scores and choices at random."""
    columns = candidates if candidates <= KEPT_SCORES else 5
    coins = uniforms([derive(0, "disk")], rows * columns)[0].reshape(rows, columns)
    choice = (coins[:, 0] * candidates).astype(np.int32)
    yes, no = np.ones(rows, dtype=np.bool_), np.zeros(rows, dtype=np.bool_)
    scores = np.round(coins, 5).astype(np.float32)
    best = None if candidates <= KEPT_SCORES else (coins * candidates).astype(np.int32)
    judged = Judged(choice, scores[:, 0], choice, yes, no, scores, best)
    GuessTable(TableFolder(folder), "").append(range(rows), judged)


def _weigh(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
