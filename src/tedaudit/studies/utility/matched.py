"""What rewrites tell of a private column: the gain of a classifier, and the game of matched pairs.

Test texts are rewritten with fresh noise, and a classifier that learnt the column from rewrites of other
texts reads them. How often it is right beyond a blind guess is the gain; it supposes that texts are drawn
alike.

The bound supposes less, because the tool may call the mechanism. Records of different values are put into
pairs, each in one pair alone: of records that have the other label columns of the study in common, those of
like length. A coin says which of the two is rewritten, and the classifier names one by the value that it
reads; if it reads neither, another coin does. If the mechanism is epsilon-LDP for any two texts, then given
all outputs each guess is right with probability at most e^epsilon / (1 + e^epsilon), whatever else tells the
values apart and whoever chose the pairs. So the bounds of an audit hold: that of all pairs, and that of the
surest, in which a value of the pair was read.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import Bound, Choices, clopper_pearson, find_estimator
from tedaudit.estimators.abstaining import Part
from tedaudit.estimators.attributes import gain_interval
from tedaudit.plugins.values import Claim, Plan, fold_text
from tedaudit.results.row import Certain, Row
from tedaudit.seeding import derive, uniforms
from tedaudit.text.plain_data import PlainData

_PURPOSE = "matched pairs"


@dataclass(frozen=True)
class Guessed(PlainData):
    """What a classifier made of rewritten test texts.

    `frequent` were right by always naming what was the most frequent class of the training texts. `interval`
    is of the share that was right, `gain` of what that is above the share of the best blind guess; an end is
    wrong with probability `error`, and so is the bound of `row`, the game of matched pairs, too high.
    """

    right: int
    asked: int
    interval: tuple[float, float]
    frequent: int
    gain: tuple[float, float]
    row: Row
    error: float
    in_json: ClassVar[str] = (
        "right, asked, interval.0 as low, interval.1 as high, frequent as most_frequent_class, "
        "gain.0 as gain_low, gain.1 as gain_high, bound.correct as pairs_right, bound.trials as pairs, "
        "surest, bound.lower as eps_emp, bound.ceiling as ceiling, bound.delta as delta, error"
    )

    @property
    def bound(self) -> Bound:
        """The bound of the game, at the error of its row."""
        return self.row.bound(self.error)

    @property
    def surest(self) -> Part | None:
        """The surest pairs, if the bound is theirs."""
        return self.row.bound_by(self.error)[1]


def choose_tested(texts: Sequence[str], number: int, seed: int) -> tuple[int, ...]:
    """Return which test texts are rewritten, in order: each once, so that all have noise of their own."""
    places: dict[str, int] = {}
    for place, text in enumerate(texts):
        places.setdefault(fold_text(text), place)
    distinct = list(places.values())
    coins = uniforms([derive(seed, _PURPOSE, "texts")], len(distinct))[0]
    return tuple(sorted(distinct[row] for row in np.argsort(coins, kind="stable")[:number].tolist()))


def match_pairs(
    values: Sequence[str], strata: Sequence[Hashable], sizes: Sequence[int]
) -> npt.NDArray[np.int32]:
    """Return pairs of records with different values of one stratum, of like size; each is in one at most.

    Who waits for a partner in a stratum has the same value as all others who wait there, so that only those
    are left over whose value is that of more than half.
    """
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    pairs = []
    for row in sorted(range(len(values)), key=lambda row: (sizes[row], row)):
        others = waiting[strata[row]]
        if others and values[others[-1]] != values[row]:
            pairs.append((others.pop(), row))
        else:
            others.append(row)
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


@dataclass(frozen=True)
class Game:
    """Matched pairs of records with their values, which of the two is rewritten, and a coin for each pair.

    Everything in it is fixed before any text is rewritten.
    """

    values: Sequence[str]
    plan: Plan
    coins: npt.NDArray[np.bool_]  # who is named if neither value was read


def make_game(
    values: Sequence[str], strata: Sequence[Hashable], sizes: Sequence[int], seed: int, column: str
) -> Game:
    """Match records and toss the coins."""
    pairs = match_pairs(values, strata, sizes)
    secret, neither = (
        uniforms([derive(seed, _PURPOSE, purpose, column)], len(pairs))[0] >= 0.5
        for purpose in ("secret", "neither")
    )
    plan = Plan(pairs, secret.astype(np.int32), np.zeros(len(pairs), dtype=np.int32))
    return Game(values, plan, neither)


def play(game: Game, named: Sequence[str], failed: Sequence[bool], claim: Claim | None, error: float) -> Row:
    """Return the row of the game; `named` is what is read in the rewrite of each record, `error` the row's.

    Nothing is counted of a record that the coin did not choose: its rewrite is not part of the game. If there
    are two values only, one of the pair is always read, and no guess is surer than another.
    """
    plan = game.plan
    assert plan.candidates is not None  # noqa: S101 - pairs were given
    read = np.asarray(named, dtype=object)[plan.source]
    fits = np.asarray(game.values, dtype=object)[plan.candidates] == read[:, None]
    is_read = fits.any(axis=1)
    choice = np.where(is_read, fits.argmax(axis=1), game.coins).astype(np.int32)
    failures = np.asarray(failed, dtype=np.bool_)[plan.source]
    choices = Choices(choice, np.ones(len(plan), dtype=np.bool_), failures)
    estimator = find_estimator("reduced")
    row = Row(estimator, estimator.count(plan, choices, 2), claim)
    if len(set(game.values)) == 2:
        return row
    return replace(
        row,
        parts=Certain(plan=plan, choices=choices, margin=is_read.astype(np.float32), looks=()).count(
            row, error
        ),
    )


def count_guessed(truth: Sequence[str], named: Sequence[str], blind: str, row: Row, error: float) -> Guessed:
    """Return what is told of a private column; `blind` is the most frequent class of the training texts."""
    right = sum(guess == true for true, guess in zip(truth, named, strict=True))
    return Guessed(
        right=right,
        asked=len(truth),
        interval=clopper_pearson(right, len(truth), 2 * error),
        frequent=truth.count(blind),
        gain=gain_interval(truth, named, 2 * error, blind),
        row=row,
        error=error,
    )
