"""Pairs of records that share none with each other: the valid bound, and that of an adversary that abstains.

The records are put into pairs at random, a coin says whose rewrite is shown, and the attack names one of the
two originals. Every record is in one pair alone, so that the trials are independent given all texts, and the
bounds of an audit hold: that of all trials, and that of the most certain ones (the abstaining bound).
"""

from typing import Any

import numpy as np

from tedaudit.batches import Observations, Rewrites
from tedaudit.estimators import Choices, find_estimator
from tedaudit.estimators.abstaining import count_parts, find_sizes
from tedaudit.plans.trials import judge, tie_keys
from tedaudit.results.row import Row
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.link.table import Release
from tedaudit.types import Plan

_ROWS = 4096  # pairs that an attack is shown at a time
_PURPOSE = "link pairs"


def pair_records(release: Release, seed: int) -> Plan:
    """Return pairs of distinct originals that share none, and in each the one whose rewrite is shown."""
    size = len(release.pool)
    order = np.argsort(uniforms([derive(seed, _PURPOSE, "order")], size)[0], kind="stable")
    sets = order[: size - size % 2].reshape(-1, 2).astype(np.int32)
    coins = uniforms([derive(seed, _PURPOSE, "secret")], len(sets))[0]
    return Plan(sets, (coins >= 0.5).astype(np.int32), np.zeros(len(sets), dtype=np.int32))


def guess_pairs(name: str, attack: Any, release: Release, plan: Plan, seed: int) -> tuple[Choices, Any]:
    """Let a prepared attack name one original of each pair; return its choices and their margins."""
    assert plan.candidates is not None  # noqa: S101 - pairs were given
    record_of = np.flatnonzero(release.first)  # by position in the pool
    keys = tie_keys(seed, _PURPOSE, name, range(len(plan)))
    judged = []
    for start in range(0, len(plan), _ROWS):
        part = plan.rows(start, start + _ROWS)
        rewrites = [release.rewrites[record_of[position]] for position in part.source.tolist()]
        own = keys[start : start + _ROWS]
        seen = Observations(Rewrites.from_texts(rewrites), release.pool, part.candidates, own)
        judged.append(judge(attack.guess(seen), np.zeros(len(part), dtype=np.bool_), part, own))
    choice, usable, failed, margin = (
        np.concatenate([getattr(part, column) for part in judged])
        for column in ("choice", "usable", "failed", "margin")
    )
    return Choices(choice, usable, failed), margin


def count_pairs(plan: Plan, choices: Choices, margin: Any, error: float) -> Row:
    """Return the row of an attack on pairs: all of them, and the most certain ones; `error` is the row's."""
    estimator = find_estimator("reduced")
    row = Row(estimator, estimator.count(plan, choices, 2), None)
    sizes = find_sizes(len(plan), 2, row.slack, error)
    right = np.asarray(choices.choice == plan.secret, dtype=np.bool_)
    parts = count_parts(right, margin, choices.usable, sizes, 2) if sizes else None
    return Row(estimator, row.counts, None, parts=parts)
