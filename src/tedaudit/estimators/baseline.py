"""The baseline estimator of Arcolezi and Gambs 2024: true and false positives, two rewrites per trial."""

import math

from tedaudit.estimators.bound import Bound, Interval, check_alpha, check_counts, check_delta
from tedaudit.estimators.intervals import binomial_tail, clopper_pearson
from tedaudit.estimators.protocol import Choices, Counts, Estimator, count_right
from tedaudit.estimators.sequential import any_time_p, confidence_sequence
from tedaudit.plugins.values import Plan


def baseline(
    true_positives: int,
    false_positives: int,
    trials: int,
    alpha: float = 0.01,
    delta: float = 0.0,
    interval: Interval = clopper_pearson,
) -> Bound:
    """Return the bound from the rates at which the attack names v1 on M(v1) and on M(v2).

    eps_emp = ln((TPR_low - delta) / FPR_high), both ends from Clopper-Pearson intervals with
    alpha / 2 per tail. Two ends can fail, so the one-sided error is alpha, not alpha / 2: the union
    bound holds although both rates come from the same pairs of texts. The pairs must be drawn
    alike and their number fixed beforehand; with `confidence_sequence` as the interval it need not be.
    """
    true_positives, trials = check_counts("true_positives", true_positives, trials)
    false_positives, _ = check_counts("false_positives", false_positives, trials)
    alpha, delta = check_alpha(alpha), check_delta(delta)
    hit_low, hit_high = interval(true_positives, trials, alpha)
    alarm_low, alarm_high = interval(false_positives, trials, alpha)
    best_hit_low, _ = interval(trials, trials, alpha)
    _, best_alarm_high = interval(0, trials, alpha)
    correct = true_positives + trials - false_positives
    return Bound(
        lower=epsilon_from_rates(hit_low, alarm_high, delta),
        point=epsilon_from_rates(true_positives / trials, false_positives / trials, delta),
        upper=epsilon_from_rates(hit_high, alarm_low, delta),
        ceiling=epsilon_from_rates(best_hit_low, best_alarm_high, delta),
        error=alpha,
        success=correct / (2 * trials),
        success_low=(hit_low + 1 - alarm_high) / 2,
        success_high=(hit_high + 1 - alarm_low) / 2,
        trials=trials,
        guesses=2 * trials,
        correct=correct,
        candidates=2,
        delta=delta,
        method="baseline",
        any_time=interval is confidence_sequence,
    )


def epsilon_from_rates(true_positive: float, false_positive: float, delta: float = 0.0) -> float:
    """Return max(0, ln((TPR - delta) / FPR)): 0 if TPR <= delta, otherwise infinite at FPR = 0."""
    if true_positive <= delta:
        return 0.0
    if false_positive == 0:
        return math.inf
    return max(0.0, math.log((true_positive - delta) / false_positive))


class Baseline:
    """Both candidates are rewritten, each in a row of its own; in the first row v1 is the secret.

    A row is right if v1 is named on M(v1), and v2 on M(v2); anything else on M(v2), no answer
    included, is a false positive.
    """

    name = "baseline"
    title = "baseline"
    rows_per_trial = 2
    may_abstain = False  # the two rows of a trial depend on each other

    def refuse(self, candidates: int | None) -> str:
        """Refuse any number of candidates but two."""
        if candidates == 2:
            return ""
        number = "all" if candidates is None else candidates
        return f"k is {number}, but the baseline estimator is defined for k = 2; use 'reduced' for other k"

    def count(self, plan: Plan, choices: Choices, candidates: int) -> Counts:
        """Count true positives and true negatives."""
        return count_right(plan, choices, candidates, self.rows_per_trial)

    def bound(self, counts: Counts, alpha: float, delta: float, *, any_time: bool = False) -> Bound:
        """Return the bound from the rates of true and of false positives."""
        true_positives, true_negatives = counts.right
        interval = confidence_sequence if any_time else clopper_pearson
        return baseline(true_positives, counts.trials - true_negatives, counts.trials, alpha, delta, interval)

    def p_value(self, counts: Counts, epsilon: float, delta: float, *, any_time: bool = False) -> float:
        """Return the smallest error at which the bound is not below epsilon.

        At that error TPR_low - delta is e^epsilon FPR_high, and both rates have the same tail: half of it.
        The tail of the first rises with TPR_low and that of the second falls: bisection finds the rate.
        """
        hits, rejections = counts.right
        tail = any_time_p if any_time else binomial_tail

        def tails(rate: float) -> tuple[float, float]:
            alarms = (rate - delta) * math.exp(-epsilon)
            return tail(hits, counts.trials, rate), tail(rejections, counts.trials, 1 - alarms)

        low, high = delta, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            hit_tail, alarm_tail = tails(middle)
            low, high = (middle, high) if hit_tail < alarm_tail else (low, middle)
        return min(1.0, 2 * max(tails(high)))

    def detectable(
        self,
        counts: Counts,  # noqa: ARG002
        epsilon: float,  # noqa: ARG002
        delta: float,  # noqa: ARG002
        error: float,  # noqa: ARG002
        *,
        any_time: bool = False,  # noqa: ARG002
    ) -> float | None:
        """Return nothing: it depends on how the two rewrites of a trial go together."""
        return None

    def alpha_for(self, error: float) -> float:
        """Return the error itself: two ends can fail, each with half of alpha."""
        return error


ESTIMATOR: Estimator = Baseline()
