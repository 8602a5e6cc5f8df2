"""How loose a claim can be, at most: the claim beside what the worst pair of texts loses at the same delta.

A claim (C, d) is for any two texts, so it is held against a lower bound D on the worst pair, at d itself: the
slack is at most C / D. An average over pairs at another delta says nothing of it: randomised response whose
claim is exact loses its whole claim, and on average at delta .05 far less.

- d = 0: D is the largest supremum of a pair, or, if suprema are not known, the largest loss of an output that
  was computed twice.
- Gaussian noise: eps(d) of the pair whose means lie farthest apart.
- Otherwise the lower end of the average over pairs at the smallest delta from d on that the trials can show.
  No pair can be better than all: the worst one loses at least the average.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from tedaudit.estimators.loss import DELTAS, LossSample, Supremum, can_show
from tedaudit.text.plain_data import PlainData, Unbounded

Source = Literal["supremum", "confirmed loss", "average"]
_NOISE = 0.02  # of the last digit shown: as much may come from rounding losses


@dataclass(frozen=True, slots=True)
class Slack(PlainData):
    """A claim beside what some pair loses for sure, at a delta that is the claim's or a larger one."""

    claim: float
    """The claim for a whole text."""
    lost: Unbounded
    """What the worst pair loses at the least."""
    delta: float
    """The claim's own delta, or the smallest larger one that the trials show."""
    source: Source
    """The most that a drawn pair can lose, a loss computed twice, or the lower end of the average."""
    in_json: ClassVar[str] = "at_most, lost, delta, source"

    @property
    def at_most(self) -> float | None:
        """How many times the claim is larger than what is lost, at most; None if nothing is known to be."""
        return None if self.lost == 0 else self.claim / self.lost

    def __str__(self) -> str:
        """Return it in few digits, rounded up: it is a limit."""
        limit = self.at_most
        if limit is None:
            return "not known"
        if math.isinf(self.lost):
            return "none: the loss is infinite"
        digits = 0 if limit >= 100 else 1
        shown = f"at most {math.ceil(limit * 10**digits - _NOISE) / 10**digits:,.{digits}f}x"
        return f"{shown} (delta {self.delta:g})" if self.source == "average" else shown


def find_slack(
    claim: float, delta: float, sample: LossSample, supremum: Supremum | None, confirmed: float | None = None
) -> Slack | None:
    """Return the slack of a claim for a whole text; None if it promises nothing finite.

    `confirmed` is the largest loss of an output that was computed twice, less what the two may be wrong by.
    """
    if not math.isfinite(claim):
        return None
    if delta == 0 and supremum is not None:
        return Slack(claim=claim, lost=supremum.largest, delta=delta, source="supremum")
    if delta > 0 and supremum is not None and supremum.is_gaussian:
        return Slack(claim=claim, lost=supremum.epsilon(delta), delta=delta, source="supremum")
    if delta == 0 and confirmed is not None:
        return Slack(claim=claim, lost=confirmed, delta=delta, source="confirmed loss")
    shown = [d for d in sorted({delta, *DELTAS}) if d >= delta and d > 0]
    smallest = next((d for d in shown if can_show(sample.trials, d, sample.error)), shown[-1])
    return Slack(claim=claim, lost=sample.epsilon_lower(smallest), delta=smallest, source="average")
