"""A row of findings as its test sees it: counts, surest guesses, claim and the error of its bounds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import Bound, Choices, Counts, Estimator
from tedaudit.estimators.abstaining import (
    Part,
    Parts,
    count_parts,
    count_parts_by_block,
    end_blocks,
    find_sizes,
)
from tedaudit.estimators.multiplicity import least_trials
from tedaudit.plugins.values import Claim, Plan

_MOST_DELTA = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table as its test sees it."""

    estimator: Estimator
    counts: Counts
    claim: Claim | None
    any_time: bool = False
    unfit: str = ""  # why its guesses cannot be judged
    delta: float | None = None  # what bounds are printed for; the claim's if not given
    parts: Parts | None = None  # the most certain guesses, which have half of the row's error

    @property
    def slack(self) -> float:
        """The delta of the printed bound."""
        if self.delta is not None:
            return self.delta
        return 0.0 if self.claim is None else min(self.claim.total_delta, _MOST_DELTA)

    @property
    def target(self) -> tuple[float, float] | None:
        """The epsilon and delta that the claim promises for a whole text, or None if it promises nothing.

        No smaller delta than the claim's may be used against it.
        """
        if self.claim is None or math.isinf(self.claim.total):
            return None
        return self.claim.total, min(max(self.claim.total_delta, self.slack), _MOST_DELTA)

    def bound(self, error: float) -> Bound:
        """Return the bound with a one-sided error: the largest of all trials and of the most certain ones.

        Its other figures are of all trials, at the share of the error that they have.
        """
        return self.bound_by(error)[0]

    def bound_by(self, error: float) -> tuple[Bound, Part | None]:
        """Return the bound with a one-sided error, and the most certain guesses if it is theirs."""
        bound = replace(self.bound_at(self.estimator.alpha_for(error / self.shares)), error=error)
        sure = None if self.parts is None else self.parts.bound(error / self.shares, self.slack)
        if sure is None or sure.lower <= bound.lower:
            return bound, None
        return replace(bound, lower=sure.lower), Part(sure.size, sure.right)

    def bound_at(self, alpha: float) -> Bound:
        """Return the bound of all trials at an alpha."""
        return self.estimator.bound(self.counts, alpha, self.slack, any_time=self.any_time)

    def p_value(self) -> float:
        """Return the p-value of the claim."""
        return self._combine(self.counts, self.parts)

    def least_p(self) -> float:
        """Return the p-value of the claim had every guess been right."""
        return self._combine(self.counts.all_right(), self.parts and self.parts.all_right())

    def best_answers_p(self) -> float:
        """Return the p-value of the claim had every usable answer been right."""
        return self._combine(*self._answers_right())

    def best_answers_bound(self, error: float) -> Bound:
        """Return the bound with a one-sided error had every usable answer been right."""
        counts, parts = self._answers_right()
        return replace(self, counts=counts, parts=parts).bound(error)

    def fresh_trials(self, aim: tuple[float, float], error: float, run_error: float) -> int | None:
        """Return the trials of a new run with this error that could show more than an epsilon at a delta.

        `error` is what this row has of it. Few trials have all of that: there is none for the most certain of
        them.
        """
        few = self.trials_to_show(*aim, error)
        if few is None or not self.estimator.may_abstain:
            return few
        has_parts = find_sizes(few, self.counts.candidates, self.slack, run_error)
        return self.trials_to_show(*aim, error / 2) if has_parts else few

    def trials_to_show(self, epsilon: float, delta: float, error: float) -> int | None:
        """Return the trials of a new run in which all trials together could show more than an epsilon."""
        return least_trials(
            lambda trials: self.estimator.p_value(self.counts.all_right(trials), epsilon, delta), error
        )

    def detectable(self, error: float) -> float | None:
        """Return the success rate that all trials together tell from the claim with probability 0.8."""
        epsilon, delta = self._aim()
        share = error / self.shares
        return self.estimator.detectable(self.counts, epsilon, delta, share, any_time=self.any_time)

    def decisive_part(self) -> Part | None:
        """Return the most certain guesses if they speak more clearly against the claim than all trials do."""
        epsilon, delta = self._aim()
        whole = self.estimator.p_value(self.counts, epsilon, delta, any_time=self.any_time)
        if self.parts is None or self.parts.p_value(epsilon, delta) >= whole:
            return None
        return self.parts.strongest(epsilon, delta)

    @property
    def shares(self) -> int:
        """The parts of the error: one for all trials, and one for the most certain ones if there are any."""
        return 1 if self.parts is None else 2

    def _answers_right(self) -> tuple[Counts, Parts | None]:
        counts = self.counts.answers_right()
        return counts, self.parts and self.parts.answers_right(counts.correct)

    def _combine(self, counts: Counts, parts: Parts | None) -> float:
        """Return the p-value of all trials and of the most certain ones together: twice the smaller one."""
        epsilon, delta = self._aim()
        whole = self.estimator.p_value(counts, epsilon, delta, any_time=self.any_time)
        if parts is None:
            return whole
        return min(1.0, 2 * min(whole, parts.p_value(epsilon, delta)))

    def _aim(self) -> tuple[float, float]:
        if self.target is None:
            raise ValueError("a row without a claim has no test")
        return self.target


# --- Counts the most certain guesses of a row, for the bound of an adversary that may abstain.


@dataclass(frozen=True, slots=True)
class Certain:
    """The guesses of a row with their margins, and the numbers of trials at which it was looked at."""

    plan: Plan
    choices: Choices
    margin: npt.NDArray[np.float32]
    looks: Sequence[int]

    def count(self, row: Row, error: float) -> Parts | None:
        """Return the right ones among the most certain guesses; None if there can be no bound from them.

        A run that is seen at several looks is ranked block by block: what was counted at one look stays
        counted.
        """
        trials, candidates = row.counts.trials, row.counts.candidates
        if not row.estimator.may_abstain or not trials:
            return None
        right = np.asarray(self.choices.choice == self.plan.secret[:trials], dtype=np.bool_)
        guesses = right, self.margin, self.choices.usable
        if row.any_time:
            ends = end_blocks(trials, self.looks, len(self.plan))
            return count_parts_by_block(*guesses, ends, candidates) if ends else None
        sizes = find_sizes(trials, candidates, row.slack, error)
        return count_parts(*guesses, sizes, candidates) if sizes else None
