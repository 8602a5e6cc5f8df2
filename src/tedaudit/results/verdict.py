"""Verdicts: what the tests of an audit say of a claim, or of a limit that somebody set.

This is the only place that names a decision. Reports, command line and page print what a verdict says;
none of them compares its name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from tedaudit.text.plain_data import PlainData


class Decision(Enum):
    """What was decided on a claim; the value is its name in files. The first that any test has counts."""

    VIOLATED = "violated"
    NO_VIOLATION = "no violation found"
    NOT_TESTED = "not tested"
    OUT_OF_REACH = "out of reach"
    NO_CLAIM = "no claim"

    @property
    def flag(self) -> str:
        """The name as an option of the command line spells it."""
        return self.value.replace(" ", "-")


GATES = (Decision.VIOLATED, Decision.NOT_TESTED, Decision.OUT_OF_REACH)
"""The decisions on which a command may be told to fail."""
_ORDER = tuple(Decision)


@dataclass(frozen=True, slots=True)
class Verdict(PlainData):
    """A decision with its reason, and the figures behind it as far as there are any."""

    decision: Decision
    """What was decided."""
    reason: str = ""
    """Why, in words."""
    p_value: float | None = None
    """Of this test alone, at the claim."""
    adjusted_p: float | None = None
    """For all tests and looks of the run: to be compared with its error."""
    trials_needed: int | None = None
    """In a new run, if the claim is out of reach and any number is enough."""
    detectable: float | None = None
    """The success rate that is told from the claim with probability 0.8."""
    in_json: ClassVar[str] = (
        "decision as verdict, reason, p_value, adjusted_p, trials_needed, detectable as detectable_success"
    )

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """The decision in a word or two, as files and tables show it."""
        return self.decision.value

    @property
    def flag(self) -> str:
        """The name as an option of the command line spells it."""
        return self.name.replace(" ", "-")

    @property
    def breaks(self) -> str:
        """What is said of outputs that exceed what they are held to."""
        return "breaks"

    @property
    def is_violation(self) -> bool:
        """Whether the claim is refuted, or the bound above the limit."""
        return self.decision is Decision.VIOLATED

    @property
    def has_claim(self) -> bool:
        """Whether there was a claim to test."""
        return self.decision is not Decision.NO_CLAIM


@dataclass(frozen=True, slots=True)
class LimitVerdict(Verdict):
    """A decision on a limit: nobody promised it, so that nothing is violated if a bound is above it."""

    @property
    def name(self) -> str:
        """The decision as files and screens show it."""
        return _OF_LIMITS.get(self.decision, self.decision.value)

    @property
    def breaks(self) -> str:
        """What is said of outputs that exceed it."""
        return "is above"


_OF_LIMITS = {
    Decision.VIOLATED: "above the limit",
    Decision.NO_VIOLATION: "not found above the limit",
}
NO_CLAIM = Verdict(Decision.NO_CLAIM)


def refute_for_sure(reason: str) -> Verdict:
    """Return the verdict on a claim that one output refutes: no sampling error is in it."""
    return Verdict(Decision.VIOLATED, reason, p_value=0.0, adjusted_p=0.0)


def strongest(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict that counts for a claim: the first in the order of decisions, of the smallest p."""
    return min(verdicts, key=lambda v: (_ORDER.index(v.decision), 1.0 if v.p_value is None else v.p_value))


def any_named(verdicts: Iterable[Verdict], flags: Iterable[str]) -> bool:
    """Return whether any verdict is one of those that a gate of the command line names."""
    wanted = set(flags)
    return any(verdict.flag in wanted for verdict in verdicts)


def any_violation(verdicts: Iterable[Verdict]) -> bool:
    """Return whether any claim is refuted."""
    return any(verdict.is_violation for verdict in verdicts)


def count_decisions(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Return how many verdicts have each decision, in order, those that none has left out."""
    given = [verdict.decision for verdict in verdicts]
    return {decision.value: given.count(decision) for decision in Decision if decision in given}


def explain_decision(decision: Decision) -> str:
    """Return what a decision says and does not say, in a sentence."""
    return _EXPLAINED[decision]


_EXPLAINED = {
    Decision.VIOLATED: (
        "Violated: a guess was right more often than the claim allows, beyond chance, or an output has a "
        "larger loss than it allows, for sure."
    ),
    Decision.NO_VIOLATION: (
        "No violation found: these attacks were not right more often than the claim allows; another attack "
        "may be."
    ),
    Decision.NOT_TESTED: (
        "Not tested: too many rewrites failed, too few answers could be used, or the guesses that are there "
        "are not those that were judged."
    ),
    Decision.OUT_OF_REACH: (
        "Out of reach: the claim is so large that no number of right guesses in these trials could have "
        "refuted it."
    ),
    Decision.NO_CLAIM: "No claim: nothing is promised for a whole text.",
}
