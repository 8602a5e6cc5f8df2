"""Runs an audit over a run directory: resumes what is there, extends it, repeats nothing.

Units of trials go to the engine, which does them in any order, and come back as files, part by part; this
process places them. What a unit is to do is decided when its turn comes, by what the tables lack then. So
there is one way for new trials, for more of them, for attacks that are added later, after a kill, and for
what a lost worker leaves behind.

Some attacks guess apart, each in units of its own, once the rewrites of their rows are there: those that
learn from own rewrites or from practice, which is done for one epsilon after the other, and those that ask a
server or a function.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, count
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.errors import ContractError
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.execution.backlog import Backlog
from tedaudit.execution.calls import describe_calls, find_callee
from tedaudit.execution.engines.protocol import Engine, TellsStatus
from tedaudit.execution.likelihood_checks import repeat_checks
from tedaudit.execution.repeats import perform, repeat_calls
from tedaudit.execution.rounds import add_rounds
from tedaudit.execution.units import Finished, Interrupted, Parts, Result, Unit
from tedaudit.execution.work_folder import WorkFolder
from tedaudit.nominal import Nominal
from tedaudit.plugins.abilities import CallsUserCode, PricesPieces
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit, prepare
from tedaudit.results.losses import note_pieces
from tedaudit.spec.model import AuditSpec
from tedaudit.store.directory import RunDirectory
from tedaudit.store.rewrites import LeftOut, RewriteTable

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much
Announce = Callable[[str], None]  # takes a line for the user
Started = Callable[[], None]  # called once all is checked and the run begins
_TICKETS = count(1)  # never used twice: an engine may still return work of a run that was stopped


@contextmanager
def executed(
    spec: AuditSpec,
    engine: Engine,
    progress: Progress,
    announce: Announce,
    started: Started = lambda: None,
    work: Path | None = None,
) -> Iterator[RunDirectory]:
    """Run an audit, or go on with it, and give the complete run, which stays locked until it is left.

    Nothing is written, and `started` not called, before every setting has been checked against the run
    directory. `announce` is told in one line, before the first call, how often functions and servers will be
    called, if any is. Rewrites that lie in a folder of work are not made again.
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
        folder = None if work is None else WorkFolder(work, audit)
        meter = _Meter(progress, sum(map(_count_work, audit.jobs)), engine)
        for job in audit.jobs:
            run = _JobRun(job, audit, engine, meter, folder)
            try:
                run.run()
            finally:
                add_rounds(job, audit.spec.seed)
            if job.is_seeded is not None and run.has_rewritten and folder is None:
                audit.note_repeats(job.label, repeat_calls(job, audit, engine, next(_TICKETS)))
            _note_pieces(job, audit)
            for told in repeat_checks(job, audit, lambda chunk: perform(engine, next(_TICKETS), chunk)):
                audit.note_likelihood(told)
        audit.note_look()
        yield audit.store


def _note_pieces(job: Job, audit: PreparedAudit) -> None:
    """Keep how a mechanism cuts the texts whose losses are told word by word."""
    mechanism = audit.plugins[job.reference.identity]
    has_losses = any(attack.card.score == LIKELIHOOD for attack in job.attacks.values())
    if has_losses and isinstance(mechanism, PricesPieces) and mechanism.terms_are_pieces:
        note_pieces(job.store, job.label, mechanism.pieces, np.unique(job.plan.source).tolist())


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


