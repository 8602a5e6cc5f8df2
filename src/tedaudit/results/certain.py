"""Counts the most certain guesses of a row, for the bound of an adversary that may abstain."""

from collections.abc import Sequence

import numpy as np

from tedaudit.estimators.abstaining import (
    Parts,
    count_parts,
    count_parts_by_block,
    end_blocks,
    find_sizes,
)
from tedaudit.results.row import Row
from tedaudit.store.guesses import GuessTable
from tedaudit.types import Plan


def count_certain(
    row: Row, plan: Plan, table: GuessTable, looks: Sequence[int], error: float
) -> Parts | None:
    """Return the most certain guesses of a row; None if there can be no bound from them.

    `plan` holds the rows that count, the last ones of the table, and `looks` are numbers among them. A run
    that is seen at several looks is ranked block by block: what was counted at one look stays counted.
    """
    trials = row.counts.trials
    if not row.estimator.may_abstain or not trials:
        return None
    columns = table.read(["choice", "margin", "usable"])
    first = len(columns["choice"]) - trials
    choice, margin, usable = (columns[name][first:] for name in ("choice", "margin", "usable"))
    right = np.asarray(choice == plan.secret[:trials], dtype=np.bool_)
    candidates = row.counts.candidates
    if row.any_time:
        ends = end_blocks(trials, looks, len(plan))
        return count_parts_by_block(right, margin, usable, ends, candidates) if ends else None
    sizes = find_sizes(trials, candidates, row.slack, error)
    return count_parts(right, margin, usable, sizes, candidates) if sizes else None
