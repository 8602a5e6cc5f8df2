"""A dry run: what an audit would take and could show. The run directory is read and never written to."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tedaudit.execution.calls import describe_calls
from tedaudit.forecast.prospects import Goals, Prospect, make_outlook
from tedaudit.forecast.timing import Beyond, FreshWork, Timing, count_fresh, time_work
from tedaudit.forecast.work import Guessing, Rewriting, Work, count_work
from tedaudit.preparing.own_folder import foresee_folder
from tedaudit.preparing.preparation import prepare
from tedaudit.spec.model import AuditSpec, parse_spec
from tedaudit.text.plain_data import pick

_MINUTE = 60.0


@dataclass(frozen=True)
class Forecast:
    """What an audit would take and could show."""

    spec: AuditSpec
    work: Work
    prospects: tuple[Prospect, ...]
    rows: int  # of findings, this run's and those that are stored besides: they share one error
    look: int  # the number of the look that it would be
    goals: Goals
    timing: Timing | None  # None if nothing was timed
    texts: int
    calls: str = ""  # how often functions and servers would be called
    worst: tuple[FreshWork, ...] = ()
    limit: tuple[float, int, int] | None = None  # a gate, and how many of how many rows could pass it

    def seconds_of(self, label: str) -> float | None:
        """Return the seconds of a mechanism's rewrites and the guesses on them; None if not timed."""
        if self.timing is None:
            return None
        [rewriting] = [part for part in self.work.rewriting if part.label == label]
        guessing = [self.seconds_to_guess(part) for part in self.work.of(label)]
        return self.seconds_to_rewrite(rewriting) + sum(seconds or 0.0 for seconds in guessing)

    def seconds_to_rewrite(self, part: Rewriting) -> float:
        """Return the seconds of a mechanism's rewrites: rows times the seconds of one, and the start."""
        pace = None if self.timing is None else self.timing.rewriting.get(part.label)
        return 0.0 if pace is None else pace.predict(part.rows)

    def seconds_to_guess(self, part: Guessing) -> float | None:
        """Return the seconds of an attack's guesses; None if they could not be timed."""
        key = part.label, part.plan, part.attack
        pace = None if self.timing is None else self.timing.guessing.get(key)
        if not part.rows:
            return 0.0
        if pace is None:
            return None
        [rewriting] = [other for other in self.work.rewriting if other.label == part.label]
        return pace.guesses.predict(part.rows) + pace.learning * rewriting.own

    @property
    def seconds_to_prepare(self) -> float:
        """The seconds before the first row: candidate sets, and what attacks do once for every text."""
        if self.timing is None:
            return 0.0
        once: dict[str, float] = {}
        for (_, _, attack), pace in self.timing.guessing.items():
            once[attack] = max(once.get(attack, 0.0), pace.preparing)
        return self.timing.preparing + self.texts * sum(once.values())

    @property
    def seconds(self) -> float | None:
        """The seconds of everything that was timed; None if nothing was."""
        if self.timing is None:
            return None
        labels = [self.seconds_of(part.label) or 0.0 for part in self.work.rewriting]
        return self.seconds_to_prepare + sum(labels) + sum(part.seconds or 0.0 for part in self.worst)

    @property
    def untimed(self) -> tuple[str, ...]:
        """What minutes leave out, by name: guesses that could not be timed."""
        if self.timing is None:
            return ()
        return tuple(
            f"{part.attack} on {part.label}"
            for part in self.work.guessing
            if part.rows and self.seconds_to_guess(part) is None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the forecast safe for JSON."""
        work, seconds, timing, spec = self.work, self.seconds, self.timing, self.spec
        return {
            "out": str(spec.folder), "trials": spec.trials, **pick(self, "texts, rows, look, goals"),
            "rewriting": [
                pick(part) | {"seconds": timing and self.seconds_to_rewrite(part)} for part in work.rewriting
            ],
            "guessing": [
                pick(part) | {"seconds": timing and self.seconds_to_guess(part)} for part in work.guessing
            ],
            "encoded": pick(work, "sets_encoded as candidate_sets, pool_encoded as pool, encoded as total"),
            "minutes": None if seconds is None else seconds / _MINUTE, **pick(self, "untimed, timing"),
            "bytes": None if timing is None else round(timing.disk),
            **pick(self, "prospects, calls, worst as worst_pairs"),
            "limit": self.limit and dict(zip(("above", "rows_in_reach", "rows"), self.limit, strict=True)),
        }  # fmt: skip


def plan_audit(
    spec: AuditSpec | Mapping[str, Any],
    *,
    ceiling: float | None = None,
    success: float | None = None,
    timing: bool = True,
    work: Path | None = None,
    beyond: Beyond | None = None,
) -> Forecast:
    """Return what an audit would take and could show, without running it.

    `spec` is what `tedaudit.run` takes. `ceiling` asks for the trials with which eps_emp can be that large,
    `success` for those in which an attack that is right so often is told from the claim. With `timing` every
    mechanism makes a few rewrites and every attack a few guesses, some seconds for each mechanism, none of
    which is kept. What the run directory or the folder `work` holds already is not counted. Nothing is
    written to either.
    """
    checked = foresee_folder(spec if isinstance(spec, AuditSpec) else parse_spec(spec))
    goals, more = Goals(ceiling, success), beyond or Beyond()
    before = time.perf_counter()
    audit = prepare(checked)
    preparing = time.perf_counter() - before
    counted, outlook = count_work(audit, work), make_outlook(audit)
    timed = time_work(audit, counted, preparing) if timing else None
    prospects, family = outlook.foresee(goals), outlook.family
    limit = None
    if more.limit is not None:
        limit = (more.limit, outlook.limit_in_reach(more.limit), len(outlook.settings))
    return Forecast(
        checked, counted, prospects, len(family.rows), family.look.number, goals, timed,
        len(audit.corpus.texts), describe_calls(audit), count_fresh(audit, more, timed), limit,
    )  # fmt: skip
