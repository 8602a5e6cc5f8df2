"""The rank of every record's own original among all originals, under one attack.

A rewrite is scored against every original, some rewrites at a time. Originals with the same score, to five
decimals, are tied: a record's place among them is drawn by a coin of its own, so that it is 1 no more often
than a guess at random would be, and what is drawn depends on no other record.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ContractError, SpecError
from tedaudit.plugins.batches import Guesses, Observations, Rewrites
from tedaudit.plugins.protocols import KnowsMechanism, Practises, Prepares, Resamples
from tedaudit.plugins.values import Array, Floats
from tedaudit.seeding import uniforms
from tedaudit.studies.link.table import Release
from tedaudit.trials.judge import TIE_PRECISION, tie_keys

Mask = npt.NDArray[np.bool_]

Progress = Callable[[str, int, int], None]
"""What is done now, how much of it is done, and how much there is."""
_CELLS = 1 << 21  # scores that are in memory at a time
_MOST_ROWS = 512
_PURPOSE = "link"  # of the coins for ties


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where each record's own original stands. Arrays with an entry per record."""

    better: npt.NDArray[np.int64]  # originals with a higher score
    tied: npt.NDArray[np.int64]  # originals with the same score, its own included
    margin: Floats  # own score minus the best other one; negative if another original scores higher
    lead: Floats  # how far the best original is before the second, whichever it is
    place: npt.NDArray[np.int64]  # from 1; drawn among what is tied

    @property
    def rank(self) -> Floats:
        """The mean of the places that a record may have."""
        return np.asarray(self.better + (self.tied + 1) / 2, dtype=np.float64)

    @property
    def found(self) -> npt.NDArray[np.bool_]:
        """Whether the adversary names the record's own original."""
        return np.asarray(self.place == 1, dtype=np.bool_)


def show_nothing(step: str, done: int, total: int) -> None:
    """Take progress that nobody watches."""


def refuse_unfit(name: str, attack: Any) -> None:
    """Refuse an attack that cannot score all originals from the texts alone."""
    if isinstance(attack, KnowsMechanism | Practises | Resamples) or "text" not in attack.card.sees:
        raise SpecError(
            f"The attack '{name}' cannot be used for linking: it needs the mechanism, or reads a few "
            "candidates at a time. `lexical` and `embedding` score all originals from the texts alone."
        )


def rank_records(
    name: str, attack: Any, release: Release, seed: int, progress: Progress = show_nothing
) -> Ranks:
    """Score every rewrite against all originals and say where its own stands.

    The memory is bounded: only the scores of some rewrites are there at a time.
    """
    parts, step = [], f"{name}: scoring all originals"
    progress(step, 0, len(release))
    if isinstance(attack, Prepares):
        attack.prepare(release.pool)
    keys = tie_keys(seed, _PURPOSE, name, range(len(release)))
    for rows, scores, usable in score_pool(
        name, attack, release.rewrites, release.pool, keys, partial(progress, step)
    ):
        coins = uniforms(keys[rows], 1)[:, 0]
        parts.append(place_own(scores, usable, release.position[rows], coins))
    return join_ranks(parts)


def score_pool(
    name: str,
    attack: Any,
    texts: Sequence[str],
    pool: Sequence[str],
    keys: npt.NDArray[np.uint32],
    progress: Callable[[int, int], None],
) -> Iterator[tuple[slice, Floats, Mask]]:
    """Yield the scores of some texts at a time against the whole pool, and which of them are usable."""
    step = max(1, min(_MOST_ROWS, _CELLS // len(pool)))
    for start in range(0, len(texts), step):
        rows = slice(start, start + step)
        seen = Observations(
            outputs=Rewrites.from_texts(texts[rows]), pool=pool, candidates=None, tie_keys=keys[rows]
        )
        yield rows, *_check(name, attack.guess(seen), (len(seen), len(pool)))
        progress(min(start + step, len(texts)), len(texts))


def join_ranks(parts: Sequence[tuple[Array, ...]]) -> Ranks:
    """Return the ranks of all parts, one after the other."""
    return Ranks(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def order_evidence(found: Sequence[Ranks]) -> tuple[Array, Array]:
    """Return whoever leads to their own most surely first, and for each the attack that ranks them highest.

    Margins of different attacks cannot be compared, so a place among the margins of its attack decides
    between those of the same rank.
    """
    ranks = np.stack([one.rank for one in found])
    orders = np.stack([_number(-one.margin) for one in found])
    everyone = np.arange(ranks.shape[1])
    best = np.lexsort((orders, ranks), axis=0)[0]
    return np.lexsort((everyone, orders[best, everyone], ranks[best, everyone])), best


def _number(values: Floats) -> npt.NDArray[np.int64]:
    """Return the place of each value in ascending order."""
    places = np.empty(len(values), dtype=np.int64)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


def _check(name: str, given: Any, shape: tuple[int, int]) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Return the scores as a matrix; refuse what is not one number per original."""
    guesses = Guesses.of(given)
    scores = guesses.scores
    if not isinstance(scores, np.ndarray):
        matrix = scores.matrix()
        scores = np.zeros((0, 0)) if matrix is None else matrix
    if scores.shape != shape or bool(np.isnan(scores[guesses.usable]).any()):
        raise ContractError(
            f"'{name}' was given {shape[0]:,} rewrites and {shape[1]:,} originals and returned scores of "
            f"shape {scores.shape}; it must return one number for each original of each rewrite."
        )
    return np.round(scores, TIE_PRECISION), guesses.usable


def place_own(
    scores: Floats, usable: npt.NDArray[np.bool_], position: npt.NDArray[np.int64], coins: Floats
) -> tuple[Array, ...]:
    """Return the columns of `Ranks` for some rows, whose scores are used up.

    An unusable answer comes last and names nobody.
    """
    rows = np.arange(len(scores))
    own = scores[rows, position]
    better = (scores > own[:, None]).sum(axis=1)
    tied = (scores == own[:, None]).sum(axis=1)
    scores[rows, position] = -np.inf
    top = np.partition(scores, -2, axis=1)[:, -2:] if scores.shape[1] > 2 else np.sort(scores, axis=1)
    second, best = top[:, -2], top[:, -1]  # of the others
    lead = np.where(own >= best, own - best, best - np.maximum(own, second))
    place = better + np.minimum(np.floor(coins * tied), tied - 1).astype(np.int64) + 1
    last = scores.shape[1]
    return (
        np.where(usable, better, last - 1), np.where(usable, tied, 1), np.where(usable, own - best, -np.inf),
        np.where(usable, lead, 0.0), np.where(usable, place, last),
    )  # fmt: skip
