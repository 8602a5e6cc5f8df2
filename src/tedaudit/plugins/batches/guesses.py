"""Guesses by the batch, and what they say of pairs of likelihoods."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tedaudit.plugins.batches import columns
from tedaudit.plugins.batches.columns import Column, Mask, Ragged, as_ragged
from tedaudit.plugins.batches.sequences import Batch
from tedaudit.plugins.values import UNKNOWN, Array, Floats, Guess, PairLoss

_NO_ENDS = (np.nan,) * 4


@dataclass(frozen=True, slots=True, eq=False)
class TextLikelihoods:
    """How probable each of some texts is, given each of its candidates, in logarithms.

    `exact` is for probabilities that are known, `between` for those known to lie between two ends; a privacy
    loss follows from both. `scores` is for whatever else ranks candidates, such as a sum over some of the
    draws that give the text: an attack may guess by it, and no loss is read from it.
    """

    points: list[Floats]
    lower: list[Floats] | None = None
    upper: list[Floats] | None = None

    @classmethod
    def exact(cls, values: Sequence[Array]) -> Self:
        """Return probabilities that are known; -inf for a candidate that cannot have given the text."""
        known = [np.asarray(row, dtype=np.float64) for row in values]
        return cls(known, known, known)

    @classmethod
    def between(
        cls, lower: Sequence[Array], upper: Sequence[Array], points: Sequence[Array] | None = None
    ) -> Self:
        """Return probabilities between two ends; the lower one may be -inf.

        Candidates are ranked by `points`; without them by the middle, which says little if ends are apart.
        """
        low, high = ([np.asarray(row, dtype=np.float64) for row in rows] for rows in (lower, upper))
        if any((a > b).any() for a, b in zip(low, high, strict=True)):
            raise ValueError("a lower end is above its upper end")
        if points is None:
            points = [np.logaddexp(a, b) - np.log(2) for a, b in zip(low, high, strict=True)]
        return cls([np.asarray(row, dtype=np.float64) for row in points], low, high)

    @classmethod
    def scores(cls, values: Sequence[Array]) -> Self:
        """Return what ranks candidates and is no probability."""
        return cls([np.asarray(row, dtype=np.float64) for row in values])

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.points)

    @property
    def is_score(self) -> bool:
        """Whether no probability is known."""
        return self.lower is None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairLosses(Batch[PairLoss]):
    """What is known of the loss between two candidates; NaN for unknown, no terms for unknown ones.

    Ends, which a likelihood of texts has, are four columns; None if no row has any.
    """

    largest: Floats
    mu: Floats
    terms: Ragged
    ends: Floats | None = None
    _kind = PairLoss

    def __post_init__(self) -> None:
        largest, mu = (columns.cast(name, getattr(self, name), np.float64) for name in ("largest", "mu"))
        self._hold(largest=largest, mu=mu, terms=as_ragged(self.terms), ends=self.ends)

    @classmethod
    def unknown(cls, rows: int) -> Self:
        """Return rows of which nothing is known."""
        return cls(np.full(rows, np.nan), np.full(rows, np.nan), Ragged.absent(rows, np.float64))

    @classmethod
    def between(cls, ends: Floats) -> Self:
        """Return rows of which the ends of both likelihoods are known, and no more."""
        return replace(cls.unknown(len(ends)), ends=ends)

    def __len__(self) -> int:
        return len(self.largest)

    @classmethod
    def _gather(cls, rows: list[PairLoss]) -> Self:
        return cls(
            largest=np.array([row.largest for row in rows], dtype=np.float64),
            mu=np.array([row.mu for row in rows], dtype=np.float64),
            terms=Ragged.of([row.terms for row in rows], np.float64),
            ends=_find_ends(
                np.array([row.ends or _NO_ENDS for row in rows], dtype=np.float64).reshape(-1, 4)
            ),
        )

    @classmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self:
        return cls(
            largest=np.concatenate([part.largest for part in parts]),
            mu=np.concatenate([part.mu for part in parts]),
            terms=Ragged.join([part.terms for part in parts]),
            ends=_find_ends(np.concatenate([part.list_ends() for part in parts])),
        )

    def _row(self, i: int) -> PairLoss:
        ends = None if self.ends is None or np.isnan(self.ends[i]).all() else tuple(self.ends[i].tolist())
        return PairLoss(
            largest=float(self.largest[i]), mu=float(self.mu[i]), terms=self.terms.row(i), ends=ends
        )

    def _equals(self, other: Self) -> bool:
        return (
            np.array_equal(self.largest, other.largest, equal_nan=True)
            and np.array_equal(self.mu, other.mu, equal_nan=True)
            and self.terms.equals(other.terms)
            and np.array_equal(self.list_ends(), other.list_ends(), equal_nan=True)
        )

    def list_ends(self) -> Floats:
        """Return the ends of every row, NaN for unknown."""
        return np.tile(_NO_ENDS, (len(self), 1)) if self.ends is None else self.ends


def _find_ends(ends: Floats) -> Floats | None:
    """Return ends if any is known."""
    return None if np.isnan(ends).all() else ends


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Guesses(Batch[Guess]):
    """Scores of candidates, which rows are usable, and where candidates were shown (None: in no order).

    `losses` says more of pairs whose scores are likelihoods; None if no row does.
    """

    scores: Column
    usable: Mask
    shown: Column | None = None
    losses: PairLosses | None = None
    _kind = Guess

    def __post_init__(self) -> None:
        scores = columns.compact("scores", self.scores, np.float64)
        shown = self.shown
        if shown is not None:
            shown = columns.compact("shown", shown, np.int32, whole=False)
            if isinstance(shown, Ragged) and shown.missing is not None and shown.missing.all():
                shown = None
        usable = columns.cast("usable", self.usable, np.bool_)
        self._hold(scores=scores, usable=usable, shown=shown, losses=self.losses)

    @classmethod
    def unusable(cls, counts: Sequence[int] | Array) -> Self:
        """Return guesses that name nobody, for rows with these numbers of candidates."""
        offsets = columns.compute_offsets(np.asarray(counts))
        return cls(Ragged(np.zeros(offsets[-1]), offsets), np.zeros(len(counts), dtype=np.bool_))

    def __len__(self) -> int:
        return len(self.usable)

    @classmethod
    def _gather(cls, rows: list[Guess]) -> Self:
        scores = Ragged.of([row.scores for row in rows], np.float64)
        usable = np.array([bool(row.usable) for row in rows])
        losses = None
        if any(row.loss is not None for row in rows):
            losses = PairLosses.of([row.loss or UNKNOWN for row in rows])
        return cls(
            scores=scores,
            usable=usable,
            shown=Ragged.of([row.shown for row in rows], np.int32),
            losses=losses,
        )

    @classmethod
    def _concatenate(cls, parts: Sequence[Self]) -> Self:
        shown = None
        if any(part.shown is not None for part in parts):
            shown = columns.join([as_ragged(part.shown, len(part), np.int32) for part in parts])
        losses = None
        if any(part.losses is not None for part in parts):
            given = [(part.losses, len(part)) for part in parts]
            losses = PairLosses.join([PairLosses.unknown(n) if told is None else told for told, n in given])
        scores = columns.join([part.scores for part in parts])
        return cls(
            scores=scores, usable=np.concatenate([part.usable for part in parts]), shown=shown, losses=losses
        )

    def _row(self, i: int) -> Guess:
        shown = None if self.shown is None else columns.get_row(self.shown, i)
        loss = None if self.losses is None else self.losses[i]
        return Guess(
            scores=columns.get_row(self.scores, i), usable=bool(self.usable[i]), shown=shown, loss=loss
        )

    def _equals(self, other: Self) -> bool:
        return (
            as_ragged(self.scores).equals(as_ragged(other.scores))
            and np.array_equal(self.usable, other.usable)
            and as_ragged(self.shown, len(self)).equals(as_ragged(other.shown, len(self)))
            and (self.losses or PairLosses.unknown(len(self)))
            == (other.losses or PairLosses.unknown(len(self)))
        )
