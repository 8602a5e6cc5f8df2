"""The reduced-form estimator of the TeDA paper: one success count, one rewrite per trial."""

from dataclasses import replace

from tedaudit.estimators.bound import Bound, bound_from_interval, success_from_epsilon
from tedaudit.estimators.intervals import binomial_tail, clopper_pearson
from tedaudit.estimators.multiplicity import detectable_success
from tedaudit.estimators.protocol import Choices, Counts, Estimator, count_right
from tedaudit.estimators.sequential import any_time_p, sequential
from tedaudit.plugins.values import Plan


def reduced_form(
    correct: int, trials: int, candidates: int = 2, alpha: float = 0.01, delta: float = 0.0
) -> Bound:
    """Return the bound from the number of trials in which the attack named the secret.

    eps_emp = ln((k - 1) (p0 - delta) / (1 - p0)), with p0 the lower end of the two-sided
    Clopper-Pearson interval at level alpha, so the one-sided error is alpha / 2.

    The trials need not be alike. Against an (epsilon, delta)-LDP mechanism no trial succeeds with
    a probability above `success_from_epsilon(epsilon)`, whatever its candidates and whatever came
    before it, so the count is stochastically at most a binomial one with that rate. The number of
    trials must be fixed beforehand; if it is not, see `sequential`.
    """
    return bound_from_interval("reduced form", clopper_pearson, (correct, trials), candidates, alpha, delta)


class ReducedForm:
    """One rewrite per trial, of the secret; any number of candidates."""

    name = "reduced"
    title = "reduced form"
    rows_per_trial = 1
    may_abstain = True

    def refuse(self, candidates: int | None) -> str:  # noqa: ARG002
        """Refuse no number of candidates."""
        return ""

    def count(self, plan: Plan, choices: Choices, candidates: int) -> Counts:
        """Count the trials in which the secret was named."""
        return count_right(plan, choices, candidates, self.rows_per_trial)

    def bound(self, counts: Counts, alpha: float, delta: float, *, any_time: bool = False) -> Bound:
        """Return the reduced-form bound, or the one that holds at every look."""
        estimate = sequential if any_time else reduced_form
        return estimate(counts.correct, counts.trials, counts.candidates, alpha, delta)

    def p_value(self, counts: Counts, epsilon: float, delta: float, *, any_time: bool = False) -> float:
        """Return how probable so many right guesses are at epsilon, or 1 / evidence if looks are many."""
        success = success_from_epsilon(epsilon, counts.candidates, delta)
        tail = any_time_p if any_time else binomial_tail
        return tail(counts.correct, counts.trials, success)

    def detectable(
        self, counts: Counts, epsilon: float, delta: float, error: float, *, any_time: bool = False
    ) -> float | None:
        """Return the success rate that is told from epsilon with probability 0.8."""
        return detectable_success(
            lambda right: self.p_value(replace(counts, right=(right,)), epsilon, delta, any_time=any_time),
            counts.trials,
            error,
        )

    def alpha_for(self, error: float) -> float:
        """Return twice the error: one end of a two-sided interval can fail."""
        return 2 * error


ESTIMATOR: Estimator = ReducedForm()
