"""Successes that a mechanism's own likelihoods cannot explain: these are then wrong, and reports say so.

A likelihood attack is as often right as its own probabilities promise: that is checked guess by guess
(`estimators.likelihood_check`), and again on fresh trials if it fails. And no attack is more often right than
is `attainable`. Right likelihoods are called wrong so in at most one of 1,000 runs, since all attacks that
are looked at share this error. Above a loss of about 10 guesses are all but always right, so that no sample
can check the scale of a likelihood there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tedaudit.estimators.likelihood_check import LIKELIHOOD, success_tails
from tedaudit.results.finding import Finding

ERROR = 0.001  # the probability with which right likelihoods are called wrong in a run
_LEAST = 1e-12  # smaller probabilities are not told apart


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Right guesses beside the success that likelihoods allow, and how probable so many are, at most."""

    finding: Finding
    allowed: float
    p: float

    def __str__(self) -> str:
        finding, right, trials = self.finding, self.finding.bound.correct, self.finding.counts.guesses
        return (
            f"the likelihoods of {_name(finding)} are not those of what it releases: "
            f"{finding.attack} was right in {right:,} of {trials:,} trials ({right / trials:.3f}) "
            f"of {finding.plan}, and they allow no more than {self.allowed:.3f}; by chance that has a "
            f"probability of {max(self.p, _LEAST):.1g} at most. Do not believe `attainable` there"
        )


def note_contradictions(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what the likelihoods of a run cannot explain."""
    yield from _note_checks(findings)
    trials = {f.plan: max(g.planned for g in findings if g.plan == f.plan) for f in findings}
    whole = [f for f in findings if f.complete and f.planned == trials[f.plan]]  # not on fresh trials alone
    settings = [finding.setting for finding in whole if finding.score == LIKELIHOOD]
    compared = [
        comparison
        for finding in whole
        if settings.count(finding.setting) == 1 and (comparison := _compare(finding)) is not None
    ]
    for comparison in compared:
        if comparison.p <= ERROR / len(compared):
            yield str(comparison)


def _note_checks(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield which likelihoods the trials of their own attack refute, or failed without a repeat."""
    for finding in findings:
        if finding.score != LIKELIHOOD or finding.likelihood is None:
            continue
        if finding.likelihood.is_refuted:
            yield (
                f"the likelihoods of {_name(finding)} are not those of what it releases: "
                f"{finding.likelihood}. Nothing that follows from them is told of {finding.plan}, and no "
                "violation is certain by them; what attacks found stands"
            )
        elif finding.likelihood.is_doubtful:
            yield (
                f"the likelihoods of {_name(finding)} do not fit the trials of {finding.plan}: "
                f"{finding.likelihood}. Right ones fail once in 1,000; no violation is certain by them. The "
                "same `tedaudit run` again repeats the check on fresh trials"
            )


def _name(finding: Finding) -> str:
    return f"{finding.label} at {finding.epsilon.phrase}" if finding.epsilon.is_given else finding.label


def _compare(finding: Finding) -> _Comparison | None:
    """Return the comparison of an attack that knows no likelihoods; None if there is none to be made."""
    attainable, counts = finding.measures.attainable, finding.counts
    answered = counts.guesses if counts.answered is None else sum(counts.answered)
    if finding.score == LIKELIHOOD or attainable is None or not 0 <= attainable <= 1:
        return None
    if not finding.one_guess_per_trial or not answered:
        return None
    _, above = success_tails(attainable, counts.guesses, finding.bound.correct)
    return _Comparison(finding, attainable, above)
