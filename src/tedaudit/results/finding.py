"""One bound of an audit with everything that belongs to it."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from tedaudit.estimators import Bound, Counts
from tedaudit.estimators.abstaining import AbstainingBound
from tedaudit.estimators.gdp import GaussianReading, read_as_gaussian
from tedaudit.estimators.likelihood_check import LikelihoodCheck
from tedaudit.nominal import Nominal
from tedaudit.results.measures import Measures
from tedaudit.results.row import Row
from tedaudit.results.verdict import Verdict
from tedaudit.types import Claim

_DELTA = 1e-5  # of a reading under GDP, if the bound has none


@dataclass(frozen=True, slots=True)
class Finding:
    """One bound with everything that belongs to it."""

    plan: str
    """Name of the plan: how candidates were drawn."""
    label: str
    """The mechanism, as the run calls it."""
    epsilon: Nominal
    """The nominal epsilon that it was asked for."""
    claim: Claim | None
    """What it promises there; None if nothing."""
    attack: str
    """The attack, as the run calls it."""
    counts: Counts
    """Right, unusable and failed guesses."""
    planned: int
    """How many trials the run is to have."""
    bound: Bound
    """The bound, with the error of this row alone."""
    joint: Bound
    """The bound with the error that makes the largest of all rows hold."""
    verdict: Verdict
    """What was decided on the claim by this row."""
    score: str = ""
    """What the attack's scores are, as its card says."""
    plan_base: str = ""
    """The plan as it is called for mechanisms of any kind."""
    measures: Measures = field(default_factory=Measures)
    """What else was measured: cosine, copies, attainable success."""
    unfit: str = ""
    """Why nothing may be concluded from its guesses; empty if it may."""
    row: Row | None = field(default=None, repr=False)
    """The counts as its test sees them, to judge it again."""
    confident: AbstainingBound | None = None
    """The bound of its most certain guesses alone, with half of the row's own error."""
    likelihood: LikelihoodCheck | None = None
    """Whether the trials fit the likelihoods of what was attacked; None if there are none."""

    @property
    def leaks(self) -> bool:
        """Whether the attack did better than blind guessing, at the error that all rows share."""
        return not self.unfit and self.joint.lower > 0

    @property
    def order(self) -> tuple[float, float]:
        """What makes one finding stronger than another: the bound that all rows share, then the success."""
        return self.joint.lower, self.bound.success

    @property
    def is_sure(self) -> bool:
        """Whether the most certain guesses prove more than all of them together."""
        return self.confident is not None and self.confident.lower > self.bound.lower

    @property
    def refuted(self) -> str:
        """What stands in the place of all that follows from refuted likelihoods; nothing for others."""
        return str(self.likelihood) if self.likelihood is not None and self.likelihood.is_refuted else ""

    @property
    def strength(self) -> float | None:
        """Which share of the attainable advantage over chance the attack took; None if unknown."""
        return self.measures.strength(self.bound.success, self.bound.candidates)

    @property
    def saturated(self) -> bool:
        """Whether the attack and the strongest there is are both at the ceiling of these trials."""
        return self.measures.saturated(self.bound.success)

    @property
    def gaussian(self) -> GaussianReading | None:
        """What the success says if the mechanism is Gaussian, at the claim's delta; None unless k is 2."""
        if self.bound.candidates != 2 or self.bound.any_time or not self.one_guess_per_trial:
            return None
        delta = self.bound.delta or _DELTA
        return read_as_gaussian(self.bound.correct, self.bound.trials, 2, 2 * self.bound.error, delta)

    @property
    def complete(self) -> bool:
        """Whether all planned trials are in."""
        return self.counts.trials >= self.planned

    @property
    def one_guess_per_trial(self) -> bool:
        """Whether a trial as a whole is right or wrong."""
        return self.bound.guesses == self.bound.trials

    @property
    def setting(self) -> tuple[str, str, Nominal]:
        """The outputs that were attacked: plan, mechanism and epsilon."""
        return self.plan, self.label, self.epsilon

    def to_dict(self) -> dict[str, Any]:
        """Return the finding safe for JSON; infinite numbers become None."""
        return {
            "plan": self.plan,
            "mechanism": self.label,
            "epsilon": self.epsilon.json,
            "claim": None if self.claim is None else claim_figures(self.claim),
            "attack": self.attack,
            "planned_trials": self.planned,
            "unusable": self.counts.unusable,
            "failed": self.counts.failed,
            **self.bound.to_dict(),
            **asdict(self.measures),
            "strength": self.strength,
            "saturated": self.saturated,
            "confident": None if self.confident is None else asdict(self.confident),
            "gaussian": None if self.gaussian is None else asdict(self.gaussian),
            "joint_lower": self.joint.lower,
            "joint_ceiling": self.joint.ceiling,
            **self.verdict.to_dict(),
        }


def claim_figures(claim: Claim) -> dict[str, Any]:
    """Return a claim with its totals, safe for JSON; infinite numbers become None."""
    figures = asdict(claim) | {"total": claim.total, "total_delta": claim.total_delta}
    return {name: None if value == math.inf else value for name, value in figures.items()}
