"""The reduced-form estimator of the TeDA paper: one success count, one rewrite per trial."""

from tedaudit.estimators.bound import Bound, bound_from_interval
from tedaudit.estimators.intervals import clopper_pearson


def reduced_form(
    correct: int, trials: int, candidates: int = 2, alpha: float = 0.01, delta: float = 0.0
) -> Bound:
    """Return the bound from the number of trials in which the attack named the secret.

    eps_emp = ln((k - 1) (p0 - delta) / (1 - p0)), with p0 the lower end of the two-sided
    Clopper-Pearson interval at level alpha, so the one-sided error is alpha / 2.

    The trials need not be alike. Against an (epsilon, delta)-LDP mechanism no trial succeeds with
    a probability above `success_from_epsilon(epsilon)`, whatever its candidates and whatever came
    before it, so the count is stochastically at most a binomial one with that rate. What must be
    fixed beforehand is the number of trials; see `sequential` where it is not.
    """
    return bound_from_interval("reduced form", clopper_pearson, (correct, trials), candidates, alpha, delta)
