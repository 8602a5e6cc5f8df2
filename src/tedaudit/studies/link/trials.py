"""Trials from a release: all candidates at once, or disjoint pairs of them; of texts, or of people."""

from typing import Any

import numpy as np

from tedaudit.estimators import Choices, Counts, find_estimator
from tedaudit.estimators.abstaining import count_parts, find_sizes
from tedaudit.plugins.values import Plan
from tedaudit.results.row import Row
from tedaudit.seeding import derive, uniforms


def make_row(linked: int, originals: int) -> Row:
    """Return the row of an attack whose candidates were all originals.

    If every record was rewritten on its own, which ones are found is independent given the originals, with
    rates of a mean p. One rule names originals for all rewrites, so that under (epsilon, delta)-LDP
    (n - 1) (p - delta) <= e^epsilon (1 - p): the reduced form with k = n, without a secret that is drawn.
    """
    return Row(find_estimator("reduced"), Counts(originals, (linked,), originals), None)


# --- Pairs that share nothing with each other: the valid bound, and that of an adversary that abstains.
#
# Candidates are put into pairs at random, a coin says whose rewrite is shown, and the attack names one of the
# two. Each is in one pair alone, so that the trials are independent given all texts, and the bounds of an
# audit hold: that of all trials, and that of the most certain ones (the abstaining bound).


def draw_pairs(size: int, seed: int, purpose: str) -> Plan:
    """Return pairs of so many candidates that share none, and in each the one whose rewrite is shown."""
    order = np.argsort(uniforms([derive(seed, purpose, "order")], size)[0], kind="stable")
    sets = order[: size - size % 2].reshape(-1, 2).astype(np.int32)
    coins = uniforms([derive(seed, purpose, "secret")], len(sets))[0]
    return Plan(sets, (coins >= 0.5).astype(np.int32), np.zeros(len(sets), dtype=np.int32))


def count_pairs(plan: Plan, choices: Choices, margin: Any, error: float) -> Row:
    """Return the row of an attack on pairs: all of them, and the most certain ones; `error` is the row's."""
    estimator = find_estimator("reduced")
    row = Row(estimator, estimator.count(plan, choices, 2), None)
    sizes = find_sizes(len(plan), 2, row.slack, error)
    right = np.asarray(choices.choice == plan.secret, dtype=np.bool_)
    parts = count_parts(right, margin, choices.usable, sizes, 2) if sizes else None
    return Row(estimator, row.counts, None, parts=parts)
