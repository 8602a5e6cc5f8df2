"""The rows of a plan at work: their draws, their keys for ties, and what becomes of the guesses.

Only `judge` sees both the guesses and the secrets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches import Draws, Guesses, PairLosses, Ragged
from tedaudit.plugins.values import Array, Floats, Guess, Plan
from tedaudit.seeding import KeyWords, LateKeys, derive, derive_replicates, key_words, uniforms

TIE_PRECISION = 5  # decimals: scores closer than this count as tied
KEPT_SCORES = 64  # candidate sets larger than this keep the best five only
_BEST = 5
OWN = "own rewrites"  # the purpose of rewrites for adversaries


@dataclass(frozen=True)
class Wanted:
    """Rewrites that are asked for, as columns: position of the text in the pool, replicate, epsilon."""

    text: npt.NDArray[np.int32]
    replicate: npt.NDArray[np.int32]
    epsilon: Floats

    def __len__(self) -> int:
        return len(self.text)

    def rows(self, which: Array) -> "Wanted":
        """Return some of them."""
        return Wanted(self.text[which], self.replicate[which], self.epsilon[which])

    def sort(self) -> "Wanted":
        """Return them by text, then replicate, then epsilon, so that a text's draws stand together."""
        if (
            np.diff(number_rows(self.text, self.replicate)) > 0
        ).all():  # as with one epsilon, if rows come by text
            return self
        return self.rows(np.lexsort((self.epsilon, self.replicate, self.text)))


def number_rows(text: npt.ArrayLike, replicate: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return a number for each row, its own: in its order rows go by text, then by replicate."""
    return (np.asarray(text, dtype=np.int64) << 32) | np.asarray(replicate, dtype=np.int64)


def number_draws(texts: Sequence[str], wanted: Wanted) -> Draws:
    """Return a draw per wanted rewrite for a mechanism that has them already: the key is its number."""
    keys = np.zeros((len(wanted), 4), dtype=np.uint32)
    keys[:, 0] = wanted.replicate
    return Draws(pool=texts, text=wanted.text, epsilons=wanted.epsilon, keys=keys)


def make_draws(texts: Sequence[str], wanted: Wanted, seed: int, purpose: str = "rewrite") -> Draws:
    """Return a draw per wanted rewrite; the epsilons of one replicate share its noise.

    Rewrites for another purpose than the audited trials have noise of their own.
    """
    pairs = (wanted.text.astype(np.int64) << 32) | wanted.replicate.astype(np.int64)
    steps = np.diff(pairs, prepend=-1)
    if (steps >= 0).all():  # by text, as most are
        distinct, which = pairs[steps > 0], np.cumsum(steps > 0) - 1
    else:
        distinct, which = np.unique(pairs, return_inverse=True)
    keys = derive_replicates(seed, purpose, texts, distinct >> 32, distinct & 0xFFFFFFFF)
    return Draws(pool=texts, text=wanted.text, epsilons=wanted.epsilon, keys=keys[which.ravel()])


def tie_keys(seed: int, plan: str, attack: str, rows: range) -> npt.NDArray[np.uint32]:
    """Return a key per row for an attack's own coins: it tells nothing about the draw or the secret."""
    return key_words(late_tie_keys(seed, plan, attack, rows))


def late_tie_keys(seed: int, plan: str, attack: str, rows: range) -> LateKeys:
    """Return the same keys, each derived if it is read: few rows are tied, and few attacks toss coins."""
    return LateKeys(derive(seed, "tie", plan, attack), np.arange(rows.start, rows.stop))


@dataclass(frozen=True)
class Judged:
    """What is kept of the guesses of consecutive rows. Arrays of the same length."""

    choice: npt.NDArray[np.int32]
    margin: npt.NDArray[np.float32]
    rank: npt.NDArray[np.int32]
    usable: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]
    scores: npt.NDArray[np.float32]  # every candidate's, or the best five's
    best: npt.NDArray[np.int32] | None  # which candidates those are, if not all
    place: npt.NDArray[np.int32] | None = None  # where the chosen one was shown; -1 for none
    losses: PairLosses | None = None  # more on two candidates with likelihoods

    def __len__(self) -> int:
        return len(self.choice)


def judge(
    guesses: Sequence[Guess],
    failed: npt.ArrayLike,
    plan: Plan,
    keys: Sequence[int] | npt.NDArray[np.uint32] | LateKeys,
) -> Judged:
    """Turn scores into choices: rounded, ties broken by the row's own key; an unusable guess names nobody."""
    batch, failures = Guesses.of(guesses), np.asarray(failed, dtype=np.bool_)
    scores = np.round(_as_matrix(batch), TIE_PRECISION)
    usable = batch.usable
    best = scores.max(axis=1, keepdims=True)
    tied = scores == best
    choice = tied.argmax(axis=1)
    several = np.flatnonzero(tied.sum(axis=1) > 1)
    own_keys = keys[several] if isinstance(keys, LateKeys) else key_words(keys)[several]
    choice[several] = _break_ties(tied[several], key_words(own_keys))
    choice = np.where(usable, choice, -1).astype(np.int32)
    own = np.take_along_axis(scores, plan.secret[:, None], axis=1)
    rank = (scores > own).sum(axis=1) + 1
    runner_up = np.partition(scores, -2, axis=1)[:, -2]
    kept, which = scores, None
    if scores.shape[1] > KEPT_SCORES:
        which = np.argsort(-scores, axis=1, kind="stable")[:, :_BEST].astype(np.int32)
        kept = np.take_along_axis(scores, which, axis=1)
    return Judged(
        choice=choice,
        margin=(best[:, 0] - runner_up).astype(np.float32),
        rank=rank.astype(np.int32),
        usable=usable,
        failed=failures,
        scores=kept.astype(np.float32),
        best=which,
        place=_places(batch, choice),
        losses=batch.losses,
    )


def _break_ties(tied: npt.NDArray[np.bool_], keys: KeyWords) -> npt.NDArray[np.int64]:
    """Return one of the tied candidates of each row, by the row's own coin."""
    coin = np.floor(uniforms(keys, 1)[:, 0] * tied.sum(axis=1))
    return np.asarray((tied & (np.cumsum(tied, axis=1) == coin[:, None] + 1)).argmax(axis=1))


def _as_matrix(guesses: Guesses) -> Floats:
    """Return the scores as a matrix: all rows of a plan have the same number of candidates."""
    scores = guesses.scores
    return scores if isinstance(scores, np.ndarray) else np.stack([guess.scores for guess in guesses])


def _places(guesses: Guesses, choice: npt.NDArray[np.int32]) -> npt.NDArray[np.int32] | None:
    """Return at which place the chosen candidate was shown, if the attack reads them in an order."""
    shown = guesses.shown
    if shown is None:
        return None
    if isinstance(shown, Ragged):  # some rows were not shown in an order
        rows = [shown.row(i) for i in range(len(guesses))]
        pairs = zip(rows, choice.tolist(), strict=True)
        places = [-1 if row is None or chosen < 0 else int(row[chosen]) for row, chosen in pairs]
        return np.asarray(places, dtype=np.int32)
    at = np.take_along_axis(shown, np.maximum(choice, 0)[:, None], axis=1)[:, 0]
    return np.where(choice < 0, -1, at).astype(np.int32)
