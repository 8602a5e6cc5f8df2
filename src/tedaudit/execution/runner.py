"""Runs the stages of an audit over a run directory: resumes what is there, extends it, repeats nothing.

The engine does the model work in any order. The runner feeds guessing from finished rewriting, and
it alone puts rows in order before it writes them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Guesses, OwnRewrites, Rewrites
from tedaudit.errors import ContractError
from tedaudit.execution.audited_rewrites import AuditedRewrites
from tedaudit.execution.backlog import Backlog, OwnDraws
from tedaudit.execution.calls import describe_calls
from tedaudit.execution.chunks import Chunk, GuessChunk
from tedaudit.execution.engines.protocol import Engine, TellsStatus
from tedaudit.execution.likelihood_checks import repeat_checks
from tedaudit.execution.pieces import (
    Guessing,
    Piece,
    cut_guessing,
    cut_rewriting,
    restore_withheld,
    spans,
)
from tedaudit.execution.repeats import perform, repeat_calls
from tedaudit.execution.work import Result
from tedaudit.execution.work_folder import FolderEngine
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted, judge, late_tie_keys
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit, prepare
from tedaudit.preparing.stretches import Stretch
from tedaudit.seeding import LateKeys
from tedaudit.spec.model import AuditSpec
from tedaudit.store.directory import RunDirectory
from tedaudit.store.kept_latents import LeftOut, is_too_large

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much
Announce = Callable[[str], None]  # takes a line for the user
Started = Callable[[], None]  # called once all is checked and the run begins
_CELLS = 4_000_000  # scores held at a time
_WINDOW = 32  # pieces of rewriting that may be under way: later ones wait in memory for earlier ones
_HELD_BYTES = 512 * 1024 * 1024  # latents that only memory holds: with more of them, one piece at a time
_TICKETS = count(1)  # never used twice: an engine may still return work of a run that was stopped


@contextmanager
def executed(
    spec: AuditSpec, engine: Engine, progress: Progress, announce: Announce, started: Started = lambda: None
) -> Iterator[RunDirectory]:
    """Run an audit, or go on with it, and give the complete run, which stays locked until it is left.

    Nothing is written, and `started` not called, before every setting has been checked against the run
    directory. `announce` is told in one line, before the first call, how often functions and servers will be
    called, if any is.
    """
    audit = prepare(spec)
    with audit.store.locked():
        if audit.store.manifest_bytes() != audit.seen:  # another process was faster
            audit = prepare(spec)
        started()
        for note in chain(audit.script_notes, *audit.cautions.values()):
            announce(f"note: {note}.")
        calls = describe_calls(audit)
        if calls:
            announce(calls)
        audit.write()
        engine.offer(audit.plugins)
        if isinstance(engine, FolderEngine):
            engine.note = audit.note_elsewhere
        meter = _Meter(progress, sum(map(_count_work, audit.jobs)), engine)
        for job in audit.jobs:
            work = _JobRun(job, audit, engine, meter)
            work.run()
            if job.is_seeded is not None and work.has_rewritten:
                audit.note_repeats(job.label, repeat_calls(job, audit, engine, next(_TICKETS)))
            for told in repeat_checks(job, audit, lambda chunk: perform(engine, next(_TICKETS), chunk)):
                audit.note_likelihood(told)
        audit.note_look()
        yield audit.store


def _count_work(job: Job) -> int:
    """Return how many rewrites, own ones included, and guesses a job makes in all."""
    rewrites = len(job.plan) + int(job.own_numbers.sum())
    return len(job.epsilons) * (rewrites + len(job.plan) * len(job.attacks))


class _Meter:
    """Counts rewrites and guesses for the progress shown."""

    def __init__(self, progress: Progress, total: int, engine: Engine) -> None:
        self._progress, self._total, self._count, self._engine = progress, total, 0, engine

    def advance(self, what: str, amount: int) -> None:
        """Count some more."""
        self._count += amount
        status = self._engine.status if what and isinstance(self._engine, TellsStatus) else ""
        self._progress(f"{what} ({status})" if status else what, self._count, self._total)


@dataclass(frozen=True, slots=True)
class _Flight:
    """A chunk of guessing in flight: its rows, which of their rewrites failed, and their keys for ties."""

    gap: Guessing
    failed: npt.NDArray[np.bool_]
    keys: LateKeys


class _JobRun:
    """The missing work of one mechanism and plan."""

    def __init__(self, job: Job, audit: PreparedAudit, engine: Engine, meter: _Meter) -> None:
        self._job, self._audit, self._engine, self._meter = job, audit, engine, meter
        self._backlog = Backlog(job, claim=True)
        self._guesses, self._own = self._backlog.guesses, self._backlog.own
        self._rewrites = {epsilon: AuditedRewrites(self._backlog, epsilon) for epsilon in job.epsilons}
        own = OwnDraws(self._backlog)
        meter.advance("", int(job.own_numbers.sum()) * len(self._own) - len(own))
        self._pieces = enumerate(cut_rewriting(self._backlog, own, audit))
        self._gaps = self._find_gaps([name for name in job.attacks if name not in job.stretches])
        self._own_gaps = self._find_gaps(list(job.stretches))  # these wait for all own rewrites
        self._own_left = len(own)
        self._learning: tuple[Nominal, Stretch, OwnRewrites] | None = None  # what was last given to an attack
        self._flying: dict[int, tuple[int, Piece] | _Flight] = {}
        self._early: dict[int, tuple[Piece, Rewrites]] = {}  # rewritten before a piece that comes first
        self._begun = self._stored = 0  # pieces that were taken up, and those that are in the tables
        self._largest = 0  # bytes of latents of a piece that no table keeps
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
        if self._job.bulky:
            left_out = [rewrites.table.count_left_out() for rewrites in self._rewrites.values()]
            self._audit.note_latents(self._job.label, sum(left_out, LeftOut()))

    def _feed(self) -> None:
        """Give the engine what it has room for: guessing if rows are ready, or else more rewriting."""
        while self._engine.has_room:
            gap = self._take_gap()
            if gap is not None:
                self._submit(*self._observe(gap))
                continue
            if self._begun - self._stored >= _WINDOW or (self._flying and self._holds_much()):
                return
            number, work = next(self._pieces, (-1, None))
            if work is None:
                return
            self._begun = number + 1
            piece, rewriting = work
            if len(rewriting):
                self.has_rewritten |= len(piece.wanted) > 0
                self._submit((number, piece), rewriting)
            else:
                self._store_rewrites(number, piece, Rewrites.of([]))

    def _holds_much(self) -> bool:
        """Return whether latents fill memory, with those of the pieces under way, by the largest so far."""
        held = sum(rewrites.held_bytes for rewrites in self._rewrites.values())
        return held + (self._begun - self._stored) * self._largest > _HELD_BYTES

    def _take_gap(self) -> Guessing | None:
        """Return the next guessing for which everything is there, if there is any."""
        for gaps, is_ready in ((self._gaps, True), (self._own_gaps, not self._own_left)):
            if is_ready and gaps and gaps[0].rows.stop <= self._ready:
                return gaps.pop(0)
        return None

    def _submit(self, work: tuple[int, Piece] | _Flight, chunk: Chunk) -> None:
        ticket = next(_TICKETS)
        self._flying[ticket] = work
        self._engine.submit(ticket, chunk)

    def _take(self, work: tuple[int, Piece] | _Flight, result: Result) -> None:
        if isinstance(work, _Flight) and isinstance(result, Guesses):
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
        if not self._job.keeps_latents and is_too_large(rewrites.latents, len(self._job.plan)):
            self._largest = max(self._largest, rewrites.latents.values.nbytes)
        while self._stored in self._early:
            piece, rewrites = self._early.pop(self._stored)
            audited = len(piece.wanted)
            if len(piece.own):
                self._append_own(piece.own, rewrites[piece.place[audited:]])
                rewrites = rewrites[piece.place[:audited]]
            self._append(piece.wanted, rewrites)
            self._stored += 1
            self._ready, self._own_left = max(self._ready, piece.ready), piece.own_left
            done = piece.rows * len(self._rewrites) + len(piece.own)
            self._meter.advance(f"{self._job.label}: rewriting", done)

    def _append(self, wanted: Wanted, rewrites: Rewrites) -> None:
        """Add rewrites to the tables of their epsilons."""
        for epsilon, made, some in _split(self._rewrites, wanted, rewrites):
            differing = self._rewrites[epsilon].append(made, some, self._audit.corpus.texts)
            if differing:
                self._audit.note_latents(self._job.label, LeftOut(), differing)

    def _append_own(self, wanted: Wanted, rewrites: Rewrites) -> None:
        """Add own rewrites; no attack is given their latents, and large ones are not kept."""
        rows = int(self._job.own_numbers.sum())
        for epsilon, made, some in _split(self._own, wanted, rewrites):
            keep = not is_too_large(some.latents, rows)
            texts = self._audit.corpus.texts
            self._own[epsilon].append(made.text, made.replicate, some, texts, keep_latents=keep)

    def _store_guesses(self, work: _Flight, guesses: Guesses) -> None:
        job, gap = self._job, work.gap
        withheld = job.attacks[gap.attack].withheld(work.failed)
        whole = restore_withheld(guesses, withheld, job.candidates)
        judged = judge(whole, work.failed, job.plan.rows(gap.rows.start, gap.rows.stop), work.keys)
        self._guesses[gap.epsilon, gap.attack].append(gap.rows, judged)
        self._meter.advance(f"{job.label}: {gap.attack}", len(gap.rows))

    def _observe(self, gap: Guessing) -> tuple[_Flight, GuessChunk]:
        """Return the guessing for a gap, and what is needed to judge it."""
        job, rows = self._job, gap.rows
        outputs = self._rewrites[gap.epsilon].fetch(rows, job.attacks[gap.attack].card.sees)
        flight = _Flight(
            gap, outputs.failed, late_tie_keys(self._audit.spec.seed, job.plan_name, gap.attack, rows)
        )
        return flight, cut_guessing(job, gap, outputs, flight.keys, self._audit, self._fetch_own(gap))

    def _fetch_own(self, gap: Guessing) -> OwnRewrites | None:
        """Return the own rewrites that an attack is given for a gap, if any; the last ones are kept."""
        stretch = self._job.stretch_of(gap.attack, gap.rows.start)
        if stretch is None:
            return None
        if self._learning is None or self._learning[0] != gap.epsilon or self._learning[1] is not stretch:
            sees = self._job.attacks[gap.attack].card.sees
            own = stretch.fetch(self._own[gap.epsilon], self._audit.corpus.texts, sees)
            self._learning = gap.epsilon, stretch, own
        return self._learning[2]

    def _find_gaps(self, attacks: Sequence[str]) -> list[Guessing]:
        """Return what is left to guess: span by span, and within a span one table after the other."""
        job = self._job
        size = max(1, min(self._audit.spec.block_size, _CELLS // job.candidates))
        gaps = [
            Guessing(part, epsilon, attack)
            for epsilon in job.epsilons
            for attack in attacks
            for rows in self._backlog.find_gaps(epsilon, attack, size)
            for part in job.split_by_stretch(attack, rows)
        ]
        missing = sum(len(gap.rows) for gap in gaps)
        self._meter.advance("", len(job.plan) * len(job.epsilons) * len(attacks) - missing)
        ends = [span.stop for span in spans(job, self._audit)]
        return sorted(
            gaps, key=lambda gap: (bisect_left(ends, gap.rows.stop), gap.epsilon, gap.attack, gap.rows.start)
        )


def _split(
    epsilons: Iterable[Nominal], wanted: Wanted, rewrites: Rewrites
) -> Iterator[tuple[Nominal, Wanted, Rewrites]]:
    """Yield the rewrites of each epsilon that has some."""
    for epsilon in epsilons:
        rows = np.flatnonzero(wanted.epsilon == epsilon)
        if len(rows) == len(wanted) > 0:
            yield epsilon, wanted, rewrites
        elif len(rows):
            yield epsilon, wanted.rows(rows), rewrites[rows]
