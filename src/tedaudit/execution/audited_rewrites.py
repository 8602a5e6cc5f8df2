"""The rewrites of a job at one epsilon: those in its table, and latents that only memory holds.

A latent may be far larger than its text. If those of a plan are too large to keep, each is held until every
attack that sees latents has been given its row, and then dropped. An attack that comes later, or after a
kill, has the rows rewritten again: only their latents are taken, and nothing is written twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Ragged, Rewrites
from tedaudit.errors import RunDirectoryError
from tedaudit.execution.backlog import Backlog
from tedaudit.execution.repeats import count_differing
from tedaudit.nominal import Nominal
from tedaudit.plans.trials import Wanted
from tedaudit.store.kept_latents import is_too_large

Rows = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Held:
    """Latents of some rows of the plan, where each lies, and how often they are still to be given."""

    rows: Rows  # in order
    places: Rows
    latents: Ragged
    waiting: int


class AuditedRewrites:
    """A table of rewrites, with the latents that it does not keep for as long as they are needed."""

    def __init__(self, backlog: Backlog, epsilon: Nominal) -> None:
        job = backlog.job
        self.table, self._job = backlog.rewrites[epsilon], job
        self._unseen = backlog.count_unseen(epsilon)
        source, replicate = job.plan.source.astype(np.int64), job.plan.replicate.astype(np.int64)
        self._order = np.argsort((source << 32) | replicate) if job.bulky else np.zeros(0, dtype=np.int64)
        self._keys = ((source << 32) | replicate)[self._order]
        self._held: list[_Held] = []

    @property
    def held_bytes(self) -> int:
        """The bytes of the latents that are in memory."""
        return sum(held.latents.values.nbytes for held in self._held)

    def append(self, wanted: Wanted, rewrites: Rewrites, pool: Sequence[str]) -> int:
        """Add what is new to the table, and hold the latents that it does not keep.

        Return how many rewrites that were made again gave another text than the stored one.
        """
        is_new = np.ones(len(wanted), dtype=np.bool_)
        if self._job.bulky:
            is_new = self.table.missing(wanted.text, wanted.replicate)
        if is_new.all():
            self._store(wanted, rewrites, pool)
        elif is_new.any():
            self._store(wanted.rows(is_new), rewrites[is_new], pool)
        if self._job.bulky:
            self._hold(wanted, rewrites)
        again = np.flatnonzero(~is_new)
        return self._count_differing(wanted.rows(again), rewrites[again]) if len(again) else 0

    def fetch(self, rows: range, sees: Sequence[str]) -> Rewrites:
        """Return the rewrites of rows of the plan, with the parts that an attack sees.

        Latents are given once to each attack.
        """
        plan = self._job.plan.rows(rows.start, rows.stop)
        stored = self.table.fetch(plan.source, plan.replicate, sees)
        if "latent" not in sees or not self._job.bulky:
            return stored
        lacking = np.flatnonzero(self.table.lacks_latent(plan.source, plan.replicate))
        return self._add_latents(rows, lacking, stored) if len(lacking) else stored

    def _store(self, wanted: Wanted, rewrites: Rewrites, pool: Sequence[str]) -> None:
        keep = self._job.keeps_latents or not is_too_large(rewrites.latents, len(self._job.plan))
        self.table.append(wanted.text, wanted.replicate, rewrites, pool, keep_latents=keep)

    def _hold(self, wanted: Wanted, rewrites: Rewrites) -> None:
        """Hold the latents that the table lacks and an attack has yet to see."""
        keys = (wanted.text.astype(np.int64) << 32) | wanted.replicate.astype(np.int64)
        rows, latents = self._order[np.searchsorted(self._keys, keys)], rewrites.latents
        lacks = self.table.lacks_latent(wanted.text, wanted.replicate)
        chosen = np.flatnonzero(lacks & (self._unseen[rows] > 0))
        if not len(chosen):
            return
        if len(chosen) < len(rows):
            rows, latents = rows[chosen], latents.take(chosen)
        places = np.argsort(rows)
        numbers = latents.values.astype(np.float32, copy=False)  # as a table would hold them
        latents = Ragged(numbers, latents.offsets, latents.missing)
        self._held.append(_Held(rows[places], places, latents, int(self._unseen[rows].sum())))

    def _add_latents(self, rows: range, lacking: Rows, stored: Rewrites) -> Rewrites:
        """Return rewrites with the latents that were held for them; those no longer needed are dropped."""
        latents = [stored.latents.row(i) for i in range(len(stored))]
        wanted, found = lacking + rows.start, 0
        for held in self._held:
            at = np.minimum(np.searchsorted(held.rows, wanted), len(held.rows) - 1)
            hit = np.flatnonzero(held.rows[at] == wanted)
            for i, place in zip(lacking[hit].tolist(), held.places[at[hit]].tolist(), strict=True):
                latents[i] = held.latents.row(place)
            held.waiting -= len(hit)
            found += len(hit)
        if found < len(wanted):
            raise RunDirectoryError(
                f"{len(wanted) - found:,} rewrites of '{self._job.label}' lack the latent that an attack "
                "sees. Run the same command again, which makes it anew."
            )
        self._held = [held for held in self._held if held.waiting > 0]
        return replace(stored, latents=Ragged.of(latents, np.float32))

    def _count_differing(self, wanted: Wanted, again: Rewrites) -> int:
        stored = self.table.fetch(wanted.text, wanted.replicate, ())
        return count_differing(stored, again)


def add_latents_again(stored: Rewrites, again: Rewrites, lacking: npt.NDArray[np.bool_]) -> Rewrites:
    """Return stored rewrites with the latents, where they lack theirs, of the same draws made again."""
    latents = [(again if lacks else stored).latents.row(i) for i, lacks in enumerate(lacking.tolist())]
    return replace(stored, latents=Ragged.of(latents, np.float32))
