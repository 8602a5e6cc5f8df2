"""The stages of an audit as plain functions: make_plan, draws, observations, judge, tally.

Only `judge` and `tally` see both the guesses and the secrets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import SpecError
from tedaudit.plans.candidates import (
    Concentration,
    Pool,
    Sampling,
    candidate_sets,
    concentration,
    disjoint_sets,
)
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Draw, Floats, Guess, Plan, Rewrite, Seen

_TIE_PRECISION = 5  # decimals: scores closer than this count as tied
KEPT_SCORES = 64  # candidate sets larger than this keep the best five only
_BEST = 5


def make_plan(
    pool: Pool | int, sampling: Sampling | None, trials: range, key: int, *, both: bool = False
) -> Plan:
    """Return the plan of a range of trials; `sampling` None lets everybody stand in every line-up.

    The secret is drawn after the set and independently of the order in which it was sampled:
    otherwise an adversary that ignores the output and avoids common distractors wins. With `both`
    (the baseline estimator) each trial has two rows, one per candidate, their roles by a fair coin.
    `replicate` is left at 0: it depends on all earlier trials (see `numbered`).
    """
    size = pool if isinstance(pool, int) else pool.size
    coin = uniforms([derive(key, "secret")], len(trials), trials.start)[0]
    if sampling is None:
        secret = np.minimum((coin * size).astype(np.int32), size - 1)
        return Plan(None, secret, np.zeros(len(secret), dtype=np.int32))
    if sampling.k > size:
        raise SpecError(
            f"k is {sampling.k}, but the corpus has only {size} distinct texts. "
            f"Use a k of at most {size}, 'all', or a larger corpus."
        )
    sets = candidate_sets(pool, sampling, trials, key)
    return _with_secrets(sets, coin, both=both)


def make_disjoint_plan(
    pool: Pool | int, sampling: Sampling, usable: npt.NDArray[np.bool_], key: int, *, both: bool = False
) -> Plan:
    """Return the largest plan whose candidate sets share no text (a table holds one rewrite of each)."""
    sets = disjoint_sets(pool, sampling, usable, key)
    coin = uniforms([derive(key, "secret")], max(1, len(sets)))[0][: len(sets)]
    return _with_secrets(sets, coin, both=both)


def _with_secrets(sets: npt.NDArray[np.int32], coin: Floats, *, both: bool) -> Plan:
    k = sets.shape[1]
    if not both:
        secret = np.minimum((coin * k).astype(np.int32), k - 1)
        return Plan(sets, secret, np.zeros(len(secret), dtype=np.int32))
    roles = np.where((coin < 0.5)[:, None], sets, sets[:, ::-1])
    rows = np.repeat(roles, 2, axis=0)
    secret = np.tile(np.array([0, 1], dtype=np.int32), len(sets))
    return Plan(rows, secret, np.zeros(len(secret), dtype=np.int32))


def numbered(plan: Plan) -> Plan:
    """Return the plan with each row's replicate: how often its source was rewritten in earlier rows."""
    source = plan.source
    order = np.argsort(source, kind="stable")
    ordered = source[order]
    new = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if len(ordered) else np.zeros(0, dtype=bool)
    starts = np.maximum.accumulate(np.where(new, np.arange(len(ordered)), 0))
    replicate = np.zeros(len(source), dtype=np.int32)
    replicate[order] = np.arange(len(ordered)) - starts
    return replace(plan, replicate=replicate)


def distractors(plan: Plan, size: int) -> Concentration | None:
    """Return how concentrated the distractors of a plan are; None where all texts stand in line."""
    return None if plan.candidates is None else concentration(plan.candidates, size)


Wanted = tuple[int, int, float]  # text position, replicate, epsilon


def make_draws(
    texts: Sequence[str], wanted: Sequence[Wanted], seed: int, purpose: str = "rewrite"
) -> list[Draw]:
    """Return a draw per wanted rewrite; the epsilons of one replicate share its noise.

    What is rewritten for another purpose than the audited trials has noise of its own.
    """
    keys: dict[tuple[int, int], int] = {}
    for position, replicate, _ in wanted:
        if (position, replicate) not in keys:
            keys[position, replicate] = derive(seed, purpose, texts[position], replicate)
    return [Draw(texts[p], epsilon, keys[p, replicate]) for p, replicate, epsilon in wanted]


