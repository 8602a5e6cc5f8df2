"""Judges all rows of an audit together: they share its one-sided error, over all looks.

A test is a claim under one attack on one plan. In the first look only tests that could reject at all
share the error (Tarone); from the second on all of them do, since what was added may have been chosen
by what was seen. Holm's procedure runs over them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import epsilon_from_success, success_from_epsilon
from tedaudit.estimators.multiplicity import find_reach, holm, look_error
from tedaudit.results.row import Row
from tedaudit.results.verdict import Decision, LimitVerdict, Verdict
from tedaudit.runs.looks import Look

_POWER = 0.8


@dataclass(frozen=True, slots=True)
class Reach:
    """Which tests of a family can reject at all, known before any data, and the error that each has then."""

    tested: tuple[int, ...]  # numbers of the rows that have a test
    within: npt.NDArray[np.bool_]  # whether each of these is in reach
    members: tuple[int, ...]  # the rows that share the error

    def share(self, error: float) -> float:
        """Return the error of one test."""
        return error / max(1, len(self.members))


@dataclass(frozen=True, slots=True)
class Family:
    """All rows of an audit at one look."""

    alpha: float
    rows: tuple[Row, ...]
    look: Look

    @property
    def error(self) -> float:
        """The one-sided error that this look has."""
        return look_error(self.alpha / 2, self.look.number)

    @property
    def row_error(self) -> float:
        """The error of a row such that the largest bound of all rows has that of the look."""
        return self.error / max(1, len(self.rows))

    def judge(self) -> list[Verdict]:
        """Return the verdict on each row's claim under its attack."""
        tested = [i for i, row in enumerate(self.rows) if row.target is not None]
        verdicts = [_refuse(row) for row in self.rows]
        if not self.look.noted:
            for i in tested:
                verdicts[i] = Verdict(Decision.NOT_TESTED, _LOST if self.look.lost else _NOT_NOTED)
            return verdicts
        reach = self.find_reach()
        p_values = [self._p_value(i) for i in reach.members]
        share, adjusted = reach.share(self.error), dict(zip(reach.members, holm(p_values), strict=True))
        for i, within in zip(tested, reach.within, strict=True):
            verdicts[i] = self._decide(self.rows[i], adjusted.get(i), share, within=bool(within))
        return verdicts

    def find_reach(self) -> Reach:
        """Return which tests are in reach; it depends on numbers of trials and claims alone."""
        tested = tuple(i for i, row in enumerate(self.rows) if row.target is not None)
        least = [self.rows[i].least_p() for i in tested]
        if self.look.number > 1:
            return Reach(tested, np.asarray(least) < self.error / max(1, len(tested)), tested)
        within = find_reach(least, self.error)
        return Reach(tested, within, tuple(i for i, near in zip(tested, within, strict=True) if near))

    def trials_in_reach(self, row: Row) -> int | None:
        """Return the trials of a new run, with as many tests, in which the claim of a row is in reach."""
        tests = sum(other.target is not None for other in self.rows)
        aim = row.target or (math.inf, 0.0)
        return row.fresh_trials(aim, look_error(self.alpha / 2, 1) / tests, self.alpha / 2)

    def _p_value(self, number: int) -> float:
        row = self.rows[number]
        return 1.0 if row.unfit else row.p_value()

    def _decide(self, row: Row, adjusted: float | None, share: float, *, within: bool) -> Verdict:
        if adjusted is not None and adjusted <= self.error:
            return self._violated(row, adjusted)
        if not within:
            return self._out_of_reach(row)
        reason = row.unfit or _why_not_tested(row, share)
        if reason:
            return Verdict(Decision.NOT_TESTED, reason, p_value=1.0, adjusted_p=1.0)
        return self._no_violation(row, adjusted, share)

    def _scale(self, adjusted: float | None) -> float:
        """Return an adjusted p-value that counts the looks too: to be compared with alpha / 2."""
        factor = self.look.number * (self.look.number + 1)
        return 1.0 if adjusted is None else min(1.0, float(adjusted) * factor)

    def _violated(self, row: Row, adjusted: float) -> Verdict:
        p = self._scale(adjusted)
        reason = f"{_describe_evidence(row)} (adjusted p {p:.2g})"
        return Verdict(decision=Decision.VIOLATED, reason=reason, p_value=row.p_value(), adjusted_p=p)

    def _no_violation(self, row: Row, adjusted: float | None, share: float) -> Verdict:
        success = row.detectable(share)
        reason = "these attacks were not right more often than the claim allows"
        if success is not None:
            epsilon = epsilon_from_success(success, row.counts.candidates, row.slack)
            reason = (
                f"the claim of {_name(row)} allows {row.counts.correct:,} right guesses of "
                f"{row.counts.guesses:,}; an attack that is right with probability {success:.4g} (epsilon "
                f"{epsilon:.3g}) would have been told from it with probability {_POWER:g}, and one that is "
                "right less often is not found, whatever the mechanism's epsilon"
            )
        return Verdict(
            decision=Decision.NO_VIOLATION,
            reason=reason,
            p_value=row.p_value(),
            adjusted_p=self._scale(adjusted),
            detectable=success,
        )

    def _out_of_reach(self, row: Row) -> Verdict:
        tests = sum(other.target is not None for other in self.rows)
        needed = self.trials_in_reach(row)
        shown = row.bound(self.error / tests).ceiling
        remedy = f"a new run of {needed:,} trials would reach it" if needed else _no_number(row)
        reason = (
            f"had every guess been right, the bound would be {shown:.3g} at the error that this run leaves, "
            f"and the claim is {_name(row)}: {remedy}"
        )
        return Verdict(Decision.OUT_OF_REACH, reason, trials_needed=needed)


