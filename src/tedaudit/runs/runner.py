"""Runs an audit over a run directory: resumes what is there, extends it, repeats nothing.

What must be there and is not listed is done. So there is one way for new trials, for more of them, for
attacks that are added later, after a kill, and for files that were lost. Waves go one after the other: nobody
guesses on one before all of it is rewritten, and attacks that learn from own rewrites guess last.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeVar

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.plugins.protocols import PricesPieces
from tedaudit.runs.calls import describe_calls
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import Announce, Engine
from tedaudit.runs.files import lock_folder
from tedaudit.runs.jobs import Job
from tedaudit.runs.likelihood_checks import repeat_checks
from tedaudit.runs.listing import Listing
from tedaudit.runs.pieces import note_pieces
from tedaudit.runs.preparation import PreparedAudit, prepare
from tedaudit.runs.repeats import repeat_calls
from tedaudit.runs.rounds import add_rounds
from tedaudit.runs.schedule import Schedule, count_steps, open_schedules
from tedaudit.runs.spec.model import AuditSpec
from tedaudit.runs.steps import GuessStep, RewriteStep, Step, open_worker

Progress = Callable[[str, int, int], None]  # what is done, how much of it, out of how much
S = TypeVar("S", RewriteStep, GuessStep)
Started = Callable[[], None]  # called once all is checked and the run begins


@dataclass(frozen=True, slots=True)
class Part:
    """One of several commands that do the steps of a run beside each other."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Part":
        """Return the part that is written as 1/3."""
        number, slash, of = text.partition("/")
        if not (slash and number.isdigit() and of.isdigit() and 1 <= int(number) <= int(of)):
            raise SpecError(f"--part {text} is not a part: write 1/3, 2/3 and 3/3 for three of them.")
        return cls(int(number), int(of))

    @property
    def name(self) -> str:
        """How files and locks call it."""
        return f"{self.number}-of-{self.of}"


@contextmanager
def executed(
    spec: AuditSpec,
    engine: Engine,
    progress: Progress,
    announce: Announce,
    started: Started = lambda: None,
) -> Iterator[RunDirectory]:
    """Run an audit, or go on with it, and give the complete run, which stays locked until it is left.

    Nothing is written, and `started` not called, before every setting has been checked against the run
    directory. `announce` is told in one line, before the first call, how often functions and servers will be
    called, if any is.
    """
    with _begun(spec, announce, started, None) as audit:
        _Run(audit, engine, progress, announce, None).do()
        yield audit.store


def execute_part(
    spec: AuditSpec, engine: Engine, progress: Progress, announce: Announce, part: Part
) -> tuple[RunDirectory, int]:
    """Do a part of the steps of a run; return the run, and how many rewrites and guesses are left."""
    with _begun(spec, announce, lambda: None, part) as audit:
        _Run(audit, engine, progress, announce, part).do()
        return audit.store, count_steps(open_schedules(audit))[1]


@contextmanager
def _begun(
    spec: AuditSpec, announce: Announce, started: Started, part: Part | None
) -> Iterator[PreparedAudit]:
    """Give an audit that is checked and written down, while nobody else does the same part of it."""
    audit = prepare(spec)
    with ExitStack() as planning:
        planning.enter_context(audit.store.locked(wait=part is not None))
        if audit.store.manifest_bytes() != audit.seen:  # another process was faster
            audit = prepare(spec)
        started()
        for note in chain(audit.script_notes, *audit.cautions.values()):
            announce(f"note: {note}.")
        calls = describe_calls(audit)
        if calls:
            announce(calls)
        audit.write()
        for job in audit.jobs:
            job.claim_tables()
        with ExitStack() as working:
            if part is None:
                for lock in sorted(audit.store.root.glob(".lock-part-*")):
                    working.enter_context(lock_folder(audit.store.root, lock.name))
            else:
                working.enter_context(lock_folder(audit.store.root, f".lock-part-{part.name}"))
                planning.close()  # other parts may plan
            yield audit


class _Run:
    """All jobs of an audit, one after the other."""

    def __init__(
        self, audit: PreparedAudit, engine: Engine, progress: Progress, announce: Announce, part: Part | None
    ) -> None:
        self._audit, self._engine, self._part = audit, engine, part
        self._progress, self._announce = progress, announce
        self._listing = Listing(audit.store.root, "" if part is None else f"part-{part.name}")
        if part is None:
            self._listing.tidy()
        self._here = open_worker(audit)

    def do(self) -> None:
        """Do what is missing, and what is to be said once all is there."""
        audit = self._audit
        self._engine.open(self._here, audit.plugins)
        schedules = open_schedules(audit, self._listing)
        meter = _Meter(self._progress, *count_steps(schedules))
        for schedule in schedules:
            job = schedule.job
            run = _JobRun(schedule, self._engine, self._listing, meter, self._part)
            try:
                run.do()
            finally:
                if run.remade:
                    self._note(job, run.remade)
                if self._part is None:
                    add_rounds(job, audit.spec.seed, self._listing)
            if self._part is not None:
                continue
            if job.is_seeded is not None and run.has_rewritten:
                audit.note_repeats(job.label, repeat_calls(job, audit, self._here.bench))
            _note_pieces(job, audit)
            for told in repeat_checks(job, audit, self._here.bench):
                audit.note_likelihood(told)
        if self._part is None:
            audit.note_look()

    def _note(self, job: Job, files: int) -> None:
        """Say that guesses were made from rewrites which came out otherwise when they were made again."""
        self._audit.note_remade(job.label, files)
        self._announce(
            f"note: {job.label} gave other rewrites when lost ones were made again, so the guesses on the "
            f"old ones are made again too ({files} files). If results were seen, that counts as a look."
        )


