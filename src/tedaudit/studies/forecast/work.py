"""What an audit still has to do, in rows of model work: what is stored already is not counted again.

Rewrites are counted exactly, as long as no call fails and no row is lost. Guesses, likelihoods and texts for
encoders are upper limits: most attacks are not given failed rewrites, and equal outputs are encoded once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tedaudit.errors import SpecError
from tedaudit.estimators import find_estimator
from tedaudit.estimators.likelihood_check import LIKELIHOOD
from tedaudit.plugins.protocols import Prepares, Resamples, UsesModels
from tedaudit.runs.jobs import Job, PreparedAttack
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.runs.schedule import Schedule, count_left, open_schedules
from tedaudit.text.plain_data import PlainData

_ENCODER = "encoder"  # a word in what a plug-in calls a model of this kind
_WORDS = "lexical"  # an encoder that counts words and is no model
_EXERCISE = 4  # texts that an attack may have to encode for each rewrite that it practises on


@dataclass(frozen=True, slots=True)
class Rewriting(PlainData):
    """The rewrites that a mechanism has to make, by whom they are for."""

    label: str
    audited: int
    own: int  # of candidates, for attacks that are given them
    practice: int  # by attacks that try the mechanism themselves
    repeats: int  # of a user's function, to see whether it repeats itself
    in_json: ClassVar[str] = "*, rows"

    @property
    def rows(self) -> int:
        """All of them."""
        return self.audited + self.own + self.practice + self.repeats

    @property
    def by_attacks(self) -> int:
        """Those that no audited trial uses."""
        return self.own + self.practice


@dataclass(frozen=True, slots=True)
class Guessing(PlainData):
    """The guesses that an attack has to make on a mechanism and plan, at all epsilons."""

    label: str
    plan: str
    attack: str
    candidates: int
    rows: int
    likelihoods: int = 0  # of outputs under candidates
    encoded: int = 0  # texts that an encoder reads: outputs, and what is encoded in practice


@dataclass(frozen=True, slots=True)
class Work:
    """All that is left to do."""

    rewriting: tuple[Rewriting, ...]
    guessing: tuple[Guessing, ...]
    sets_encoded: int  # texts that a model embeds to draw candidate sets
    pool_encoded: int  # texts that attacks embed once, as candidates

    @property
    def encoded(self) -> int:
        """Texts for encoders in all."""
        return self.sets_encoded + self.pool_encoded + sum(part.encoded for part in self.guessing)

    def of(self, label: str) -> list[Guessing]:
        """Return the guessing on one mechanism."""
        return [part for part in self.guessing if part.label == label]


def count_work(audit: PreparedAudit) -> Work:
    """Return what is left to do."""
    schedules, by_label = open_schedules(audit), dict[str, list[Schedule]]()
    for schedule in schedules:
        by_label.setdefault(schedule.job.label, []).append(schedule)
    rewriting = []
    for label, own in by_label.items():
        left = count_left(own)
        rewriting.append(
            Rewriting(
                label=label, audited=left.rewrites, own=left.own, practice=left.practice, repeats=left.repeats
            )
        )
    guessing = [part for schedule in schedules for part in _count_guessing(schedule, audit)]
    preparing = {part.attack for part in guessing if part.encoded}
    sets = 0 if audit.spec.encoder == _WORDS else audit.embedded
    return Work(
        rewriting=tuple(rewriting),
        guessing=tuple(guessing),
        sets_encoded=sets,
        pool_encoded=len(preparing) * len(audit.corpus.texts),
    )


def _count_guessing(schedule: Schedule, audit: PreparedAudit) -> list[Guessing]:
    gaps: dict[str, list[int]] = {}
    for _, attack, rows in schedule.count_gaps():
        gaps.setdefault(attack, []).append(rows)
    return [_describe(schedule.job, attack, rows, audit) for attack, rows in gaps.items()]


def _describe(job: Job, attack: str, gaps: Sequence[int], audit: PreparedAudit) -> Guessing:
    prepared, rows = job.attacks[attack], sum(gaps)
    plugin = audit.plugins[prepared.reference.identity]
    asks = prepared.card.score == LIKELIHOOD
    encoded = 0
    if rows and uses_encoder(plugin):
        practised = prepared.own_rewrites * sum(map(bool, gaps))
        encoded = rows + practised * (1 + _EXERCISE)
    return Guessing(
        label=job.label,
        plan=job.plan_name,
        attack=attack,
        candidates=job.candidates,
        rows=rows,
        likelihoods=rows * job.candidates if asks else 0,
        encoded=encoded,
    )


def uses_encoder(attack: Any) -> bool:
    """Return whether an attack reads texts with a trained encoder; words in common need no model."""
    if not isinstance(attack, Prepares) or not isinstance(attack, UsesModels):
        return False
    return any(_ENCODER in use.part for use in attack.models())


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


def count_fresh(audit: PreparedAudit, worst: Beyond) -> tuple[FreshWork, ...]:
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
        found.setdefault(job.label, FreshWork(job.label, rewrites, guesses))
    return tuple(found.values())


def _count_own_rewrites(audit: PreparedAudit, prepared: PreparedAttack, worst: Beyond, rows: int) -> int:
    """Return how many rewrites an attack makes for itself in fresh trials at one epsilon, at most."""
    plugin = audit.plugins[prepared.reference.identity]
    if not isinstance(plugin, Resamples):
        return int(prepared.own_rewrites)
    asked = 2 * worst.pairs * plugin.rewrites_each
    return min(asked, rows) if plugin.is_limited else asked
