"""Counts the most certain guesses of a row, for the bound of an adversary that may abstain."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import Choices
from tedaudit.estimators.abstaining import (
    Parts,
    count_parts,
    count_parts_by_block,
    end_blocks,
    find_sizes,
)
from tedaudit.results.row import Row
from tedaudit.types import Plan


@dataclass(frozen=True, slots=True)
class Certain:
    """The guesses of a row with their margins, and the numbers of trials at which it was looked at."""

    plan: Plan
    choices: Choices
    margin: npt.NDArray[np.float32]
    looks: Sequence[int]

    def count(self, row: Row, error: float) -> Parts | None:
        """Return the right ones among the most certain guesses; None if there can be no bound from them.

        A run that is seen at several looks is ranked block by block: what was counted at one look stays
        counted.
        """
        trials, candidates = row.counts.trials, row.counts.candidates
        if not row.estimator.may_abstain or not trials:
            return None
        right = np.asarray(self.choices.choice == self.plan.secret[:trials], dtype=np.bool_)
        guesses = right, self.margin, self.choices.usable
        if row.any_time:
            ends = end_blocks(trials, self.looks, len(self.plan))
            return count_parts_by_block(*guesses, ends, candidates) if ends else None
        sizes = find_sizes(trials, candidates, row.slack, error)
        return count_parts(*guesses, sizes, candidates) if sizes else None