def _note_pieces(job: Job, audit: PreparedAudit) -> None:
    """Keep how a mechanism cuts the texts whose losses are told word by word."""
    mechanism = audit.plugins[job.reference.identity]
    has_losses = any(attack.card.score == LIKELIHOOD for attack in job.attacks.values())
    if has_losses and isinstance(mechanism, PricesPieces) and mechanism.terms_are_pieces:
        note_pieces(job.store, job.label, mechanism.pieces, np.unique(job.plan.source).tolist())


class _Meter:
    """Counts rewrites and guesses for the progress shown."""

    def __init__(self, progress: Progress, total: int, left: int) -> None:
        self._progress, self._total, self._count = progress, total, 0
        self.advance("", total - left)

    def advance(self, what: str, amount: int) -> None:
        """Count some more."""
        self._count += amount
        self._progress(what, self._count, self._total)


class _JobRun:
    """The missing work of one mechanism and plan."""

    def __init__(
        self, schedule: Schedule, engine: Engine, listing: Listing, meter: _Meter, part: Part | None
    ) -> None:
        self._schedule, self._engine, self._listing = schedule, engine, listing
        self._meter, self._part = meter, part
        self._guessing: deque[GuessStep] = deque()  # what can be guessed now: it comes first
        self._flying: set[Step] = set()
        self._waiting: deque[tuple[range, set[Step]]] = deque()  # waves, and what is to be rewritten of them
        self.has_rewritten = False
        self.remade = 0  # files of guesses that were made from other rewrites than are there now

    def do(self) -> None:
        """Do what is missing."""
        schedule = self._schedule
        for number, rows in enumerate(schedule.waves):
            steps = self._choose(schedule.list_rewriting(rows))
            self._waiting.append((rows, set(steps)))
            self._rewrite(steps)
            if number == 0:
                self._rewrite(self._choose(schedule.list_own()))
        self._finish()
        self._guess_on_waves()  # other parts may have done their share
        self._finish()
        if not self._waiting and not schedule.list_own():
            self._guess(schedule.list_learning, range(len(schedule.job.plan)))
            self._finish()

    def _guess_on_waves(self) -> None:
        """Begin to guess on the next waves of which nothing is left to rewrite."""
        while self._waiting and not self._waiting[0][1] and self._is_rewritten(self._waiting[0][0]):
            self._guess(self._schedule.list_guessing, self._waiting.popleft()[0])

    def _is_rewritten(self, rows: range) -> bool:
        """Return whether all rewrites of a wave are there; nobody guesses on it before."""
        if self._part is not None:
            self._listing.read()
        return not self._schedule.list_rewriting(rows)

    def _guess(self, find: Callable[[range], list[GuessStep]], rows: range) -> None:
        """Let attacks guess what they have yet to guess, or have guessed from what is not there any more."""
        self._schedule.look_again()
        outdated = self._schedule.find_outdated(rows) if self._part is None else []
        if outdated:
            self.remade += len(outdated)
            self._listing.drop(outdated)
            self._schedule.look_again()
        self._guessing += self._choose(find(rows))

    def _rewrite(self, steps: Sequence[RewriteStep]) -> None:
        """Have some steps done as soon as there is room; what can be guessed comes first."""
        self._guess_on_waves()
        self.has_rewritten |= any(not step.is_own for step in steps)
        left = deque(steps)
        while left:
            self._submit(left)
            if not self._engine.has_room:
                self._take()

    def _finish(self) -> None:
        """Wait until everything is done."""
        while self._guessing or self._flying:
            self._submit(deque())
            self._take()

    def _submit(self, rewriting: deque[RewriteStep]) -> None:
        """Give the engine what it has room for."""
        while self._engine.has_room and (self._guessing or rewriting):
            step = self._guessing.popleft() if self._guessing else rewriting.popleft()
            self._flying.add(step)
            self._engine.submit(step)

    def _take(self) -> None:
        """List what is done."""
        for step, made in self._engine.finished():
            if step not in self._flying:  # of a run that was stopped
                continue
            self._flying.discard(step)
            source = self._listing.digest_of(step.sources) if isinstance(step, GuessStep) else ""
            self._listing.add([replace(one, source=source) for one in made])
            what = step.title if isinstance(step, GuessStep) else "rewriting"
            self._meter.advance(f"{self._schedule.job.label}: {what}", len(step))
            for _, steps in self._waiting:
                steps.discard(step)
            if isinstance(step, RewriteStep):
                self._guess_on_waves()

    def _choose(self, steps: Iterable[S]) -> list[S]:
        """Return the steps that are this part's."""
        part = self._part
        return [step for step in steps if part is None or step.turn % part.of == part.number - 1]
