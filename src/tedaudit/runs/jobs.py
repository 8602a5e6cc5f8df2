"""What the runner works on: one mechanism on one plan, with the attacks that fit it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.likelihood_check import LIKELIHOODS
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import Resamples
from tedaudit.plugins.registry import Reference
from tedaudit.plugins.values import Card, Claim, Corpus, Knows, Plan, Split
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.planner import PlannedTrials, Seen
from tedaudit.runs.table_folder import TableDefinition
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.judge import OWN, number_rows

# --- The texts on which attacks try a mechanism themselves, and what is said of them.

_LEAST, _MOST = 50, 5_000  # texts
PERSON_SCORE = "person"  # a score of several texts that are known of somebody


@dataclass(frozen=True)
class PracticeTexts:
    """Texts to practise on, and the splits that they are from; none if they are the pool's own."""

    texts: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()

    @cached_property
    def hash(self) -> str:
        """What a table is keyed by."""
        return Corpus("practice", {"train": Split(self.texts)}).fingerprint[:16]

    @property
    def description(self) -> Mapping[str, Any]:
        """What a table says of them."""
        return {"texts": len(self.texts), "splits": list(self.splits)}


def choose_practice(corpus: Corpus) -> PracticeTexts:
    """Return texts for an adversary to practise on: those of other splits that are not in the pool.

    If there are too few, the pool's own. That is as valid, since the adversary draws with keys of its own and
    may know the candidates; but it must be said.
    """
    pool = set(corpus.texts)
    others = {name: _leave_out(pool, split.texts) for name, split in corpus.splits.items()}
    distinct = tuple(dict.fromkeys(text for texts in others.values() for text in texts))
    if len(distinct) < _LEAST:
        return PracticeTexts(corpus.texts[:_MOST])
    used = set(distinct[:_MOST])
    return PracticeTexts(distinct[:_MOST], tuple(name for name, texts in others.items() if used & set(texts)))


def _leave_out(pool: set[str], texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text not in pool]


# --- How many rewrites of the candidates adversaries are given, and in which rows they are used.
#
# They are made with keys of a purpose of their own and lie in tables of their own, shared over trials,
# plans and attacks. A row's guess uses those of all candidates that occur in its plan up to the end of its
# stretch: the rows that were planned together. So the guesses of a row never change when trials are added
# later.

