"""What a run still has to do, counted in rows: nothing is done and nothing is written."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tedaudit.execution.repeats import CALLS
from tedaudit.nominal import Nominal
from tedaudit.preparing.jobs import Job
from tedaudit.preparing.stretches import list_replicates
from tedaudit.store.guesses import GuessTable
from tedaudit.store.rewrites import RewriteTable


def count_rewrites(jobs: Sequence[Job]) -> tuple[int, int]:
    """Return how many rewrites a mechanism has to make, and how many are then made again as a check.

    Plans share the rewrites of the same text and replicate, so a later job may have none left to make. Every
    plan makes those again whose latent an attack has yet to see and no table has kept.
    """
    made: dict[Nominal, npt.NDArray[np.int64]] = {}
    again = repeats = 0
    for job in jobs:
        before = sum(map(len, made.values()))
        source, replicate = job.plan.source, job.plan.replicate
        for epsilon, table in _open_rewrites(job):
            lacking = ((source.astype(np.int64) << 32) | replicate)[table.missing(source, replicate)]
            made[epsilon] = np.union1d(made.get(epsilon, lacking), lacking)
            again += int(find_again(job, epsilon, table).sum())
        is_checked = job.is_seeded is not None and sum(map(len, made.values())) > before
        repeats += min(CALLS, len(job.plan)) if is_checked else 0
    return sum(map(len, made.values())) + again, repeats


def find_missing(job: Job, epsilon: Nominal) -> npt.NDArray[np.bool_]:
    """Return which rows of a job's plan are to be rewritten at an epsilon: the first time, or again."""
    definition = job.rewrites_at(epsilon)
    table = RewriteTable(definition.folder, definition.check())
    return table.missing(job.plan.source, job.plan.replicate) | find_again(job, epsilon, table)


def find_again(job: Job, epsilon: Nominal, table: RewriteTable) -> npt.NDArray[np.bool_]:
    """Return which rows are rewritten again: an attack has yet to see their latent, and it was not kept."""
    again = count_unseen(job, epsilon) > 0
    rows = np.flatnonzero(again)
    again[rows] = table.lacks_latent(job.plan.source[rows], job.plan.replicate[rows]) if len(rows) else False
    return again


def count_unseen(job: Job, epsilon: Nominal) -> npt.NDArray[np.int32]:
    """Return for each row of a plan how many attacks have yet to guess it and see latents."""
    unseen = np.zeros(len(job.plan), dtype=np.int32)
    for attack in job.attacks if job.bulky else ():
        if job.sees_latents(attack):
            for rows in _open_guesses(job, epsilon, attack).gaps(len(unseen), max(1, len(unseen))):
                unseen[rows.start : rows.stop] += 1
    return unseen


def count_own(jobs: Sequence[Job]) -> int:
    """Return how many rewrites for adversaries a mechanism has to make: plans and attacks share them."""
    lacking: set[tuple[Nominal, int, int]] = set()
    for job in jobs:
        text, replicate = list_replicates(job.own_numbers)
        for epsilon, definition in job.own_tables():
            missing = RewriteTable(definition.folder, definition.check()).missing(text, replicate)
            pairs = zip(text[missing].tolist(), replicate[missing].tolist(), strict=True)
            lacking.update((epsilon, *pair) for pair in pairs)
    return len(lacking)


def count_practice(jobs: Sequence[Job]) -> int:
    """Return how many rewrites are made by attacks that have something left to guess and practise first."""
    practising: dict[tuple[Nominal, str], int] = {}
    for job in jobs:
        for epsilon, attack, rows in find_gaps(job):
            if rows:
                practising[epsilon, attack] = job.attacks[attack].own_rewrites
    return sum(practising.values())


def find_gaps(job: Job) -> Iterator[tuple[Nominal, str, int]]:
    """Yield how many rows each attack has left to guess at each epsilon."""
    for epsilon in job.epsilons:
        for attack in job.attacks:
            table = _open_guesses(job, epsilon, attack)
            yield epsilon, attack, sum(map(len, table.gaps(len(job.plan), max(1, len(job.plan)))))


def _open_rewrites(job: Job) -> Iterator[tuple[Nominal, RewriteTable]]:
    for epsilon in job.epsilons:
        definition = job.rewrites_at(epsilon)
        yield epsilon, RewriteTable(definition.folder, definition.check())


def _open_guesses(job: Job, epsilon: Nominal, attack: str) -> GuessTable:
    definition = job.guesses_at(epsilon, attack)
    return GuessTable(definition.folder, definition.check())
