"""What a run has set out to do: waves of trials, and the pieces in which each is rewritten.

The history stands in the manifest and only grows. Which draws a wave adds, and the names of all files that
they become, follow from it and from the plans alone; so what is missing is what must be there and is not.

Nobody guesses on a wave before all of it is rewritten. Rows "whose rewrites are there" would be chosen by the
secret: with half of the texts done, "the candidate whose turn comes first" is right in three of four trials.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import Plan
from tedaudit.runs.jobs import Job, list_replicates
from tedaudit.trials.judge import number_rows

Numbers = npt.NDArray[np.int32]
Positions = npt.NDArray[np.int64]
_SHARES = (0.01, 0.1, 1.0)  # of the rows of a plan, at which waves end: something is to be seen soon
_PIECES = 16  # of a large wave, at least: several workers need something to do each until the end
_LEAST, _MOST = 64, 20_000  # draws of a piece, at an epsilon
_BYTES = 100 * 1024 * 1024  # that these may take in memory


@dataclass(frozen=True, slots=True)
class Wave:
    """Rows of a plan that are rewritten together; or `own` rewrites, for adversaries, that are new then.

    `own` says how many of them each text has had from then on.
    """

    label: str
    plan: str
    start: int = 0
    stop: int = 0
    size: int = 0  # draws of a piece, at an epsilon
    own: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Draws that are made together, at all epsilons of a mechanism, and their number among its files."""

    number: int
    text: Numbers
    replicate: Numbers
    plan: str = ""  # if they are audited: for which plan they were made first,
    rows: Positions = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # and which rows of it


class Rewriting:
    """All draws of one mechanism, whatever plans they are for: in which piece each one is."""

    def __init__(self, waves: Iterable[Wave], read_plan: Callable[[str], Plan], pool: int) -> None:
        self.audited: list[Piece] = []
        self.own: list[Piece] = []
        most, numbers = np.zeros(pool, dtype=np.int32), np.zeros(pool, dtype=np.int32)
        plans: dict[str, Plan] = {}
        for wave in waves:
            if wave.own:
                after = np.asarray(wave.own, dtype=np.int32)
                self.own += _cut_own(wave, numbers, after, len(self.own))
                numbers = after
                continue
            if wave.plan not in plans:
                plans[wave.plan] = read_plan(wave.plan)
            rows = plans[wave.plan].rows(wave.start, wave.stop)
            self.audited += _cut(wave, rows, most, len(self.audited))
            np.maximum.at(most, rows.source, rows.replicate + 1)

    @cached_property
    def _index(self) -> tuple[Positions, Positions]:
        """Every draw by its number, sorted, and the piece that it is in."""
        pieces = self.audited
        keys = np.concatenate([number_rows([], []), *(number_rows(p.text, p.replicate) for p in pieces)])
        numbers = np.repeat(np.arange(len(pieces)), [len(p.text) for p in pieces])
        order = np.argsort(keys)
        return keys[order], numbers[order]

    def find(self, plan: Plan) -> list[Piece]:
        """Return the pieces that the rows of a plan are in."""
        keys, numbers = self._index
        found = numbers[np.searchsorted(keys, number_rows(plan.source, plan.replicate))]
        return [self.audited[number] for number in np.unique(found).tolist()]


def _cut(wave: Wave, plan: Plan, most: Numbers, first: int) -> Iterable[Piece]:
    """Yield the pieces of the rows of a wave whose draws are new, by text.

    Replicates of a text are numbered in the order of rows, so those that no wave before had are new.
    """
    new = np.flatnonzero(plan.replicate >= most[plan.source])
    rows = new[np.argsort(number_rows(plan.source[new], plan.replicate[new]), kind="stable")]
    for number, start in enumerate(range(0, len(rows), wave.size), first):
        some = rows[start : start + wave.size]
        yield Piece(
            number=number,
            text=plan.source[some],
            replicate=plan.replicate[some],
            plan=wave.plan,
            rows=wave.start + some,
        )


def _cut_own(wave: Wave, before: Numbers, after: Numbers, first: int) -> Iterable[Piece]:
    """Yield the pieces of own rewrites: whole texts, as many as have about so many new ones."""
    new = after - before
    texts = np.flatnonzero(new)
    ends = np.flatnonzero(np.diff(np.cumsum(new[texts]) // wave.size)) + 1
    for number, some in enumerate(np.split(texts, ends), first):
        position, count = list_replicates(new[some])
        text = some[position]
        yield Piece(number, text.astype(np.int32), (before[text] + count).astype(np.int32))


def extend_history(
    known: Sequence[Wave], jobs: Sequence[Job], texts: Sequence[str], block: int, *, is_fixed: bool
) -> tuple[Wave, ...]:
    """Return the history of a run with what its jobs add to it.

    A wave is a block if a block was set (`is_fixed`), or if a function or a server rewrites: what it
    remembers, and what a kill costs, is then as much as a block. If draws are shuffled, a wave is one piece:
    pieces are cut by text, so code that counts its calls would tell of several which text it was given.
    """
    waves = list(known)
    for job in jobs:
        done = max((w.stop for w in waves if (w.label, w.plan) == (job.label, job.plan_name)), default=0)
        for stop in _list_ends(job, block, is_fixed=is_fixed or job.calls_out or job.shuffled):
            if stop > done:
                size = block if is_fixed else _choose_size(job, texts, block, stop - done)
                size = stop - done if job.shuffled else size
                waves.append(Wave(label=job.label, plan=job.plan_name, start=done, stop=stop, size=size))
                done = stop
        had = [np.asarray(wave.own) for wave in waves if wave.label == job.label and wave.own]
        before = np.maximum.reduce(had) if had else np.zeros(len(texts), dtype=np.int32)
        if job.stretches and (job.own_numbers > before).any():
            after = tuple(np.maximum(before, job.own_numbers).tolist())
            waves.append(Wave(job.label, job.plan_name, size=block, own=after))
    return tuple(waves)


def _choose_size(job: Job, texts: Sequence[str], block: int, rows: int) -> int:
    """Return how many draws a piece of so many rows has at an epsilon: few enough to fit into memory."""
    each = 256 + 2 * sum(map(len, texts)) // len(texts)  # tokens, and a text like its source
    most = block if job.bulky else max(1, min(_MOST, _BYTES // each))
    return min(most, max(_LEAST, ceil(rows / _PIECES)))


def _list_ends(job: Job, block: int, *, is_fixed: bool) -> list[int]:
    """Return the rows at which the waves of a plan end: whole trials, the last one whatever is left."""
    rows, unit = len(job.plan), job.rows_per_trial

    def round_up(stop: float) -> int:
        return min(rows, ceil(stop / unit) * unit)

    if is_fixed:
        step = round_up(block)
        return [*range(step, rows, step), rows]
    return sorted({round_up(max(block, share * rows)) for share in _SHARES})


def parse_history(told: Iterable[dict[str, Any]]) -> tuple[Wave, ...]:
    """Return the history that a manifest holds."""
    return tuple(Wave(**{**wave, "own": tuple(wave["own"])}) for wave in told)
