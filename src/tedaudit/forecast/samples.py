"""What plug-ins are tried on to see how fast they are: draws that a run lacks, and questions about rewrites.

Draws are those of a text in a span of rows, own ones included, as a run makes them together: what a mechanism
does whatever its noise, it does once for all of them. Questions name as many different candidates as those of
a block of the plan do, because attacks may read each text once. Keys are of a purpose of their own, so that
no audited noise is drawn before the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Observations, OwnRewrites, Rewrites
from tedaudit.execution.backlog import Backlog, spans
from tedaudit.execution.units import GuessChunk
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.preparation import PreparedAudit
from tedaudit.seeding import derive, key_words, uniforms

PURPOSE = "timing"
_POOL = 512  # texts that questions are about, if not every text is a candidate
_STORED = 256  # rewrites that are read if none is to be made

Rows = npt.NDArray[np.int64]
Columns = tuple[Rows, Rows, Rows, npt.NDArray[np.float64]]  # group, text, replicate and epsilon of draws


@dataclass(frozen=True, slots=True)
class TimedSample:
    """Rewrites that were made, or are stored, with the epsilon of each."""

    epsilons: npt.NDArray[np.float64]
    rewrites: Rewrites

    def at(self, epsilon: Nominal) -> Rewrites:
        """Return those at an epsilon, or all if there are none."""
        rows = np.flatnonzero(self.epsilons == float(epsilon))
        return self.rewrites[rows] if len(rows) else self.rewrites


def read_sample(job: Job) -> TimedSample | None:
    """Return some stored rewrites of a job; None if there are none."""
    backlog = Backlog(job)
    for epsilon, table in backlog.rewrites.items():
        rows = np.flatnonzero(~backlog.find_missing(epsilon))[:_STORED]
        if len(rows):
            made = table.fetch(job.plan.source[rows], job.plan.replicate[rows])
            return TimedSample(np.full(len(rows), float(epsilon)), made)
    return None


def group_missing(job: Job, audit: PreparedAudit, most: int) -> list[Wanted]:
    """Return draws that a job lacks, in groups that a run makes together, picked at random."""
    group, text, replicate, epsilon = (
        np.concatenate(c) for c in zip(*_list_missing(job, audit), strict=True)
    )
    if not len(group):
        return []
    if job.shuffled:
        group = np.arange(len(group))  # code of others meets draws in random order
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    parts = np.split(order, starts[1:])
    wanted = Wanted(text.astype(np.int32), replicate.astype(np.int32), epsilon)
    return [wanted.rows(parts[i]) for i in shuffle(len(parts), audit.spec.seed)[:most].tolist()]


def _list_missing(job: Job, audit: PreparedAudit) -> list[Columns]:
    """Return the audited draws that are missing, then the own ones, which go with the first span."""
    size, source = len(audit.corpus.texts), job.plan.source.astype(np.int64)
    ends = np.array([span.stop for span in spans(job, audit)])
    group = np.searchsorted(ends, np.arange(len(source)), side="right") * size + source
    nothing = np.zeros(0, dtype=np.int64)
    found: list[Columns] = [(nothing, nothing, nothing, np.zeros(0))]
    backlog = Backlog(job)
    for epsilon in job.epsilons:
        rows = np.flatnonzero(backlog.find_missing(epsilon))
        replicate = job.plan.replicate[rows].astype(np.int64)
        found.append((group[rows], source[rows], replicate, np.full(len(rows), float(epsilon))))
    first = np.arange(size)  # the first span, if a text has no audited draw to go with
    first[source[::-1]] = group[::-1]
    own = backlog.list_own()
    text = own.text.astype(np.int64)
    return [*found, (first[text], text, own.replicate.astype(np.int64), own.epsilon)]


def join_wanted(parts: Sequence[Wanted]) -> Wanted:
    """Return the draws of several groups by text."""
    columns = zip(*((part.text, part.replicate, part.epsilon) for part in parts), strict=True)
    text, replicate, epsilon = (np.concatenate(column) for column in columns)
    return Wanted(text, replicate, epsilon).sort()


class Questions:
    """Guessing on sampled rewrites, about texts of the pool: another `part` asks about other texts.

    If an attack sees texts alone, texts of the corpus stand in for rewrites once there are no more of them:
    equal outputs may cost less than different ones.
    """

    def __init__(self, job: Job, attack: str, outputs: Rewrites, audit: PreparedAudit, part: int = 0) -> None:
        self._job, self._prepared, self._seed = job, job.attacks[attack], audit.spec.seed
        texts = audit.corpus.texts
        order = np.roll(shuffle(len(texts), self._seed), -part * min(_POOL, len(texts) // 2))
        sees = self._prepared.card.sees
        if not {"tokens", "latent"} & set(sees):
            outputs = Rewrites.join([outputs, Rewrites.from_texts([texts[i] for i in order.tolist()])])
        self._outputs = outputs
        self.pool: Sequence[str] = texts
        self._share = 1.0  # of candidates that are different texts
        if job.plan.candidates is not None:
            self.pool = tuple(texts[i] for i in order[: max(_POOL, job.candidates)].tolist())
            block = job.plan.candidates[: audit.spec.block_size]
            self._share = len(np.unique(block)) / block.size
        self._own = None
        if attack in job.stretches:
            own = outputs[: max(1, min(len(outputs), _POOL))]
            place = np.roll(np.resize(np.arange(len(self.pool)), len(own)), part).astype(np.int32)
            self._own = OwnRewrites(self.pool, place, own.reveal([s for s in sees if s != "latent"]))

    @property
    def own(self) -> int:
        """How many own rewrites the attack is given."""
        return 0 if self._own is None else len(self._own)

    def ask(self, start: int, stop: int, epsilon: Nominal) -> GuessChunk:
        """Return the guessing of some rows."""
        prepared, job, numbers = self._prepared, self._job, np.arange(start, stop)
        keys = [derive(self._seed, PURPOSE, number) for number in numbers.tolist()]
        seen = Observations(
            self._outputs[numbers % len(self._outputs)].reveal(prepared.card.sees),
            self.pool,
            self._name_candidates(numbers),
            key_words(keys),
        )
        return GuessChunk(
            prepared.reference, seen, job.reference if prepared.knows_mechanism else None, epsilon,
            job.practice.texts if prepared.own_rewrites else (), self._own,
        )  # fmt: skip

    def sharing(self, rows: int) -> float:
        """Return how many different candidates so many rows of a block have for each that these had."""
        return self._share * rows * self._job.candidates / self._count_different(rows)

    def _count_different(self, rows: int) -> int:
        k = self._job.candidates
        return min(len(self.pool), max(k, ceil(self._share * rows * k)))

    def _name_candidates(self, numbers: Rows) -> npt.NDArray[np.int32] | None:
        """Return candidates for each row, of which as many differ as in a block, if they are enough."""
        if self._job.plan.candidates is None:
            return None
        different = self._count_different(len(numbers))
        step = max(1, different // len(numbers))
        places = (numbers[:, None] * step + np.arange(self._job.candidates)) % different
        return np.asarray((places + numbers[0]) % len(self.pool), dtype=np.int32)


def shuffle(number: int, seed: int) -> Rows:
    """Return the numbers from 0 on in an order drawn at random."""
    return np.argsort(uniforms([derive(seed, PURPOSE, "order")], number)[0], kind="stable")
