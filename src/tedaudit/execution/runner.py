"""Runs the stages of an audit over a run directory: resumes what is there, extends it, repeats nothing.

The engine does the model work in any order. The runner feeds guessing from finished rewriting, and
it alone puts rows in order before it writes them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Guesses, Rewrites
from tedaudit.errors import ContractError
from tedaudit.execution.calls import describe_calls
from tedaudit.execution.chunks import Chunk, GuessChunk
from tedaudit.execution.engines.protocol import Engine
from tedaudit.execution.jobs import Job
from tedaudit.execution.pieces import Piece, cut_guessing, cut_rewriting, restore_withheld, spans
from tedaudit.execution.preparation import PreparedAudit, prepare
from tedaudit.execution.repeats import repeat_calls
from tedaudit.execution.work import Result
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import judge, tie_keys
from tedaudit.spec.model import AuditSpec
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much
Announce = Callable[[str], None]  # takes a line for the user
_CELLS = 4_000_000  # scores held at a time
_WINDOW = 32  # pieces of rewriting that may be under way: later ones wait in memory for earlier ones
_TICKETS = count(1)  # never used twice: an engine may still return work of a run that was stopped


@contextmanager
def executed(
    spec: AuditSpec, engine: Engine, progress: Progress, announce: Announce
) -> Iterator[RunDirectory]:
    """Run an audit, or go on with it, and give the complete run, which stays locked until it is left.

    Nothing is written before every setting has been checked against the run directory. `announce` is
    told in one line, before the first call, how often functions and servers will be called, if any is.
    """
    audit = prepare(spec)
    with audit.store.locked():
        if audit.store.manifest_bytes() != audit.seen:  # another process was faster
            audit = prepare(spec)
        calls = describe_calls(audit)
        if calls:
            announce(calls)
        audit.write()
        engine.offer(audit.plugins)
        total = sum(len(job.plan) * len(job.epsilons) * (1 + len(job.attacks)) for job in audit.jobs)
        meter = _Meter(progress, total)
        for job in audit.jobs:
            work = _JobRun(job, audit, engine, meter)
            work.run()
            if job.is_seeded is not None and work.has_rewritten:
                audit.note_repeats(job.label, repeat_calls(job, audit, engine, next(_TICKETS)))
        audit.note_look()
        yield audit.store


class _Meter:
    """Counts rewrites and guesses for the progress shown."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._count = progress, total, 0

    def advance(self, what: str, amount: int) -> None:
        """Count some more."""
        self._count += amount
        self._progress(what, self._count, self._total)


@dataclass(frozen=True, slots=True)
class _Gap:
    """Rows that an attack has not guessed yet."""

    rows: range
    epsilon: Nominal
    attack: str


@dataclass(frozen=True, slots=True)
class _Guessing:
    """A chunk of guessing in flight: its rows, and which of their rewrites failed."""

    gap: _Gap
    failed: npt.NDArray[np.bool_]


