"""Times what an audit has left to do: seconds for a row of each kind, and the room that it takes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.batches import Guesses, Rewrites
from tedaudit.errors import SpecError
from tedaudit.estimators import find_estimator
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.execution.calls import find_callee
from tedaudit.execution.units import RewriteChunk, withhold
from tedaudit.execution.work import Bench
from tedaudit.forecast.samples import PURPOSE, Questions, TimedSample, group_missing, join_wanted, read_sample
from tedaudit.forecast.work import Rewriting, Work, measure_frame, predict_guesses, predict_rewrites
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.plugins.abilities import Prepares, Resamples, can_compare
from tedaudit.preparing.jobs import Job, PreparedAttack
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.text.plain_data import PlainData, pick

# --- How fast plug-ins work here: a few real rewrites and guesses, within some seconds, none of them kept.

_MOST = 1024  # groups of draws, or guesses, that are tried
_CALLS = 8  # rows, if they call a function of the user's or a server


@dataclass(frozen=True, slots=True)
class Pace:
    """How long some rows took, and what was spent once before them: loading a model, for instance."""

    rows: int
    seconds: float
    start: float = 0.0
    in_json: ClassVar[str] = "rows, per_row, start"

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
    in_json: ClassVar[str] = "*guesses, preparing as per_text, learning as per_own_rewrite"


class Stopwatch:
    """Times the plug-ins of an audit, which stay loaded; `clock` tells seconds."""

    def __init__(
        self, audit: PreparedAudit, seconds: float, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._audit, self._seconds, self._clock = audit, seconds, clock
        self._left, self._begun = 1, clock()
        self._bench = Bench(audit.spec.batch_size)
        self._bench.adopt(audit.plugins)

    def time_rewriting(self, job: Job) -> tuple[Pace, TimedSample] | None:
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
        return pace, TimedSample(epsilons, Rewrites.join([made for _, made in parts]))

    def rewind(self, left: int) -> None:
        """Begin with the attacks on a mechanism: so many share the seconds; what one leaves, others have."""
        self._left, self._begun = max(1, left), self._clock()

    def time_guessing(
        self, job: Job, attack: str, sample: TimedSample, practice: float
    ) -> GuessingPace | None:
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


_SECONDS = 12.0  # for each mechanism: half for rewrites, half for guesses


@dataclass(frozen=True, slots=True)
class Timing(PlainData):
    """What was measured: seconds for a row of each kind, by mechanism, and by mechanism, plan and attack."""

    preparing: float  # candidate sets, weights and texts, as the run will again
    rewriting: Mapping[str, Pace] = field(default_factory=dict)
    guessing: Mapping[tuple[str, str, str], GuessingPace] = field(default_factory=dict)
    disk: float = 0.0  # bytes of the tables

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured, for JSON."""
        rewriting = [{"mechanism": label, **pick(pace)} for label, pace in self.rewriting.items()]
        names = ("mechanism", "plan", "attack")
        guessing = [
            {**dict(zip(names, key, strict=True)), **pick(pace)} for key, pace in self.guessing.items()
        ]
        return {"preparing": self.preparing, "rewriting": rewriting, "guessing": guessing}


def time_work(audit: PreparedAudit, work: Work, preparing: float) -> Timing:
    """Time every mechanism and every attack that has something left to do."""
    watch = Stopwatch(audit, _SECONDS / 2)
    rewriting: dict[str, Pace] = {}
    guessing: dict[tuple[str, str, str], GuessingPace] = {}
    size: float = measure_frame(audit)
    for part in work.rewriting:
        jobs = [job for job in audit.jobs if job.label == part.label]
        made = next(filter(None, map(watch.time_rewriting, jobs)), None) if part.rows else None
        sample = made[1] if made else next(filter(None, map(read_sample, jobs)), None)
        if made:
            rewriting[part.label] = made[0]
        if sample is None:
            continue
        size += predict_rewrites(part, sample, audit)
        guessing |= _time_guessing(watch, audit, work, (part, sample, rewriting.get(part.label)))
    for guesses in work.guessing:
        found = guessing.get((guesses.label, guesses.plan, guesses.attack))
        size += predict_guesses(guesses, None if found is None else found.made, audit)
    return Timing(preparing, rewriting, guessing, size)


def _time_guessing(
    watch: Stopwatch, audit: PreparedAudit, work: Work, made: tuple[Rewriting, TimedSample, Pace | None]
) -> dict[tuple[str, str, str], GuessingPace]:
    """Time the attacks on one mechanism."""
    rewriting, sample, pace = made
    found = {}
    waiting = [
        (job, part)
        for job in audit.jobs
        for part in work.of(rewriting.label)
        if (job.label, job.plan_name) == (part.label, part.plan) and part.rows
    ]
    watch.rewind(len(waiting))
    for job, part in waiting:
        own = job.attacks[part.attack].own_rewrites
        practice = own * pace.per_row if pace else 0.0
        measured = watch.time_guessing(job, part.attack, sample, practice)
        if measured:
            found[part.label, part.plan, part.attack] = measured
    return found


# --- What trying the worst pairs again adds to an audit: fresh trials under its strongest attack.


@dataclass(frozen=True, slots=True)
class Beyond:
    """What else a command was told to do: try so many of the worst pairs again, compare with a limit."""

    pairs: int = 0
    trials: int = 200  # for each pair
    limit: float | None = None  # above which a bound fails

    def __post_init__(self) -> None:
        if self.pairs < 0 or self.trials < 1:
            raise SpecError(
                f"{self.pairs} pairs with {self.trials} trials each were asked for; both must be 1 or more."
            )


@dataclass(frozen=True, slots=True)
class FreshWork:
    """Rows that trying the worst pairs of a mechanism again adds, at most."""

    label: str
    rewrites: int
    guesses: int
    seconds: float | None


def count_fresh(audit: PreparedAudit, worst: Beyond, timing: Timing | None) -> tuple[FreshWork, ...]:
    """Return what fresh trials on the worst pairs add: for each epsilon, under the attack that costs most."""
    if not worst.pairs:
        return ()
    rows = worst.pairs * worst.trials
    found: dict[str, FreshWork] = {}
    for job in audit.jobs:
        plan = audit.plans[job.plan_name]
        if plan["mechanism"] is not None or find_estimator(plan["estimator"]).rows_per_trial > 1:
            continue  # one rewrite of each text, or two rows in a trial: not tried again
        extra = [_count_own_rewrites(audit, job.attacks[name], worst, rows) for name in job.attacks]
        epsilons = len(job.epsilons)
        rewrites, guesses = epsilons * (rows + max(extra, default=0)), epsilons * rows
        seconds = None
        if timing is not None and job.label in timing.rewriting:
            paces = [p for key, p in timing.guessing.items() if key[:2] == (job.label, job.plan_name)]
            slowest = max((p.guesses.per_row for p in paces), default=0.0)
            seconds = rewrites * timing.rewriting[job.label].per_row + guesses * slowest
        found.setdefault(job.label, FreshWork(job.label, rewrites, guesses, seconds))
    return tuple(found.values())


def _count_own_rewrites(audit: PreparedAudit, prepared: PreparedAttack, worst: Beyond, rows: int) -> int:
    """Return how many rewrites an attack makes for itself in fresh trials at one epsilon, at most."""
    plugin = audit.plugins[prepared.reference.identity]
    if not isinstance(plugin, Resamples):
        return int(prepared.own_rewrites)
    asked = 2 * worst.pairs * plugin.rewrites_each
    return min(asked, rows) if plugin.is_limited else asked