_LOST = (
    "guesses that were judged are gone: nothing is decided by what is left, which was not chosen beforehand"
)
_NOT_NOTED = (
    "these guesses were not complete when the run was last judged; `tedaudit report` judges them as they "
    "are, and counts that look"
)


def _describe_evidence(row: Row) -> str:
    """Return which guesses refute a claim, and how often they may be right under it."""
    epsilon, delta = row.target or (math.inf, 0.0)
    sure = row.decisive_part()
    if sure is None:
        most = success_from_epsilon(epsilon, row.counts.candidates, delta)
        return (
            f"{row.counts.correct:,} of {row.counts.guesses:,} guesses were right; under the claim of "
            f"{_name(row)} a guess is right with probability {most:.4g} at most"
        )
    most = success_from_epsilon(epsilon, row.counts.candidates)
    outside = f", {delta:g} of all trials aside" if delta else ""
    return (
        f"{sure.right:,} of the {sure.size:,} most certain guesses among {row.counts.guesses:,} were right; "
        f"under the claim of {_name(row)} each is right with probability {most:.4g} at most{outside}"
    )


def _refuse(row: Row) -> Verdict:
    if row.claim is None:
        return Verdict(Decision.NO_CLAIM, "the mechanism promises nothing")
    return Verdict(
        Decision.NO_CLAIM,
        f"the claim is for each {row.claim.unit} and their number has no public bound, so that nothing is "
        "promised for a whole text",
    )


def _why_not_tested(row: Row, share: float) -> str:
    """Return why the answers could not have refuted the claim, or nothing if they could."""
    counts = row.counts
    if 2 * counts.failed > counts.guesses:
        return f"{counts.failed:,} of {counts.guesses:,} rewrites failed"
    if row.best_answers_p() >= share:
        answers = sum(counts.answers_right().right)
        return (
            f"only {answers:,} of {counts.guesses:,} guesses were usable answers: had all of them been "
            f"right, that would not have refuted the claim of {_name(row)}"
        )
    return ""


def _no_number(row: Row) -> str:
    """Return that no run can be large enough; the number is about e^epsilon, to a factor of a few dozens."""
    epsilon, _ = row.target or (math.inf, 0.0)
    return f"right guesses refute it in no number of trials that can be run (of the order of e^{epsilon:.4g})"


def _name(row: Row) -> str:
    epsilon, delta = row.target or (math.inf, 0.0)
    return f"{epsilon:g}" + (f" with delta {delta:g}" if delta else "")


def judge_gate(rows: Sequence[Row], error: float, limit: float) -> list[Verdict]:
    """Return, for each row, whether its bound at an error is above a limit, as a verdict of its own."""
    return [_judge_limit(row, error, limit) for row in rows]


def _judge_limit(row: Row, error: float, limit: float) -> Verdict:
    bound = row.bound(error)
    if row.unfit:
        return leave_untested(row.unfit)
    verdict, counts = compare_limit(bound.lower, bound.ceiling, limit), row.counts
    if verdict.decision is not Decision.NO_VIOLATION:
        return verdict
    if 2 * counts.failed > counts.guesses or row.best_answers_bound(error).lower <= limit:
        reason = f"{counts.failed:,} rewrites failed and {counts.unusable:,} answers were unusable"
        return leave_untested(f"{reason}, of {counts.guesses:,}")
    return verdict


def leave_untested(reason: str) -> Verdict:
    """Return the verdict of what has no bound that could be held against a limit."""
    return LimitVerdict(Decision.NOT_TESTED, reason)


def compare_limit(lower: float, ceiling: float, limit: float) -> Verdict:
    """Return whether a bound is above a limit, or could not have been."""
    if lower > limit:
        return LimitVerdict(Decision.VIOLATED, f"the bound is {lower:.4g}, above {limit:g}")
    if ceiling <= limit:
        reason = f"these trials show at most {ceiling:.4g}: {limit:g} is out of reach"
        return LimitVerdict(Decision.OUT_OF_REACH, reason)
    return LimitVerdict(Decision.NO_VIOLATION, f"the bound is {lower:.4g}, not above {limit:g}")
