"""In words, how TeDA bounds change with epsilon: a change counts only if paired trials tell it from none."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.paired import Scale, mcnemar, paired_counts, paired_epsilon_interval
from tedaudit.results.findings import AuditResult, Finding

Outcomes = npt.NDArray[np.bool_]
_ERROR = 0.01  # of all comparisons of a line together


def describe_trends(result: AuditResult) -> list[str]:
    """Return a line for every mechanism and attack of the first plan whose trials have one guess."""
    plan = next((f.plan for f in result if f.one_guess_per_trial), "")
    own = [f for f in result if f.plan == plan]
    notes = []
    for attack, label in dict.fromkeys((f.attack, f.label) for f in own):
        line = sorted((f for f in own if (f.attack, f.label) == (attack, label)), key=lambda f: f.epsilon)
        outcomes = [_read_outcomes(result, finding) for finding in line]
        span = f"{line[0].bound.lower:.2f} to {line[-1].bound.lower:.2f}"
        told = trend(outcomes, any_time=_is_any_time(line))
        notes.append(f"{label} under {attack}: {told}, {span}{_describe_change(line, outcomes)}")
    return notes


def trend(outcomes: Sequence[Outcomes], error: float = _ERROR, *, any_time: bool = False) -> str:
    """Return whether success rises, falls or stays flat from each of these to a later one.

    `outcomes` has, for each epsilon in order, which of the same trials were right. Any two are
    compared by McNemar's exact test, at an equal share of the error.
    """
    pairs = list(combinations(outcomes, 2))
    rises = falls = False
    for before, after in pairs:
        trials = min(len(before), len(after))
        counts = paired_counts(before[:trials], after[:trials])
        if mcnemar(counts, any_time=any_time) <= error / len(pairs):
            rises |= counts.second_only > counts.first_only
            falls |= counts.second_only < counts.first_only
    if rises and falls:
        return "rises and falls"
    return "rises" if rises else "falls" if falls else "flat within the error of these trials"


def _describe_change(line: Sequence[Finding], outcomes: Sequence[Outcomes]) -> str:
    """Return the interval of the difference of epsilons from the first to the last."""
    if len(line) < 2:
        return ""
    trials = min(len(outcomes[0]), len(outcomes[-1]))
    counts = paired_counts(outcomes[0][:trials], outcomes[-1][:trials])
    scales = tuple(Scale(f.bound.candidates, f.bound.delta) for f in (line[0], line[-1]))
    interval = confidence_sequence if _is_any_time(line) else clopper_pearson
    low, high = paired_epsilon_interval(counts, (scales[0], scales[1]), _ERROR, interval)
    return f"; the attack's epsilon changed by {low:.2f} to {high:.2f} (99 %, paired)"


def _is_any_time(line: Sequence[Finding]) -> bool:
    """Return whether a number of trials was not fixed beforehand."""
    return any(finding.bound.any_time for finding in line)


def _read_outcomes(result: AuditResult, finding: Finding) -> Outcomes:
    choice = result.guesses(finding).choices().choice
    secret = result.run.read_plan(finding.plan).secret[: len(choice)]
    return np.asarray(choice == secret, dtype=np.bool_)
