"""How much room a run takes: real rows written to a folder that is removed at once, and measured there."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

import numpy as np

from tedaudit.batches import Guesses, Rewrites
from tedaudit.forecast.samples import Sample
from tedaudit.forecast.work import Guessing, Rewriting
from tedaudit.plans.trials import judge
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.seeding import derive, key_words, uniforms
from tedaudit.store import kept_latents
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.kept_latents import is_too_large
from tedaudit.store.rewrites import RewriteTable
from tedaudit.store.table_folder import TableFolder
from tedaudit.types import Plan

_ROWS = 256  # guesses that are invented if none was made


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
    """Return the bytes of the rewrites that a mechanism still has to make; large latents are not kept."""
    jobs = [job for job in audit.jobs if job.label == part.label]
    tables, block, latents = len(jobs[0].epsilons), audit.spec.block_size, sample.rewrites.latents
    is_large = is_too_large(latents, max(len(job.plan) for job in jobs), kept_latents.KEPT_BYTES)
    own_large = is_too_large(
        latents, max(int(job.own_numbers.sum()) for job in jobs), kept_latents.KEPT_BYTES
    )
    total = 0.0
    for rows, keep in (
        (part.audited, any(job.keeps_latents for job in jobs) or not is_large),
        (part.own, not own_large),
    ):
        size = _measure_rewrites(sample.rewrites, audit.corpus.texts, keep_latents=keep)
        total += tables * size.predict(ceil(rows / tables), block)
    return total


def _measure_rewrites(rewrites: Rewrites, pool: tuple[str, ...], *, keep_latents: bool) -> PartSize:
    def write(folder: Path, rows: int) -> None:
        numbers, table = np.arange(rows), RewriteTable(TableFolder(folder), "")
        table.append(numbers % len(pool), numbers, rewrites[:rows], pool, keep_latents=keep_latents)

    return _measure(write, len(rewrites))


def predict_guesses(part: Guessing, made: Guesses | None, audit: PreparedAudit) -> float:
    """Return the bytes of the guesses that an attack still has to make, if they are like those made."""
    guesses = _invent_guesses(part.candidates) if made is None else made
    size = _measure(lambda folder, rows: _write_guesses(folder, guesses[:rows]), len(guesses))
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


def _invent_guesses(candidates: int) -> Guesses:
    """Return guesses that are as hard to pack as any: scores at random."""
    coins = uniforms([derive(0, "disk")], _ROWS * candidates)[0].reshape(_ROWS, candidates)
    return Guesses(coins, np.ones(_ROWS, dtype=np.bool_))


def _write_guesses(folder: Path, guesses: Guesses) -> None:
    rows = len(guesses)
    nothing = np.zeros(rows, dtype=np.int32)
    keys = key_words([derive(0, "disk", row) for row in range(rows)])
    judged = judge(guesses, np.zeros(rows, dtype=np.bool_), Plan(None, nothing, nothing), keys)
    GuessTable(TableFolder(folder), "").append(range(rows), judged)


def _weigh(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
