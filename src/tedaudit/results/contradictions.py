"""Successes that a mechanism's own likelihoods cannot explain: these are then wrong, and reports say so.

A likelihood attack is as often right as its own probabilities promise, and no attack is more often right:
that is what `attainable` means. Right likelihoods are called wrong in at most one of 1,000 runs, since all
that is looked at shares this error. Above a loss of about 10 guesses are all but always right, so that no
sample can check the scale of a likelihood there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tedaudit.estimators.likelihood_check import success_tails
from tedaudit.results.finding import Finding

ERROR = 0.001  # the probability with which right likelihoods are called wrong in a run
_LEAST = 1e-12  # smaller probabilities are not told apart
_LIKELIHOOD = "log-likelihood"


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Right guesses beside the success that likelihoods promise, and how probable so few or so many are."""

    finding: Finding
    trials: int
    promised: float
    below: float
    above: float

    @property
    def is_too_low(self) -> bool:
        """Whether a likelihood attack was right too seldom, rather than any attack too often."""
        return self.finding.score == _LIKELIHOOD and self.below < self.above

    @property
    def p(self) -> float:
        """How probable that is by chance, at most."""
        return self.below if self.is_too_low else self.above

    def __str__(self) -> str:
        finding, right = self.finding, self.finding.bound.correct
        epsilon = f" at {finding.epsilon.phrase}" if finding.epsilon.is_given else ""
        return (
            f"the likelihoods of {finding.label}{epsilon} are not those of what it releases: "
            f"{finding.attack} was right in {right:,} of {self.trials:,} trials ({right / self.trials:.3f}) "
            f"of {finding.plan}, and they {'promise' if self.is_too_low else 'allow no more than'} "
            f"{self.promised:.3f}; by chance that has a probability of {max(self.p, _LEAST):.1g} at most. "
            "Do not believe `attainable` there"
        )


def note_contradictions(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what the likelihoods of a run cannot explain."""
    trials = {f.plan: max(g.planned for g in findings if g.plan == f.plan) for f in findings}
    whole = [f for f in findings if f.complete and f.planned == trials[f.plan]]  # not on fresh trials alone
    settings = [finding.setting for finding in whole if finding.score == _LIKELIHOOD]
    compared = [
        comparison
        for finding in whole
        if settings.count(finding.setting) == 1 and (comparison := _compare(finding)) is not None
    ]
    for comparison in compared:
        if comparison.p <= ERROR / (2 * len(compared)):  # either end of each
            yield str(comparison)


def _compare(finding: Finding) -> _Comparison | None:
    """Return the comparison; None if there are no likelihoods, no answers or several guesses per trial.

    A trial in which a likelihood attack had no answer counts as 1 in what is attainable, and is left out.
    """
    attainable, counts = finding.measures.attainable, finding.counts
    answered = counts.guesses if counts.answered is None else sum(counts.answered)
    if attainable is None or not 0 <= attainable <= 1 or not finding.one_guess_per_trial or not answered:
        return None
    silent = counts.guesses - answered if finding.score == _LIKELIHOOD else 0
    trials = counts.guesses - silent
    promised = min(1.0, max(0.0, (attainable * counts.guesses - silent) / trials))
    tails = success_tails(promised, trials, finding.bound.correct)
    return _Comparison(finding, trials, promised, *tails)
