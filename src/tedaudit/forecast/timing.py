"""Times what an audit has left to do: seconds for a row of each kind, and the room that it takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tedaudit.forecast.disk import measure_frame, predict_guesses, predict_rewrites
from tedaudit.forecast.pace import GuessingPace, Pace, Stopwatch
from tedaudit.forecast.samples import Sample, read_sample
from tedaudit.forecast.work import Rewriting, Work
from tedaudit.preparing.preparation import PreparedAudit

_SECONDS = 12.0  # for each mechanism: half for rewrites, half for guesses


@dataclass(frozen=True, slots=True)
class Timing:
    """What was measured: seconds for a row of each kind, by mechanism, and by mechanism, plan and attack."""

    preparing: float  # candidate sets, weights and texts, as the run will again
    rewriting: Mapping[str, Pace] = field(default_factory=dict)
    guessing: Mapping[tuple[str, str, str], GuessingPace] = field(default_factory=dict)
    disk: float = 0.0  # bytes of the tables

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured, for JSON."""
        return {
            "preparing": self.preparing,
            "rewriting": [
                {"mechanism": label, "rows": pace.rows, "per_row": pace.per_row, "start": pace.start}
                for label, pace in self.rewriting.items()
            ],
            "guessing": [
                {
                    "mechanism": label, "plan": plan, "attack": attack, "rows": pace.guesses.rows,
                    "per_row": pace.guesses.per_row, "start": pace.guesses.start,
                    "per_text": pace.preparing, "per_own_rewrite": pace.learning,
                }
                for (label, plan, attack), pace in self.guessing.items()
            ],
        }  # fmt: skip


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
    watch: Stopwatch, audit: PreparedAudit, work: Work, made: tuple[Rewriting, Sample, Pace | None]
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
