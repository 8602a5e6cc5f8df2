"""Worst pairs: the pairs of texts that a run told apart most surely, judged on fresh trials.

A claim is for any two texts, and a success rate is an average over pairs. So the pairs with the most evidence
are picked, for each mechanism and epsilon under its strongest attack, and each is tried again by itself. All
picked pairs share the error of one look.
"""

from collections.abc import Sequence

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.estimators import find_estimator
from tedaudit.estimators.multiplicity import look_error
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.worst_pairs import WorstPair, WorstPairs, judge_pairs
from tedaudit.studies.fresh import Study, choose_targets, read_pilot


def find_worst_pairs(result: AuditResult, study: Study, count: int, trials: int) -> WorstPairs:
    """Pick the pairs with the most evidence in a run, and judge each on fresh trials."""
    if count < 1 or trials < 1:
        raise SpecError(
            f"{count} pairs with {trials} trials each were asked for; both numbers must be 1 or more."
        )
    targets = choose_targets(result, study.attacks)
    if not targets:
        return WorstPairs((), result.alpha / 2, _explain_left_out(result, targets))
    for finding, pairs in [(finding, pick_pairs(result, finding, count)) for finding in targets]:
        study.run(finding, pairs, trials * len(pairs))
    look = study.note(result.run)
    delta = None if targets[0].row is None else targets[0].row.delta
    texts = result.run.corpus().texts
    found = [
        WorstPair(tried, (texts[tried.positions[0]], texts[tried.positions[1]]))
        for tried in judge_pairs(result.run, study.name, look, result.alpha, delta)
    ]
    found.sort(key=lambda pair: (-pair.bound.lower, -pair.bound.success))
    error = look_error(result.alpha / 2, look.number)
    return WorstPairs(tuple(found), error, _explain_left_out(result, targets))


def pick_pairs(result: AuditResult, finding: Finding, count: int) -> list[tuple[int, int]]:
    """Return the pairs of texts with the most evidence under a finding's attack, each once."""
    pilot = read_pilot(result, finding)
    picked: dict[tuple[int, int], None] = {}
    for row in np.argsort(-pilot.evidence, kind="stable").tolist():
        low, high = sorted((int(pilot.source[row]), int(pilot.other[row])))
        if low < high:  # two authors may share the text
            picked.setdefault((low, high))
        if len(picked) == count:
            break
    return list(picked)


def _explain_left_out(result: AuditResult, targets: Sequence[Finding]) -> tuple[str, ...]:
    """Return which mechanisms have no fresh trials."""
    known = {finding.label for finding in targets}
    labels = dict.fromkeys(finding.label for finding in result if finding.label not in known)
    plans = result.run.manifest()["plans"].values()
    if any(finding.known_texts == "other" for finding in result):
        reason = "its trials are about authors of whom other texts are known, and not about two texts"
    elif not labels or all(find_estimator(plan["estimator"]).rows_per_trial == 1 for plan in plans):
        reason = "it has only one rewrite of each text, and fresh trials need new ones"
    else:
        reason = "it has no plan with one rewrite per trial, which is what can be tried again"
    return tuple(f"{label}: {reason}" for label in labels)
