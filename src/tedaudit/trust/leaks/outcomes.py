"""What the battery returns: one outcome per test, findings with a name, and all of it as data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tedaudit.nominal import Nominal
from tedaudit.trust.leaks.signs import Signs


@dataclass(frozen=True, slots=True)
class Example:
    """Two texts and what became of them."""

    texts: tuple[str, str]
    outputs: tuple[str, str]

    def to_dict(self) -> dict[str, list[str]]:
        """Return it as JSON holds it."""
        return {"texts": list(self.texts), "outputs": list(self.outputs)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test: what was looked at, how often the outputs followed their sources, and an example.

    `name` identifies the test, `culprit` says what would be wrong in plain words, and `counted` what a pair
    is that follows its source. `clue` is what tells most, if the test learnt that: a kind of trait and its
    value.
    """

    part: str
    name: str
    culprit: str
    counted: str
    epsilon: Nominal
    signs: Signs
    rate: float = 0.5
    example: Example | None = None
    clue: tuple[str, str] = ("", "")
    figures: Mapping[str, float] = field(default_factory=dict)
    adjusted: float = 1.0
    is_in_reach: bool = True
    fix: str = ""

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return it as JSON holds it; `redact` leaves out texts and pieces of them."""
        low, high = self.signs.interval
        clue = {"kind": self.clue[0], "value": None if redact else self.clue[1]} if self.clue[0] else None
        return {
            "part": self.part, "name": self.name, "culprit": self.culprit, "counted": self.counted,
            "epsilon": self.epsilon.json, "pairs": self.signs.pairs, "followed": self.signs.followed,
            "against": self.signs.against, "same": self.signs.same, "strength": self.signs.share,
            "interval": [low, high], "clearest": self.signs.clearest, "clearest_right": self.signs.right,
            "allowed_rate": self.rate, "p_value": self.signs.p_value, "adjusted_p": self.adjusted,
            "in_reach": self.is_in_reach, "figures": dict(self.figures), "clue": clue, "fix": self.fix,
            "example": None if redact or self.example is None else self.example.to_dict(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class NotRun:
    """A part of the battery that could not be run, and why."""

    part: str
    reason: str


@dataclass(frozen=True)
class LeakReport:
    """All tests of one battery. `findings` are those that are no chance, at the error of all together."""

    mechanism: str
    epsilons: tuple[Nominal, ...]
    claims: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    not_run: tuple[NotRun, ...]
    error: float
    calls: int
    failed: int
    texts: int

    @property
    def findings(self) -> tuple[Outcome, ...]:
        """The leaks that were found, the most certain first; one for each thing, by its plainest test."""
        found = [o for o in self.outcomes if o.is_in_reach and o.adjusted <= self.error]
        plain = {(o.part, o.name, o.epsilon) for o in found if not o.clue[0]}
        kept = [o for o in found if not o.clue[0] or (o.part, o.name, o.epsilon) not in plain]
        return tuple(sorted(kept, key=lambda o: (o.epsilon, o.adjusted, -o.signs.share)))

    @property
    def names(self) -> frozenset[str]:
        """The names of the things that leak."""
        return frozenset(finding.name for finding in self.findings)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return it as JSON holds it; `redact` leaves out texts and pieces of them."""
        return {
            "mechanism": self.mechanism,
            "epsilons": [epsilon.json for epsilon in self.epsilons],
            "claims": list(self.claims),
            "error": self.error,
            "texts": self.texts,
            "calls": self.calls,
            "failed": self.failed,
            "findings": [finding.to_dict(redact=redact) for finding in self.findings],
            "tests": [outcome.to_dict(redact=True) for outcome in self.outcomes],
            "not_run": [{"part": part.part, "reason": part.reason} for part in self.not_run],
        }


def pick_example(
    margins: Sequence[float], texts: Sequence[tuple[str, str]], outputs: Sequence[tuple[str, str]]
) -> Example | None:
    """Return the shortest of the pairs that follow their sources most clearly; None if none does."""
    largest = max(margins, default=0.0)
    if largest <= 0:
        return None
    clear = [i for i, margin in enumerate(margins) if margin >= largest / 2 and not math.isnan(margin)]
    shortest = min(clear, key=lambda i: (sum(map(len, texts[i])), i))
    return Example(texts[shortest], outputs[shortest])
