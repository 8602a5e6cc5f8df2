"""Write which claims broke in a run, found by what and in how many trials, as a Markdown table.

    tedaudit run docs/results/claims.yaml
    python benchmarks/claims.py runs/claims

A claim per word without a maximum promises nothing for any two texts; for those of the corpus, of which the
longest has n words, it is taken for n times epsilon. "Enough" is the smallest number of trials, in steps of
five from the first one, in which the attack that decided would have refuted the claim by itself, with the
error that each test of the run has.
"""

import argparse
from dataclasses import replace
from pathlib import Path

from tedaudit.api import load_run
from tedaudit.estimators.reduced import ESTIMATOR
from tedaudit.models.triples.treebank import split_words
from tedaudit.plugins.values import Claim
from tedaudit.results.family import Family
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.row import Row
from tedaudit.results.verdict import strongest

_STEP = 5


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    result = load_run(parser.parse_args().run)
    longest = max(len(split_words(text)) for text in result.run.corpus().texts)
    print(f"Longest text: {longest} words. Look: {result.family.look}.\n")
    findings = list(result)
    rows = [_bound_units(finding.row, longest) for finding in findings]
    verdicts = Family(result.alpha, tuple(rows), result.family.look).judge()
    share = result.family.error / len(rows)
    print("| mechanism | epsilon | claim in all | verdict | by | right / trials | eps_emp | enough |")
    print("|---|---:|---:|---|---|---:|---:|---:|")
    for label, epsilon in dict.fromkeys((finding.label, finding.epsilon) for finding in findings):
        own = [i for i, f in enumerate(findings) if (f.label, f.epsilon) == (label, epsilon)]
        decided = strongest(verdicts[i] for i in own)
        i = next(i for i in own if verdicts[i] is decided)
        if not decided.is_violation:
            i = max(own, key=lambda i: findings[i].order)
        finding, row = findings[i], rows[i]
        enough = _count_enough(result, finding, row, share) if decided.is_violation else ""
        print(
            f"| {label} | {epsilon.label} | {row.claim.total:.3g} | {decided.name} | {finding.attack} | "
            f"{finding.bound.correct} / {finding.bound.trials} | {finding.eps_emp:.2f} | {enough} |"
        )


def _bound_units(row: Row, longest: int) -> Row:
    claim: Claim = row.claim
    return row if claim.max_units is not None else replace(row, claim=replace(claim, max_units=longest))


def _count_enough(result: AuditResult, finding: Finding, row: Row, share: float) -> str:
    """Return the smallest number of first trials that refute the claim by themselves."""
    plan, choices = result.run.read_plan(finding.plan), result.guesses(finding).choices()
    for trials in range(_STEP, len(choices) + 1, _STEP):
        rows = range(trials)
        counts = ESTIMATOR.count(plan.pick(rows), choices.pick(rows), 2)
        if replace(row, counts=counts, parts=None).p_value() <= share:
            return f"{trials}"
    return "its most certain guesses, of all"


if __name__ == "__main__":
    main()
