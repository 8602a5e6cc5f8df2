"""What an estimator is: how it reads the rows of a plan, and the bound that it makes of the counts.

Nobody outside asks which estimator it is. A new one is a file in this folder with a class that offers
these names and an object of it called `ESTIMATOR`; specs, plans, reports and the command line find it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tedaudit.estimators.bound import Bound
from tedaudit.plugins.values import Plan
from tedaudit.text.plain_data import Count


@dataclass(frozen=True, slots=True)
class Choices:
    """What was guessed in the first rows of a plan: arrays of one length.

    `choice` is a position among the candidates, or -1 if there was no usable answer.
    """

    choice: npt.NDArray[np.int32]
    usable: npt.NDArray[np.bool_]
    failed: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.choice)

    def pick(self, rows: Sequence[int]) -> "Choices":
        """Return the choices of the rows with these numbers."""
        numbers = np.asarray(rows, dtype=np.int64)
        return Choices(self.choice[numbers], self.usable[numbers], self.failed[numbers])

    def after(self, start: int) -> "Choices":
        """Return the choices from a row on."""
        return Choices(self.choice[start:], self.usable[start:], self.failed[start:])


@dataclass(frozen=True, slots=True)
class Counts:
    """What an estimator needs of the complete trials.

    `right` counts right guesses by the place of the row in its trial: one number if a trial has one row,
    two if both candidates are rewritten. A row without a usable answer is not right. `failed` counts failed
    rewrites, `unusable` those of the others that got no usable answer, and `answered` the rows for which a
    source was named, by place: an attack that sees error codes may name one for a failed rewrite.
    """

    trials: int
    right: tuple[int, ...]
    candidates: int
    unusable: Count = 0
    """Rows without a usable answer, failed rewrites left out."""
    failed: Count = 0
    """Failed rewrites."""
    answered: tuple[int, ...] | None = None  # None: all rows

    @property
    def correct(self) -> int:
        """Right guesses in all."""
        return sum(self.right)

    @property
    def guesses(self) -> int:
        """Guesses in all: one for every row."""
        return self.trials * len(self.right)

    def all_right(self, trials: int | None = None) -> "Counts":
        """Return the counts had every guess been right, in this many trials or another number."""
        number = self.trials if trials is None else trials
        return Counts(number, (number,) * len(self.right), self.candidates)

    def answers_right(self) -> "Counts":
        """Return the counts had every usable answer been right and all others wrong."""
        return Counts(self.trials, self.answered or (self.trials,) * len(self.right), self.candidates)


class Estimator(Protocol):
    """Turns rows of guesses into counts, and counts into a bound."""

    @property
    def name(self) -> str:
        """How specs call it."""
        ...

    @property
    def title(self) -> str:
        """How sentences call it."""
        ...

    @property
    def rows_per_trial(self) -> int:
        """How many of the candidates of a trial are rewritten, each in a row of its own."""
        ...

    @property
    def may_abstain(self) -> bool:
        """Whether guesses are right independently given all outputs, so that some can be left out."""
        ...

    def refuse(self, candidates: int | None) -> str:
        """Return why it cannot read trials with so many candidates (None: all texts), or nothing."""
        ...

    def count(self, plan: Plan, choices: Choices, candidates: int) -> Counts:
        """Count over the complete trials among the first rows of a plan."""
        ...

    def bound(self, counts: Counts, alpha: float, delta: float, *, any_time: bool = False) -> Bound:
        """Return the bound; `any_time` if the number of trials was not fixed beforehand."""
        ...

    def p_value(self, counts: Counts, epsilon: float, delta: float, *, any_time: bool = False) -> float:
        """Return the smallest one-sided error at which the bound is not below epsilon."""
        ...

    def detectable(
        self, counts: Counts, epsilon: float, delta: float, error: float, *, any_time: bool = False
    ) -> float | None:
        """Return the success rate that these trials tell from epsilon with probability 0.8.

        None if none does, or if the estimator cannot say.
        """
        ...

    def alpha_for(self, error: float) -> float:
        """Return the alpha at which the bound has this one-sided error."""
        ...


def count_right(plan: Plan, choices: Choices, candidates: int, rows_per_trial: int) -> Counts:
    """Count right guesses over complete trials; a trial without a usable answer counts against the bound."""
    rows = len(choices) - len(choices) % rows_per_trial
    right = (choices.choice[:rows] == plan.secret[:rows]).reshape(-1, rows_per_trial)
    usable, failed = choices.usable[:rows], choices.failed[:rows]
    by_place = tuple(int(total) for total in right.sum(axis=0))
    answered = tuple(int(total) for total in usable.reshape(-1, rows_per_trial).sum(axis=0))
    unusable = int((~usable & ~failed).sum())
    return Counts(
        trials=rows // rows_per_trial,
        right=by_place,
        candidates=candidates,
        unusable=unusable,
        failed=int(failed.sum()),
        answered=answered,
    )
