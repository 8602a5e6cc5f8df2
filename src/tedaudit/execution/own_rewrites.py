"""Rewrites of the candidates for adversaries, in tables of their own: what is missing, and what is given."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tedaudit.batches import OwnRewrites
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted
from tedaudit.preparing.stretches import Numbers, Stretch, list_replicates
from tedaudit.store.rewrites import RewriteTable


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