class _JobRun:
    """The missing work of one mechanism and plan."""

    def __init__(
        self, job: Job, audit: PreparedAudit, engine: Engine, meter: _Meter, folder: WorkFolder | None
    ) -> None:
        self._job, self._audit, self._engine, self._meter = job, audit, engine, meter
        self._folder = folder
        self._backlog = Backlog(job, claim=True)
        self._apart = {attack for attack in job.attacks if self._guesses_apart(attack)}
        together = [attack for attack in job.attacks if attack not in self._apart]
        self._units = self._backlog.units(audit, together, engine.workers)
        self._ready: deque[tuple[range, Nominal, str]] = deque()  # attacks apart that can guess,
        self._learners: dict[tuple[Nominal, str], deque[range]] = {}  # and those that wait for own rewrites
        self._flying: dict[int, Unit] = {}
        self.has_rewritten = False
        meter.advance("", self._backlog.count_done())

    def run(self) -> None:
        """Do what is missing."""
        self._feed()
        while self._flying:
            for ticket, result in self._engine.finished():
                if ticket in self._flying:
                    self._take(ticket, self._flying[ticket], result)
                self._feed()
        if any(self._learners.values()):
            raise ContractError(f"The engine {type(self._engine).__name__} has lost own rewrites.")
        if self._job.bulky:
            tables = [RewriteTable(*self._open(epsilon)) for epsilon in self._job.epsilons]
            left_out = sum((table.count_left_out() for table in tables), LeftOut())
            self._audit.note_latents(self._job.label, left_out)

    def _open(self, epsilon: Nominal) -> tuple[Any, str]:
        definition = self._job.rewrites_at(epsilon)
        return definition.folder, definition.check()

    def _feed(self) -> None:
        """Give the engine what it has room for: attacks whose rows are ready, or else the next rows."""
        while self._engine.has_room:
            unit = self._take_ready() or self._take_next()
            if unit is None:
                return
            self._submit(unit)

    def _take_next(self) -> Unit | None:
        """Return the next unit, or the one of an attack apart if rows before it lack nothing else."""
        for rows, unit in self._units:
            if unit is not None:
                return unit
            self._release(rows)
            ready = self._take_ready()
            if ready is not None:
                return ready
        return None

    def _submit(self, unit: Unit) -> None:
        ticket = next(_TICKETS)
        if self._folder is not None:
            unit = self._folder.fill(unit)
        self.has_rewritten |= any(rewriting.lacking.any() for rewriting in unit.rewriting)
        self._flying[ticket] = unit
        self._engine.submit(ticket, unit)

    def _guesses_apart(self, attack: str) -> bool:
        """Return whether an attack guesses in units of its own.

        One that is shown latents which no table keeps guesses where they are, whatever else it needs.
        """
        job, plugins = self._job, self._audit.plugins
        prepared, mechanism = job.attacks[attack], plugins[job.reference.identity]
        if job.sees_latents(attack) and not job.keeps_latents:
            return False
        calls_out = find_callee(mechanism) is not None
        stays = calls_out and not isinstance(mechanism, CallsUserCode)
        return (
            attack in job.stretches
            or prepared.own_rewrites > 0
            or find_callee(plugins[prepared.reference.identity], job.candidates) is not None
            or stays
            or (prepared.knows_mechanism and calls_out)
        )

    def _release(self, rows: range) -> None:
        """Let the attacks apart guess some rows, whose rewrites are all there."""
        for epsilon in self._job.epsilons:
            for attack in sorted(self._apart):
                if attack in self._job.stretches:
                    self._learners.setdefault((epsilon, attack), deque()).append(rows)
                else:
                    self._ready.append((rows, epsilon, attack))

    def _take_ready(self) -> Unit | None:
        """Return the next unit of an attack apart for which everything is there, if there is any.

        What is learnt is learnt for one attack and epsilon: all of its rows come before those of another.
        """
        while self._ready:
            rows, epsilon, attack = self._ready.popleft()
            unit = self._backlog.make_unit(self._audit, rows, [attack], [epsilon])
            if unit is not None:
                return unit
        for (epsilon, attack), waiting in self._learners.items() if not self._backlog.own_left else ():
            while waiting:
                unit = self._backlog.make_unit(self._audit, waiting.popleft(), [attack], [epsilon])
                if unit is not None:
                    return unit
        return None

    def _take(self, ticket: int, unit: Unit, result: Result) -> None:
        if isinstance(result, tuple):
            self._place(unit, result)
            return
        if not isinstance(result, Finished | Interrupted):
            raise ContractError(f"The engine {type(self._engine).__name__} returned another work's result.")
        del self._flying[ticket]
        rest = self._backlog.make_rest(self._audit, unit) if isinstance(result, Interrupted) else None
        if rest is not None:
            self._submit(rest)
        elif len(unit.plan) and not {guessing.attack for guessing in unit.guessing} & self._apart:
            self._release(range(unit.start, unit.stop))
        if isinstance(result, Finished) and result.differing:
            self._audit.note_latents(self._job.label, LeftOut(), result.differing)

    def _place(self, unit: Unit, parts: Parts) -> None:
        """Write parts that were made together, and count them then: nothing of them is made twice."""
        for part in parts:
            self._backlog.place(unit, part)
        for attack in dict.fromkeys(part.attack for part in parts):
            size = sum(part.size for part in parts if part.attack == attack)
            self._meter.advance(f"{self._job.label}: {attack or 'rewriting'}", size)
