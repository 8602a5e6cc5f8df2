"""What trying the worst pairs again adds to an audit: fresh trials under its strongest attack."""

from dataclasses import dataclass

from tedaudit.abilities import Resamples
from tedaudit.errors import SpecError
from tedaudit.estimators import find_estimator
from tedaudit.forecast.timing import Timing
from tedaudit.preparing.jobs import PreparedAttack
from tedaudit.preparing.preparation import PreparedAudit


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
