"""The baseline estimator of Arcolezi and Gambs 2024: true and false positives, two rewrites per trial."""

import math

from tedaudit.estimators.bound import Bound, Interval, checked_alpha, checked_counts, checked_delta
from tedaudit.estimators.intervals import clopper_pearson


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
    true_positives, trials = checked_counts("true_positives", true_positives, trials)
    false_positives, _ = checked_counts("false_positives", false_positives, trials)
    alpha, delta = checked_alpha(alpha), checked_delta(delta)
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
    )


def epsilon_from_rates(true_positive: float, false_positive: float, delta: float = 0.0) -> float:
    """Return max(0, ln((TPR - delta) / FPR)): 0 where TPR <= delta, else infinite at FPR = 0."""
    if true_positive <= delta:
        return 0.0
    if false_positive == 0:
        return math.inf
    return max(0.0, math.log((true_positive - delta) / false_positive))
