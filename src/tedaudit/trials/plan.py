"""Plans: which texts are candidates in a trial, and which of them is rewritten."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.plugins.values import Floats, Plan
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.candidates import (
    Concentration,
    Sampling,
    candidate_sets,
    concentration,
    disjoint_sets,
)
from tedaudit.trials.pool import Pool, sort_positions


def name_plan(base: str, mechanism: str | None) -> str:
    """Return the name of a plan; one that belongs to a single mechanism bears its label too."""
    return base if mechanism is None else f"{base}@{mechanism}"


def make_plan(
    pool: Pool | int, sampling: Sampling | None, trials: range, key: int, *, rows_per_trial: int = 1
) -> Plan:
    """Return the plan of a range of trials; if `sampling` is None, every text is a candidate in every trial.

    The secret is drawn after the set and independently of the order in which it was sampled:
    otherwise an adversary that ignores the output and avoids common distractors wins. With two rows
    per trial each of the two candidates is rewritten once, and a fair coin says which comes first.
    `replicate` is left at 0: it depends on all earlier trials (see `number_replicates`).
    """
    size = pool if isinstance(pool, int) else pool.size
    coin = uniforms([derive(key, "secret")], len(trials), trials.start)[0]
    if sampling is None:
        secret = np.minimum((coin * size).astype(np.int32), size - 1)
        return Plan(None, secret, np.zeros(len(secret), dtype=np.int32))
    refuse_large_k(sampling, size)
    sets = candidate_sets(pool, sampling, trials, key)
    return _draw_secrets(sets, coin, rows_per_trial)


def refuse_large_k(sampling: Sampling, size: int) -> None:
    """Refuse more candidates than there are texts."""
    if sampling.k > size:
        raise SpecError(
            f"k is {sampling.k}, but the corpus has only {size} distinct texts. "
            f"Use a k of at most {size}, 'all', or a larger corpus."
        )


def refuse_missing(sampling: Sampling, size: int) -> None:
    """Refuse sets that name a text which is not there."""
    largest = max((max(positions) for positions in getattr(sampling, "sets", ())), default=0)
    if largest >= size:
        raise SpecError(
            f"`sets` names the text at position {largest}, but the corpus has {size} distinct texts; "
            "positions count from 0."
        )


def make_disjoint_plan(
    pool: Pool | int,
    sampling: Sampling,
    usable: npt.NDArray[np.bool_],
    key: int,
    *,
    rows_per_trial: int = 1,
    most: int | None = None,
) -> Plan:
    """Return a plan whose candidate sets share no text (a table holds one rewrite of each).

    It has as many trials as possible, or `most` of them.
    """
    sets = disjoint_sets(pool, sampling, usable, key, most)
    coin = uniforms([derive(key, "secret")], max(1, len(sets)))[0][: len(sets)]
    return _draw_secrets(sets, coin, rows_per_trial)


def _draw_secrets(sets: npt.NDArray[np.int32], coin: Floats, rows_per_trial: int) -> Plan:
    k = sets.shape[1]
    if rows_per_trial == 1:
        secret = np.minimum((coin * k).astype(np.int32), k - 1)
        return Plan(sets, secret, np.zeros(len(secret), dtype=np.int32))
    if rows_per_trial != k or k != 2:
        raise SpecError(f"A trial with {rows_per_trial} rows needs 2 candidates and rewrites both; k is {k}.")
    roles = np.where((coin < 0.5)[:, None], sets, sets[:, ::-1])
    rows = np.repeat(roles, 2, axis=0)
    secret = np.tile(np.array([0, 1], dtype=np.int32), len(sets))
    return Plan(rows, secret, np.zeros(len(secret), dtype=np.int32))


def number_replicates(plan: Plan) -> Plan:
    """Return the plan with each row's replicate: how often its source was rewritten in earlier rows."""
    source = plan.source
    order = sort_positions(source)
    ordered = source[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=bool)
    starts = np.maximum.accumulate(np.where(new, np.arange(len(ordered)), 0))
    replicate = np.zeros(len(source), dtype=np.int32)
    replicate[order] = np.arange(len(ordered)) - starts
    return replace(plan, replicate=replicate)


def join_plans(first: Plan, second: Plan) -> Plan:
    """Return one plan with the rows of both; its replicates are still to be numbered."""
    candidates = released = None
    if first.candidates is not None and second.candidates is not None:
        candidates = np.concatenate([first.candidates, second.candidates])
    if first.released is not None and second.released is not None:
        released = np.concatenate([first.released, second.released])
    secret = np.concatenate([first.secret, second.secret])
    return Plan(
        candidates=candidates,
        secret=secret,
        replicate=np.zeros(len(secret), dtype=np.int32),
        released=released,
        known=first.known,
    )


def measure_distractors(plan: Plan, size: int) -> Concentration | None:
    """Return how concentrated the distractors of a plan are; None if every text is a candidate."""
    return None if plan.candidates is None else concentration(plan.candidates, size)