Numbers = npt.NDArray[np.int32]
Positions = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Rows that were planned together: where they end, and the own rewrites of each text of the pool."""

    stop: int
    numbers: Numbers

    @property
    def total(self) -> int:
        """How many own rewrites there are in all."""
        return int(self.numbers.sum())


def share_out(planned: PlannedTrials, pool: int, attack: Resamples, seed: int) -> tuple[Stretch, ...]:
    """Return how many own rewrites of each text an attack is given, stretch by stretch.

    Every candidate gets one, then every candidate a second one, and so on, as long as there are no more of
    them in all than rows, if the attack is limited. If there is not one more for each, coins choose who gets
    one: they belong to the texts, whatever is secret. What was given once is never taken away.
    """
    coins = uniforms([derive(seed, OWN, "coins")], pool)[0]
    numbers, stretches = np.zeros(pool, dtype=np.int32), []
    for stop in (*planned.looks, len(planned.plan)):
        candidates = _find_candidates(planned, stop, pool)
        for level in range(attack.rewrites_each):
            lacking = candidates[numbers[candidates] <= level]
            room = stop - int(numbers.sum()) if attack.is_limited else len(lacking)
            if len(lacking) > room:
                numbers[lacking[np.argsort(coins[lacking], kind="stable")[: max(0, room)]]] += 1
                break
            numbers[lacking] = level + 1
        stretches.append(Stretch(stop, numbers.copy()))
    return tuple(stretches)


def _find_candidates(planned: PlannedTrials, stop: int, pool: int) -> npt.NDArray[np.int64]:
    candidates = planned.plan.candidates
    return np.arange(pool) if candidates is None else np.unique(candidates[:stop]).astype(np.int64)


def list_replicates(numbers: Numbers) -> tuple[Positions, Positions]:
    """Return text and replicate of every rewrite, given how many each text has."""
    text = np.repeat(np.arange(len(numbers)), numbers)
    starts = np.cumsum(numbers) - numbers
    return text, np.arange(len(text)) - np.repeat(starts, numbers)


@dataclass(frozen=True)
class PreparedAttack:
    """An attack as the runner needs it."""

    reference: Reference
    card: Card
    determinants: Mapping[str, Any]
    knows_mechanism: bool
    own_rewrites: int = 0
    standard: bool = True  # built in, with default settings: it cannot have been made from what was seen
    knows: Knows = "nothing"  # of the mechanism
    sees_draw: bool = False  # and not what is published alone

    @property
    def is_likelihood(self) -> bool:
        """Whether its scores are log-likelihoods."""
        return self.card.score in LIKELIHOODS

    @property
    def asks_about_texts(self) -> bool:
        """Whether its scores may depend on what a mechanism tells of a published text."""
        return self.knows == "its model and settings" and "text" in self.card.sees


@dataclass(frozen=True)
class Job:
    """One mechanism on one plan, at all its epsilons and under all attacks."""

    store: RunDirectory
    label: str
    reference: Reference
    determinants: Mapping[str, Any]
    claims: Mapping[Nominal, Claim | None]
    planned: PlannedTrials
    attacks: Mapping[str, PreparedAttack]
    common: Mapping[str, Any]  # corpus and seed
    practice: PracticeTexts  # for attacks that try the mechanism themselves
    bulky: bool = False  # whether rewrites carry a latent, too large to read from all over the disk
    shuffled: bool = False  # whether draws reach the mechanism in random order: it runs code of others
    is_seeded: bool | None = None  # whether code of its user takes a seed; None if there is no such code
    stretches: Mapping[str, tuple[Stretch, ...]] = field(default_factory=dict)  # of attacks with own rewrites
    is_numbered: bool = False  # whether it has rewrites already and makes no others
    noise: str = ""  # where the mechanism makes its noise, if it says so
    scoring: Mapping[str, Any] = field(default_factory=dict)  # settings of what it tells of published texts
    rows_per_trial: int = 1
    calls_out: bool = False  # whether it calls a function, a program or a server
    makes_latents: bool = False  # whether it makes the latents of draws again, so that no table keeps them
    asking: frozenset[str] = frozenset()  # attacks that call a server, or a mechanism that calls out

    @property
    def plan(self) -> Plan:
        """The rows to work on."""
        return self.planned.plan

    @property
    def plan_name(self) -> str:
        """The name of the plan."""
        return self.planned.name

    @property
    def plan_key(self) -> str:
        """The key of the plan."""
        return self.planned.key

    @property
    def candidates(self) -> int:
        """The number of candidates in each trial."""
        return self.planned.candidates

    @property
    def epsilons(self) -> list[Nominal]:
        """The epsilons of this mechanism."""
        return list(self.claims)

    def rewrites_at(self, epsilon: Nominal) -> TableDefinition:
        """Return the table of rewrites at an epsilon."""
        determinants = {**self.common, "epsilon": epsilon.name, "mechanism": self.determinants}
        folder = self.store.rewrites_folder(self.label, epsilon)
        return TableDefinition(folder, determinants, self._about(epsilon))

    def own_rewrites_at(self, epsilon: Nominal) -> TableDefinition:
        """Return the table of rewrites for adversaries at an epsilon."""
        audited = self.rewrites_at(epsilon)
        determinants = {**audited.determinants, "purpose": OWN}
        return TableDefinition(
            self.store.own_rewrites_folder(self.label, epsilon), determinants, audited.about
        )

    def own_tables(self) -> list[tuple[Nominal, TableDefinition]]:
        """Return the tables of rewrites for adversaries; none if no attack asks for any."""
        return [(epsilon, self.own_rewrites_at(epsilon)) for epsilon in self.epsilons if self.stretches]

    @property
    def own_numbers(self) -> Numbers:
        """How many own rewrites of each text there are; of no text if no attack asks for any."""
        numbers = [stretches[-1].numbers for stretches in self.stretches.values()]
        return np.maximum.reduce(numbers) if numbers else np.zeros(0, dtype=np.int32)

    def stretch_of(self, attack: str, row: int) -> Stretch | None:
        """Return the stretch of a row for an attack; None if it is given no own rewrites."""
        return next((s for s in self.stretches.get(attack, ()) if row < s.stop), None)

    def guesses_at(self, epsilon: Nominal, attack: str) -> TableDefinition:
        """Return the table of guesses of an attack at an epsilon."""
        prepared, rewrites = self.attacks[attack], self.rewrites_at(epsilon)
        determinants: dict[str, Any] = {
            "plan": self.plan_key, "rewrites": rewrites.determinants, "attack": prepared.determinants,
        }  # fmt: skip
        about = {**rewrites.about, "plan": self.plan_name, "attack": attack, "score": prepared.card.score}
        about |= {"knows": prepared.knows, "sees_draw": prepared.sees_draw}
        if prepared.own_rewrites:
            determinants["practice"] = self.practice.hash
            about |= {"own_rewrites": prepared.own_rewrites, "practice": self.practice.description}
        if self.scoring and prepared.asks_about_texts:
            determinants["scoring"] = self.scoring
        if attack in self.stretches:
            about |= _describe_own(self.stretches[attack][-1])
        if self.planned.seen and not prepared.standard:
            about["seen_before"] = self.planned.seen  # said of a new table only: a stored one keeps its own
        folder = self.store.guesses_folder(self.plan_name, self.label, epsilon, attack)
        return TableDefinition(folder, determinants, about)

    def seen_at(self, epsilon: Nominal, attack: str, seen: Seen) -> TableDefinition:
        """Return the table of an attack's guesses if so many rewrites of every secret are seen.

        Where several texts of a person are known, scores are likelihoods no more, even if each was one.
        """
        rows, claim = self.guesses_at(epsilon, attack), self.claims[epsilon]
        about = {
            **rows.about, "plan": seen.name, "rewrites": seen.rewrites,
            "claim": None if claim is None else asdict(claim.repeat(seen.rewrites)),
        }  # fmt: skip
        if self.plan.known > 1:
            about["score"] = PERSON_SCORE
        if "seen_before" in about:
            about["seen_before"] //= self.planned.rounds
        folder = self.store.guesses_folder(seen.name, self.label, epsilon, attack)
        return TableDefinition(folder, {**rows.determinants, "plan": seen.key}, about)

    def check_tables(self) -> None:
        """Refuse if a stored table was made with other settings."""
        for _, table in self.own_tables():
            table.check()
        for epsilon in self.epsilons:
            self.rewrites_at(epsilon).check()
            for attack in self.attacks:
                self.guesses_at(epsilon, attack).check()
                for seen in self.planned.series:
                    self.seen_at(epsilon, attack, seen).check()

    def claim_tables(self) -> None:
        """Describe the tables that are new."""
        for _, table in self.own_tables():
            table.claim()
        for epsilon in self.epsilons:
            self.rewrites_at(epsilon).claim()
            for attack in self.attacks:
                self.guesses_at(epsilon, attack).claim()

    def _about(self, epsilon: Nominal) -> dict[str, Any]:
        claim = self.claims[epsilon]
        about = {
            "label": self.label,
            "epsilon": epsilon.json,
            "claim": None if claim is None else asdict(claim),
        }
        return {**about, "noise": self.noise} if self.noise else about


def list_asked(jobs: Sequence[Job]) -> dict[str, int]:
    """Return the tables that jobs ask for, by folder, with the rows of each.

    The plans of a mechanism share the rewrites of the same text and replicate, and those for adversaries.
    """
    asked: dict[str, int] = {}
    for label in dict.fromkeys(job.label for job in jobs):
        own_jobs = [job for job in jobs if job.label == label]
        rewrites = len(own_jobs[0].plan)  # of one plan, no two are the same
        if len(own_jobs) > 1:
            numbers = [number_rows(job.plan.source, job.plan.replicate) for job in own_jobs]
            rewrites = len(np.unique(np.concatenate(numbers)))
        own = [job.own_numbers for job in own_jobs if job.stretches]
        for epsilon in own_jobs[0].epsilons:
            place = f"{label}/{epsilon.name}"
            asked[f"rewrites/{place}"] = rewrites
            if own:
                asked[f"own_rewrites/{place}"] = int(np.maximum.reduce(own).sum())
            for job in own_jobs:
                plans = {job.plan_name: len(job.plan), **{s.name: len(s.plan) for s in job.planned.series}}
                for attack in job.attacks:
                    asked |= {f"guesses/{name}/{place}/{attack}": rows for name, rows in plans.items()}
    return asked


def _describe_own(stretch: Stretch) -> dict[str, Any]:
    """Return what a table says of own rewrites: how many, of how many texts, the most of one."""
    texts, most = int((stretch.numbers > 0).sum()), int(stretch.numbers.max(initial=0))
    return {"own_rewrites": stretch.total, "resampled": {"texts": texts, "most": most}}
