"""One bound of an audit with everything that belongs to it."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from tedaudit.estimators import Bound, Counts
from tedaudit.estimators.abstaining import Part
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
    """The bound, with the error that all rows and looks of the run share: its lower end is eps_emp."""
    alone: float
    """What eps_emp would be at the error of the whole run: for a row that was named beforehand."""
    teda: Bound
    """The TeDA bound, as in the paper: of all guesses, at alpha, per row."""
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
    surest: Part | None = None
    """The most certain guesses, if eps_emp is what they prove and not what all guesses do."""
    likelihood: LikelihoodCheck | None = None
    """Whether the trials fit the likelihoods of what was attacked; None if there are none."""

    @property
    def eps_emp(self) -> float:
        """The lower end of the bound: the one number of a finding, wherever it is told."""
        return self.bound.lower

    @property
    def evidence(self) -> str:
        """Which guesses eps_emp comes from, in words: all of them, or the most certain ones."""
        bound, sure = self.bound, self.surest
        if sure is None:
            return f"{bound.correct:,} of {bound.guesses:,} guesses right"
        return f"{sure.right:,} of the {sure.size:,} most certain of {bound.guesses:,} guesses right"

    @property
    def leaks(self) -> bool:
        """Whether the attack did better than blind guessing, at the error that all rows share."""
        return not self.unfit and self.eps_emp > 0

    @property
    def order(self) -> tuple[float, float]:
        """What makes one finding stronger than another: eps_emp, then the success."""
        return self.eps_emp, self.bound.success

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
        return read_as_gaussian(self.bound.correct, self.bound.trials, 2, 2 * self.teda.error, delta)

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
            "surest": None if self.surest is None else asdict(self.surest),
            "gaussian": None if self.gaussian is None else asdict(self.gaussian),
            "alone": self.alone,
            "teda_bound": self.teda.lower,
            **self.verdict.to_dict(),
        }


def claim_figures(claim: Claim) -> dict[str, Any]:
    """Return a claim with its totals, safe for JSON; infinite numbers become None."""
    figures = asdict(claim) | {"total": claim.total, "total_delta": claim.total_delta}
    return {name: None if value == math.inf else value for name, value in figures.items()}
