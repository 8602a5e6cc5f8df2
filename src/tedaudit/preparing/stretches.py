"""How many rewrites of the candidates adversaries are given, and in which rows they are used.

They are made with keys of a purpose of their own and lie in tables of their own, shared over trials, plans
and attacks. A row's guess uses those of all candidates that occur in its plan up to the end of its stretch:
the rows that were planned together. So the guesses of a row never change when trials are added later.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import Resamples
from tedaudit.batches import OwnRewrites
from tedaudit.plans.trials import OWN
from tedaudit.preparing.planner import PlannedTrials
from tedaudit.seeding import derive, uniforms
from tedaudit.store.rewrites import RewriteTable

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

    def fetch(self, table: RewriteTable, pool: Sequence[str], sees: Sequence[str]) -> OwnRewrites:
        """Return the own rewrites, cut down to what an attack may see of them, without latents."""
        text, replicate = self.wanted()
        shown = [part for part in sees if part != "latent"]
        rewrites = table.fetch(text, replicate, shown).reveal(shown)
        return OwnRewrites(pool, text.astype(np.int32), rewrites)


def share_out(planned: PlannedTrials, pool: int, attack: Resamples, seed: int) -> tuple[Stretch, ...]:
    """Return how many own rewrites of each text an attack is given, stretch by stretch.

    Every candidate gets one, then every candidate a second one, and so on, as long as there are no more of
    them in all than rows, if the attack is limited. If there is not one for each, coins choose who gets one:
    they belong to the texts, whatever is secret. What was given once is never taken away.
    """
    coins = uniforms([derive(seed, OWN, "coins")], pool)[0]
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
