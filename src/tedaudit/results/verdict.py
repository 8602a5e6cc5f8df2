"""Verdicts: what the bounds of an audit say of a claim.

This is the only place that decides on a claim or names a decision. Reports, command line and page
print what a verdict says; none of them compares its name.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from tedaudit.estimators import Bound
from tedaudit.types import Claim


class Decision(Enum):
    """What was decided on a claim; the value is its name in files."""

    VIOLATED = "violated"
    NOT_REFUTED = "not refuted"
    NO_CLAIM = "no claim"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with its reason."""

    decision: Decision
    reason: str = ""

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The decision in a word or two, as files and tables show it."""
        return self.decision.value

    @property
    def is_violation(self) -> bool:
        """Whether the claim is refuted."""
        return self.decision is Decision.VIOLATED

    @property
    def is_tested(self) -> bool:
        """Whether there was a claim to test."""
        return self.decision is not Decision.NO_CLAIM


@dataclass(frozen=True, slots=True)
class Family:
    """All tests of claims in one audit: they share its one-sided error, alpha / 2."""

    alpha: float
    tests: int

    @property
    def error(self) -> float:
        """The one-sided error that is left for each test (Bonferroni)."""
        return self.alpha / 2 / max(1, self.tests)


def judge_claim(claim: Claim | None, family: Family, bound_at: Callable[[float], Bound]) -> Verdict:
    """Return the verdict on a claim; `bound_at` gives the bound with a one-sided error."""
    if claim is None:
        return Verdict(Decision.NO_CLAIM, "the mechanism promises nothing")
    bound = bound_at(family.error)
    compared = f"the bound with error {bound.error:.2g} is {bound.lower:.4g}, the claim is {claim.total:g}"
    if bound.lower > claim.total:
        return Verdict(Decision.VIOLATED, compared)
    return Verdict(Decision.NOT_REFUTED, compared)


def any_named(verdicts: Iterable[Verdict], name: str) -> bool:
    """Return whether any verdict has this name, as a gate of the command line asks."""
    return any(verdict.name == name for verdict in verdicts)


def any_violation(verdicts: Iterable[Verdict]) -> bool:
    """Return whether any claim is refuted."""
    return any(verdict.is_violation for verdict in verdicts)


def headline(verdicts: Iterable[Verdict]) -> str:
    """Return in one sentence what was decided on all claims together."""
    given = list(verdicts)
    if any_violation(given):
        return "At least one privacy claim is violated."
    if any(verdict.is_tested for verdict in given):
        return "No privacy claim was refuted by these attacks."
    return "Nothing was claimed, so no claim was tested."