def stripped(rewrite: Rewrite, sees: Sequence[Seen]) -> Rewrite:
    """Return only what an attack's card says that it sees."""
    return Rewrite(
        rewrite.text if "text" in sees else "",
        rewrite.tokens if "tokens" in sees else None,
        rewrite.latent if "latent" in sees else None,
    )


def tie_keys(seed: int, plan: str, attack: str, rows: range) -> list[int]:
    """Return a key per row for an attack's own coins: it tells nothing about the draw or the secret."""
    base = derive(seed, "tie", plan, attack)
    return [derive(base, row) for row in rows]


@dataclass(frozen=True)
class Judged:
    """What is kept of the guesses of consecutive rows. Arrays of the same length."""

    choice: npt.NDArray[np.int32]
    margin: npt.NDArray[np.float32]
    rank: npt.NDArray[np.int32]
    usable: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float32]  # every candidate's, or the best five's
    best: npt.NDArray[np.int32] | None  # which candidates those are, where not all
    place: npt.NDArray[np.int32] | None = None  # where the chosen one was shown; -1 for none

    def __len__(self) -> int:
        return len(self.choice)


def judge(guesses: Sequence[Guess], failed: Sequence[bool], plan: Plan, keys: Sequence[int]) -> Judged:
    """Turn scores into choices: rounded, ties broken by the row's own key; a failed rewrite names nobody."""
    scores = np.round(np.stack([guess.scores for guess in guesses]), _TIE_PRECISION)
    usable = np.array([guess.usable for guess in guesses]) & ~np.asarray(failed)
    best = scores.max(axis=1, keepdims=True)
    tied = scores == best
    coin = np.floor(uniforms(keys, 1)[:, 0] * tied.sum(axis=1))
    choice = (tied & (np.cumsum(tied, axis=1) == coin[:, None] + 1)).argmax(axis=1)
    own = np.take_along_axis(scores, plan.secret[:, None], axis=1)
    rank = (scores > own).sum(axis=1) + 1
    runner_up = np.partition(scores, -2, axis=1)[:, -2]
    kept, which = scores, None
    if scores.shape[1] > KEPT_SCORES:
        which = np.argsort(-scores, axis=1, kind="stable")[:, :_BEST].astype(np.int32)
        kept = np.take_along_axis(scores, which, axis=1)
    return Judged(
        np.where(usable, choice, -1).astype(np.int32),
        (best[:, 0] - runner_up).astype(np.float32),
        rank.astype(np.int32),
        usable,
        np.asarray(failed, dtype=np.bool_),
        kept.astype(np.float32),
        which,
        _places(guesses, np.where(usable, choice, -1)),
    )


def _places(guesses: Sequence[Guess], choice: npt.NDArray[Any]) -> npt.NDArray[np.int32] | None:
    """Return at which place the chosen candidate was shown, where the attack reads them in an order."""
    if all(guess.shown is None for guess in guesses):
        return None
    places = [
        -1 if guess.shown is None or chosen < 0 else int(guess.shown[chosen])
        for guess, chosen in zip(guesses, choice.tolist(), strict=True)
    ]
    return np.asarray(places, dtype=np.int32)


@dataclass(frozen=True)
class Tally:
    """The counts that estimators read. For the baseline, `correct` holds true positives."""

    trials: int
    correct: int
    false_positives: int | None
    unusable: int
    failed: int


def tally(plan: Plan, columns: Mapping[str, npt.NDArray[Any]], estimator: str) -> Tally:
    """Count over the rows that are complete; a trial without a usable answer counts against the bound."""
    rows = len(columns["choice"])
    if estimator == "baseline":
        rows -= rows % 2  # a trial is a pair of rows
    choice, secret = columns["choice"][:rows], plan.secret[:rows]
    failed = int(columns["failed"][:rows].sum())
    unusable = int((~columns["usable"][:rows]).sum()) - failed
    if estimator == "baseline":
        first, second = choice[0::2], choice[1::2]
        return Tally(rows // 2, int((first == 0).sum()), int((second != 1).sum()), unusable, failed)
    return Tally(rows, int((choice == secret).sum()), None, unusable, failed)