class _JobRun:
    """The missing work of one mechanism and plan."""

    def __init__(self, job: Job, audit: PreparedAudit, engine: Engine, meter: _Meter) -> None:
        self._job, self._audit, self._engine, self._meter = job, audit, engine, meter
        self._rewrites = {e: _open_rewrites(job, e) for e in job.epsilons}
        self._guesses = {(e, name): _open_guesses(job, e, name) for e in job.epsilons for name in job.attacks}
        self._pieces = enumerate(cut_rewriting(job, self._rewrites, audit))
        self._gaps = self._find_gaps()
        self._flying: dict[int, tuple[int, Piece] | _Guessing] = {}
        self._early: dict[int, tuple[Piece, Rewrites]] = {}  # rewritten before a piece that comes first
        self._begun = self._stored = 0  # pieces that were taken up, and those that are in the tables
        self.has_rewritten = False
        self._ready = 0  # rows whose rewrites are all in the tables

    def run(self) -> None:
        """Do what is missing."""
        self._feed()
        while self._flying:
            for ticket, result in self._engine.finished():
                if ticket in self._flying:
                    self._take(self._flying.pop(ticket), result)
                self._feed()

    def _feed(self) -> None:
        """Give the engine what it has room for: guessing if rows are ready, or else more rewriting."""
        while self._engine.has_room:
            if self._gaps and self._gaps[0].rows.stop <= self._ready:
                gap = self._gaps.pop(0)
                chunk, failed = self._observe(gap)
                self._submit(_Guessing(gap, failed), chunk)
                continue
            if self._begun - self._stored >= _WINDOW:
                return
            number, work = next(self._pieces, (-1, None))
            if work is None:
                return
            self._begun = number + 1
            piece, rewriting = work
            if len(rewriting):
                self.has_rewritten = True
                self._submit((number, piece), rewriting)
            else:
                self._store_rewrites(number, piece, Rewrites.of([]))

    def _submit(self, work: tuple[int, Piece] | _Guessing, chunk: Chunk) -> None:
        ticket = next(_TICKETS)
        self._flying[ticket] = work
        self._engine.submit(ticket, chunk)

    def _take(self, work: tuple[int, Piece] | _Guessing, result: Result) -> None:
        if isinstance(work, _Guessing) and isinstance(result, Guesses):
            self._store_guesses(work, result)
        elif isinstance(work, tuple) and isinstance(result, Rewrites):
            self._store_rewrites(*work, result)
        else:
            raise ContractError(
                f"The engine {type(self._engine).__name__} returned the result of another chunk."
            )

    def _store_rewrites(self, number: int, piece: Piece, rewrites: Rewrites) -> None:
        """Write the pieces whose turn it is; one that comes early waits for those before it."""
        self._early[number] = piece, rewrites
        while self._stored in self._early:
            piece, rewrites = self._early.pop(self._stored)
            for epsilon, table in self._rewrites.items():
                rows = np.flatnonzero(piece.wanted.epsilon == epsilon)
                if len(rows):
                    wanted = piece.wanted.rows(rows)
                    table.append(wanted.text, wanted.replicate, rewrites[rows], self._audit.corpus.texts)
            self._stored += 1
            self._ready = max(self._ready, piece.ready)
            self._meter.advance(f"{self._job.label}: rewriting", piece.rows * len(self._rewrites))

    def _store_guesses(self, work: _Guessing, guesses: Guesses) -> None:
        job, gap = self._job, work.gap
        withheld = job.attacks[gap.attack].withheld(work.failed)
        whole = restore_withheld(guesses, withheld, job.candidates)
        keys = tie_keys(self._audit.spec.seed, job.plan_name, gap.attack, gap.rows)
        judged = judge(whole, work.failed, job.plan.rows(gap.rows.start, gap.rows.stop), keys)
        self._guesses[gap.epsilon, gap.attack].append(gap.rows, judged)
        self._meter.advance(f"{job.label}: {gap.attack}", len(gap.rows))

    def _observe(self, gap: _Gap) -> tuple[GuessChunk, npt.NDArray[np.bool_]]:
        """Return the guessing for a gap, and which of its rewrites failed."""
        plan = self._job.plan.rows(gap.rows.start, gap.rows.stop)
        outputs = self._rewrites[gap.epsilon].fetch(plan.source, plan.replicate)
        chunk = cut_guessing(self._job, gap.epsilon, gap.attack, gap.rows, outputs, self._audit)
        return chunk, outputs.failed

    def _find_gaps(self) -> list[_Gap]:
        """Return what is left to guess: span by span, and within a span one table after the other."""
        job = self._job
        size = max(1, min(self._audit.spec.block_size, _CELLS // job.candidates))
        gaps = [
            _Gap(rows, epsilon, attack)
            for (epsilon, attack), table in self._guesses.items()
            for rows in table.gaps(len(job.plan), size)
        ]
        missing = sum(len(gap.rows) for gap in gaps)
        self._meter.advance("", len(job.plan) * len(self._guesses) - missing)
        ends = [span.stop for span in spans(job, self._audit)]
        return sorted(
            gaps, key=lambda gap: (bisect_left(ends, gap.rows.stop), gap.epsilon, gap.attack, gap.rows.start)
        )


def _open_rewrites(job: Job, epsilon: Nominal) -> RewriteTable:
    table = job.rewrites_at(epsilon)
    return RewriteTable(table.folder, table.claim())


def _open_guesses(job: Job, epsilon: Nominal, attack: str) -> GuessTable:
    table = job.guesses_at(epsilon, attack)
    return GuessTable(table.folder, table.claim())
