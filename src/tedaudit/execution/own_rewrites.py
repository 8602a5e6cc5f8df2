"""Rewrites of the candidates for adversaries: how many of each, in which rows they are used, what is missing.

They are made with keys of a purpose of their own and lie in tables of their own, shared over trials, plans
and attacks. A row's guess uses those of all candidates that occur in its plan up to the end of its stretch:
the rows that were planned together. So the guesses of a row never change when trials are added later.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import Resamples
from tedaudit.batches import OwnRewrites
from tedaudit.execution.planner import PlannedTrials
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted
from tedaudit.seeding import derive, uniforms
from tedaudit.store.rewrites import RewriteTable

PURPOSE = "own rewrites"
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

    def wanted(self) -> tuple[Positions, Positions]:
        """Return text and replicate of every own rewrite, by text."""
        return list_replicates(self.numbers)


def share_out(planned: PlannedTrials, pool: int, attack: Resamples, seed: int) -> tuple[Stretch, ...]:
    """Return how many own rewrites of each text an attack is given, stretch by stretch.

    Every candidate gets one, then every candidate a second one, and so on, as long as there are no more of
    them in all than rows, if the attack is limited. If there is not one for each, coins choose who gets one:
    they belong to the texts, whatever is secret. What was given once is never taken away.
    """
    coins = uniforms([derive(seed, PURPOSE, "coins")], pool)[0]
    numbers, stretches = np.zeros(pool, dtype=np.int32), []
    for stop in (*planned.looks, len(planned.plan)):
        candidates = _find_candidates(planned, stop, pool)
        for level in range(attack.rewrites_each):
            lacking = candidates[numbers[candidates] <= level]
            room = stop - int(numbers.sum()) if attack.is_limited else len(lacking)
            if len(lacking) > room:
                if level == 0:
                    numbers[lacking[np.argsort(coins[lacking], kind="stable")[: max(0, room)]]] = 1
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


def fetch_own(table: RewriteTable, stretch: Stretch, pool: Sequence[str], sees: Sequence[str]) -> OwnRewrites:
    """Return the own rewrites of a stretch, cut down to what an attack may see of them, without latents."""
    text, replicate = stretch.wanted()
    rewrites = table.fetch(text, replicate).reveal([part for part in sees if part != "latent"])
    return OwnRewrites(pool, text.astype(np.int32), rewrites)


class MissingOwn:
    """The own rewrites that a job lacks: taken along with audited draws of the same text, or alone."""

    def __init__(self, numbers: Numbers, tables: Mapping[Nominal, RewriteTable]) -> None:
        text, replicate = list_replicates(numbers)
        parts = [(text[:0].astype(np.int32), text[:0].astype(np.int32), np.zeros(0))]
        for epsilon, table in tables.items():
            lacking = np.flatnonzero(table.missing(text, replicate))
            epsilons = np.full(len(lacking), float(epsilon))
            parts.append((text[lacking].astype(np.int32), replicate[lacking].astype(np.int32), epsilons))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        self._wanted = Wanted(columns[0], columns[1], columns[2]).sort()
        self._starts = np.searchsorted(self._wanted.text, np.arange(len(numbers) + 1))
        self._is_taken = np.zeros(len(numbers), dtype=np.bool_)
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
