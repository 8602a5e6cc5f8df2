"""What a job still lacks: rewrites, rewrites for adversaries and guesses, as the tables of its run tell.

Whoever does an audit, forecasts it, counts its calls or hands its work to another machine asks here.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tedaudit.execution.repeats import CALLS
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted, number_rows
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.stretches import list_replicates
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable
from tedaudit.store.table_folder import TableDefinition

Rows = npt.NDArray[np.bool_]


class Backlog:
    """The tables of a job, and what is not in them yet."""

    def __init__(self, job: Job, *, claim: bool = False) -> None:
        """Open the tables; `claim` describes those that are new, as a run does before it writes."""

        def key(table: TableDefinition) -> str:
            return table.claim() if claim else table.check()

        def open_rewrites(table: TableDefinition) -> RewriteTable:
            return RewriteTable(table.folder, key(table))

        self.job = job
        self.rewrites = {epsilon: open_rewrites(job.rewrites_at(epsilon)) for epsilon in job.epsilons}
        tables = {(e, attack): job.guesses_at(e, attack) for e in job.epsilons for attack in job.attacks}
        self.guesses = {place: GuessTable(table.folder, key(table)) for place, table in tables.items()}
        self.own = {epsilon: open_rewrites(table) for epsilon, table in job.own_tables()}

    def find_missing(self, epsilon: Nominal) -> Rows:
        """Return which rows of the plan are to be rewritten at an epsilon: the first time, or again."""
        plan = self.job.plan
        return self.rewrites[epsilon].missing(plan.source, plan.replicate) | self.find_again(epsilon)

    def find_again(self, epsilon: Nominal) -> Rows:
        """Return which rows are rewritten again: a latent was not kept that an attack has yet to see."""
        again, plan = self.count_unseen(epsilon) > 0, self.job.plan
        rows = np.flatnonzero(again)
        if len(rows):
            again[rows] = self.rewrites[epsilon].lacks_latent(plan.source[rows], plan.replicate[rows])
        return again

    def count_unseen(self, epsilon: Nominal) -> npt.NDArray[np.int32]:
        """Return for each row how many attacks have yet to guess it and see latents."""
        job, unseen = self.job, np.zeros(len(self.job.plan), dtype=np.int32)
        for attack in job.attacks if job.bulky else ():
            if job.sees_latents(attack):
                for rows in self.find_gaps(epsilon, attack):
                    unseen[rows.start : rows.stop] += 1
        return unseen

    def find_gaps(self, epsilon: Nominal, attack: str, size: int = 0) -> Iterator[range]:
        """Yield the runs of rows that an attack has yet to guess, at most `size` at a time if it is given."""
        rows = len(self.job.plan)
        return self.guesses[epsilon, attack].gaps(rows, size or max(1, rows))

    def count_gaps(self) -> Iterator[tuple[Nominal, str, int]]:
        """Yield how many rows each attack has left to guess at each epsilon."""
        for epsilon, attack in self.guesses:
            yield epsilon, attack, sum(map(len, self.find_gaps(epsilon, attack)))

    def list_own(self) -> Wanted:
        """Return the rewrites for adversaries that are missing, by epsilon and then by text."""
        text, replicate = list_replicates(self.job.own_numbers)
        parts = [(text[:0].astype(np.int32), text[:0].astype(np.int32), np.zeros(0))]
        for epsilon, table in self.own.items():
            lacking = np.flatnonzero(table.missing(text, replicate))
            epsilons = np.full(len(lacking), float(epsilon))
            parts.append((text[lacking].astype(np.int32), replicate[lacking].astype(np.int32), epsilons))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        return Wanted(columns[0], columns[1], columns[2])


def open_backlogs(jobs: Iterable[Job]) -> list[Backlog]:
    """Return what each of several jobs lacks; nothing is written."""
    return [Backlog(job) for job in jobs]


def count_rewrites(backlogs: Sequence[Backlog]) -> tuple[int, int]:
    """Return how many rewrites a mechanism has to make, and how many are then made again as a check.

    Plans share the rewrites of the same text and replicate, so a later job may have none left to make. Every
    plan makes those again whose latent an attack has yet to see and no table has kept.
    """
    made: dict[Nominal, npt.NDArray[np.int64]] = {}
    again = repeats = 0
    for backlog in backlogs:
        job, before = backlog.job, sum(map(len, made.values()))
        source, replicate = job.plan.source, job.plan.replicate
        for epsilon, table in backlog.rewrites.items():
            lacking = number_rows(source, replicate)[table.missing(source, replicate)]
            made[epsilon] = np.union1d(made.get(epsilon, lacking), lacking)
            again += int(backlog.find_again(epsilon).sum())
        is_checked = job.is_seeded is not None and sum(map(len, made.values())) > before
        repeats += min(CALLS, len(job.plan)) if is_checked else 0
    return sum(map(len, made.values())) + again, repeats


def count_own(backlogs: Sequence[Backlog]) -> int:
    """Return how many rewrites for adversaries a mechanism has to make: plans and attacks share them."""
    lacking = set[tuple[int, int, float]]()
    for backlog in backlogs:
        own = backlog.list_own()
        lacking.update(zip(own.text.tolist(), own.replicate.tolist(), own.epsilon.tolist(), strict=True))
    return len(lacking)


def count_practice(backlogs: Sequence[Backlog]) -> int:
    """Return how many rewrites are made by attacks that have something left to guess and practise first."""
    practising: dict[tuple[Nominal, str], int] = {}
    for backlog in backlogs:
        for epsilon, attack, rows in backlog.count_gaps():
            if rows:
                practising[epsilon, attack] = backlog.job.attacks[attack].own_rewrites
    return sum(practising.values())


class OwnDraws:
    """The own rewrites that a job lacks: taken along with audited draws of the same text, or alone."""

    def __init__(self, backlog: Backlog) -> None:
        self._wanted, pool = backlog.list_own().sort(), len(backlog.job.own_numbers)
        self._starts = np.searchsorted(self._wanted.text, np.arange(pool + 1))
        self._is_taken = np.zeros(pool, dtype=np.bool_)
        self._left = len(self._wanted)

    def __len__(self) -> int:
        """How many have not been taken yet."""
        return self._left

    def take(self, texts: npt.NDArray[np.integer]) -> Wanted:
        """Return what is missing of some texts; it is not missing any more."""
        if not self._left:
            texts = texts[:0]
        distinct = np.unique(texts)
        chosen = distinct[~self._is_taken[distinct]]
        self._is_taken[chosen] = True
        counts = self._starts[chosen + 1] - self._starts[chosen]
        ends = np.cumsum(counts)
        rows = np.arange(counts.sum()) + np.repeat(self._starts[chosen] - (ends - counts), counts)
        self._left -= len(rows)
        return self._wanted.rows(rows)

    def take_others(self, later: npt.NDArray[np.integer], size: int) -> Iterator[Wanted]:
        """Yield what is missing of all texts but those whose turn comes later, about so many at a time."""
        counts = np.where(self._is_taken, 0, np.diff(self._starts))
        counts[later] = 0
        texts = np.flatnonzero(counts)
        pieces = np.cumsum(counts[texts]) // size
        for some in np.split(texts, np.flatnonzero(np.diff(pieces)) + 1):
            if len(some):
                yield self.take(some)
