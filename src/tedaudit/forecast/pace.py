"""How fast plug-ins work here: a few real rewrites and guesses, within some seconds, none of them kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tedaudit.abilities import Prepares, Resamples, can_compare
from tedaudit.batches import Guesses, Rewrites
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.execution.calls import find_callee
from tedaudit.execution.units import RewriteChunk, withhold
from tedaudit.execution.work import Bench
from tedaudit.forecast.samples import PURPOSE, Questions, Sample, group_missing, join_wanted
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit

_MOST = 1024  # groups of draws, or guesses, that are tried
_CALLS = 8  # rows, if they call a function of the user's or a server


@dataclass(frozen=True, slots=True)
class Pace:
    """How long some rows took, and what was spent once before them: loading a model, for instance."""

    rows: int
    seconds: float
    start: float = 0.0

    @property
    def per_row(self) -> float:
        """Seconds for one row."""
        return self.seconds / self.rows

    def predict(self, rows: int) -> float:
        """Return the seconds that so many rows take: nothing is started for none."""
        return self.start + rows * self.per_row if rows else 0.0


@dataclass(frozen=True, slots=True)
class GuessingPace:
    """The pace of an attack's guesses, and of what it does for each text of the pool or own rewrite first."""

    guesses: Pace
    preparing: float = 0.0  # seconds for each text of the pool
    learning: float = 0.0  # seconds for each own rewrite that it is given
    made: Guesses | None = field(default=None, repr=False, compare=False)  # the last of them, to be weighed


class Stopwatch:
    """Times the plug-ins of an audit, which stay loaded; `clock` tells seconds."""

    def __init__(
        self, audit: PreparedAudit, seconds: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._audit, self._seconds, self._clock = audit, seconds, clock
        self._left, self._begun = 1, clock()
        self._bench = Bench(audit.spec.batch_size)
        self._bench.adopt(audit.plugins)

    def time_rewriting(self, job: Job) -> tuple[Pace, Sample] | None:
        """Return how fast a mechanism rewrites what a job lacks, and what it made; None if it lacks none."""
        wanted = group_missing(job, self._audit, _MOST)
        if not wanted:
            return None
        if self._calls_out(job):
            wanted = [rows.rows(np.arange(1)) for rows in wanted[:_CALLS]]
        parts: list[tuple[Wanted, Rewrites]] = []

        def rewrite(start: int, stop: int) -> int:
            rows = join_wanted(wanted[start:stop])
            draws = make_draws(self._audit.corpus.texts, rows, self._audit.spec.seed, PURPOSE)
            must_tell = job.is_seeded is not None  # a function's seeds must differ from audited ones
            made = self._bench.perform(RewriteChunk(job.reference, draws, own=must_tell))
            assert isinstance(made, Rewrites)  # noqa: S101 - by the kind of the chunk
            parts.append((rows, made))
            return len(rows)

        pace = self._measure(rewrite, len(wanted), self._seconds)
        epsilons = np.concatenate([rows.epsilon for rows, _ in parts])
        return pace, Sample(epsilons, Rewrites.join([made for _, made in parts]))

    def rewind(self, left: int) -> None:
        """Begin with the attacks on a mechanism: so many share the seconds; what one leaves, others have."""
        self._left, self._begun = max(1, left), self._clock()

    def time_guessing(self, job: Job, attack: str, sample: Sample, practice: float) -> GuessingPace | None:
        """Return how fast an attack guesses; None if it is not given any of these rewrites.

        An attack that practises first is left out if its practice, which takes so many seconds, is too long,
        or would call a function of the user's hundreds of times.
        """
        epsilon, prepared = job.epsilons[-1], job.attacks[attack]
        outputs = sample.at(epsilon)
        outputs = outputs[np.flatnonzero(~withhold(prepared.card.sees, outputs.failed))]
        calls = prepared.own_rewrites and self._calls_out(job)
        if not len(outputs) or practice > self._seconds or calls:
            return None
        plugin = self._audit.plugins[prepared.reference.identity]
        number = _CALLS if find_callee(plugin, job.candidates) is not None else _MOST
        questions = Questions(job, attack, outputs, self._audit)

        made: list[Guesses] = []

        def guess(start: int, stop: int) -> int:
            guesses = self._bench.perform(questions.ask(start, stop, epsilon))
            assert isinstance(guesses, Guesses)  # noqa: S101 - by the kind of the chunk
            made[:] = [guesses]
            return stop - start

        left = max(0.0, self._seconds - (self._clock() - self._begun))
        pace = self._measure(guess, number, left / self._left)
        self._left = max(1, self._left - 1)
        shared = 1.0
        if prepared.card.score == LIKELIHOOD and _reads_once(self._plugin(job), job.candidates):
            shared = questions.sharing(pace.rows)
        pace = Pace(pace.rows, pace.seconds * shared, max(0.0, pace.start - practice))
        if not isinstance(plugin, Prepares | Resamples) or job.plan.candidates is None:
            return GuessingPace(pace, made=made[0])
        other, before = Questions(job, attack, outputs, self._audit, part=1), self._clock()
        self._bench.perform(other.ask(0, 1, epsilon))
        spent = max(0.0, self._clock() - before - pace.per_row)
        if isinstance(plugin, Resamples):
            return GuessingPace(pace, learning=spent / max(1, other.own), made=made[0])
        return GuessingPace(pace, preparing=spent / len(other.pool), made=made[0])

    def _plugin(self, job: Job) -> Any:
        return self._audit.plugins[job.reference.identity]

    def _calls_out(self, job: Job) -> bool:
        return find_callee(self._plugin(job)) is not None

    def _measure(self, work: Callable[[int, int], int], most: int, seconds: float) -> Pace:
        """Do ever more of some work, one item first, until the next step would take too long."""
        begun, number, size = self._clock(), 1, 1
        rows = work(0, 1)
        end = self._clock()
        first = pace = Pace(rows, end - begun)
        while number < most and (pace is first or end - begun + 2 * pace.seconds < seconds):
            stop, before = min(most, number + size), self._clock()
            rows = work(number, stop)
            end = self._clock()
            pace = Pace(rows, end - before)
            number, size = stop, 2 * size
        if pace is first:
            return first
        return Pace(pace.rows, pace.seconds, max(0.0, first.seconds - first.rows * pace.per_row))


def _reads_once(mechanism: Any, candidates: int) -> bool:
    """Return whether a model reads each text of a block of guesses once, however often it is a candidate."""
    return hasattr(mechanism, "log_likelihoods") or (candidates == 2 and can_compare(mechanism))
