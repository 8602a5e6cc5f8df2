"""The shape of what is published as data: summary.json, and exported rows, trials and losses.

These models make the JSON schemas that the package ships (`schemas.py`) and the columns of every frame
(`frames.py`), each with one line that says what it means. A field is added, removed or given another meaning
only together with a new number in the schema's name. An infinite number is null, and so is what is not known.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tedaudit.estimators.bound import Method
from tedaudit.types import Unit

VerdictName = Literal["violated", "no violation found", "not tested", "out of reach", "no claim"]
Epsilon = Annotated[float | None, Field(description="Nominal; null if the mechanism takes none.")]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]


def tell(text: str) -> Any:
    """Return a field that must be there, with what it means."""
    return Field(description=text)


class Document(BaseModel):
    """A JSON object of which every field is known and every field is there, unless it says otherwise."""

    model_config = ConfigDict(extra="forbid")


class Outputs(Document):
    """What was attacked: rewrites of one mechanism, at one epsilon, for one plan."""

    plan: str = tell("The plan.")
    mechanism: str = tell("The mechanism's label.")
    epsilon: Epsilon


class Setting(Outputs):
    """Who was audited, at which epsilon, by which attack."""

    plan: str = tell("Which candidates were drawn together, and how.")
    attack: str = tell("The attack's label.")


class BoundFigures(Document):
    """What an attack proved. Only `lower` and `ceiling` speak of the mechanism: no attack proves privacy."""

    lower: float = tell("eps_emp: the mechanism's epsilon is at least this, wrong with probability `error`.")
    point: float | None = tell("Epsilon at this attack's success; null if it was never wrong.")
    upper: float | None = tell("Epsilon at the upper end of this attack's success; null if infinite.")
    ceiling: float = tell("What `lower` would be had every guess been right.")
    error: float = tell("One-sided probability that `lower` is above the truth: a share of the run's.")
    success: Share = tell("Share of right guesses; balanced accuracy for the baseline.")
    success_low: Share = tell("Lower end of the success.")
    success_high: Share = tell("Upper end of the success.")
    trials: Count = tell("Trials behind the bound.")
    guesses: Count = tell("Guesses behind it: one per trial, two for the baseline.")
    correct: Count = tell("Right guesses.")
    candidates: int = Field(ge=2, description="Candidate texts of a trial.")
    delta: float = tell("The delta for which the bound holds.")
    method: Method = tell("The estimator.")
    any_time: bool = tell("Whether it holds at every look: the number of trials was not fixed beforehand.")
    leakage: float = tell("How many times better than blind guessing.")
    leakage_low: float = tell("Lower end of the leakage.")


class MeasureFigures(Document):
    """What is told beside a bound."""

    attainable: float | None = tell("The success that no attack can be expected to exceed on these trials.")
    cosine: float | None = tell("Mean cosine of rewrite and source.")
    copied: float | None = tell("Share of rewrites that are the source itself.")
    empty: float | None = tell("Share of rewrites without a text.")
    first: float | None = tell("Share of answers that name the candidate shown first.")
    own_rewrites: Count = tell("Rewrites that the attack made for itself.")
    strength: float | None = tell("Share of the attainable advantage over chance that the attack took.")
    saturated: bool = tell("Whether attack and optimum are both at the ceiling of these trials.")


class VerdictFigures(Document):
    """What was decided on the claim, and why."""

    verdict: VerdictName = tell("The decision; none of them says that a mechanism is private.")
    reason: str = tell("Why, in words.")
    p_value: float | None = tell("Of this test alone, at the claim.")
    adjusted_p: float | None = tell("For all tests and looks of the run.")
    trials_needed: int | None = tell("Trials of a new run that would reach the claim, if it is out of reach.")
    detectable_success: float | None = tell("Success that is told from the claim with probability 0.8.")


class CountFigures(Document):
    """How many trials were planned, and how many rows had no answer."""

    planned_trials: Count = tell("Trials of the plan.")
    unusable: Count = tell("Rows without a usable answer, failed rewrites left out.")
    failed: Count = tell("Failed rewrites.")


class OtherBounds(Document):
    """The bound of this row at other errors, for whoever asked for this row alone: not for the largest."""

    alone: float = tell("What `lower` would be at the run's whole error, for a row named beforehand.")
    teda_bound: float = tell("The bound of the TeDA paper: of all guesses, at alpha, per row.")


class ClaimFigures(Document):
    """What is promised: epsilon with its unit, delta and neighbours."""

    epsilon: float | None = tell("Epsilon of one unit.")
    unit: Unit = tell("What epsilon is charged for.")
    delta: float = tell("Delta of one unit.")
    max_units: int | None = tell("Units of a release; null if unbounded.")
    neighbours: str = tell("Between which texts it holds.")
    actual: float | None = tell("The epsilon that the noise really gives, if the mechanism knows it.")
    total: float | None = tell("Epsilon of a whole text; null if unbounded.")
    total_delta: float = tell("Delta of a whole text.")


class SurestFigures(Document):
    """The most certain guesses, from which `lower` comes."""

    size: Count = tell("How many they are.")
    right: Count = tell("Right ones among them.")


class GaussianFigures(Document):
    """What the success says under the assumption of Gaussian noise; in no verdict."""

    mu: float = tell("The least mu that the guesses allow.")
    epsilon: float = tell("Its epsilon at delta.")
    delta: float = tell("The delta.")
    error: float = tell("One-sided error.")
    assumption: str = tell("What is assumed.")


class Finding(OtherBounds, VerdictFigures, MeasureFigures, BoundFigures, CountFigures, Setting):
    """One bound with everything that belongs to it."""

    claim: ClaimFigures | None = tell("What is promised; null if nothing is.")
    surest: SurestFigures | None = tell("Null if all guesses together prove as much.")
    gaussian: GaussianFigures | None = tell("A reading under GDP; null unless there are two candidates.")


class Row(OtherBounds, VerdictFigures, MeasureFigures, BoundFigures, CountFigures, Setting):
    """A finding as one row of a table: what is nested in summary.json has a prefix."""

    surest_size: int | None = tell("The most certain guesses, if `lower` comes from them: how many they are.")
    surest_right: int | None = tell("Right ones among them.")
    gaussian_mu: float | None = tell("The least mu under GDP.")
    gaussian_epsilon: float | None = tell("Its epsilon.")
    gaussian_delta: float | None = tell("At this delta.")
    claim_epsilon: float | None = tell("What is promised for one unit; null if nothing is.")
    claim_unit: str | None = tell("What epsilon is charged for.")
    claim_delta: float | None = tell("Delta of one unit.")
    claim_max_units: int | None = tell("Units of a release; null if unbounded.")
    claim_neighbours: str | None = tell("Between which texts the claim holds.")
    claim_actual: float | None = tell("The epsilon that the noise really gives, if it is known.")
    claim_total: float | None = tell("Epsilon of a whole text; null if unbounded.")
    claim_total_delta: float | None = tell("Delta of a whole text.")


class Trial(Setting):
    """One guess: a trial has one row, or two if both candidates are rewritten (baseline)."""

    trial: Count = tell("Number of the trial in its plan, from 0.")
    row: Count = tell("Number of the row in its plan, from 0, as `replay` counts.")
    candidates: int = tell("Candidate texts.")
    secret: Count = tell("Which of the candidates was rewritten, from 0.")
    choice: int | None = tell("Which one was named; null without a usable answer.")
    rank: int | None = tell("Place of the secret by score, 1 for the best; null without a usable answer.")
    margin: float | None = tell("Score of the best candidate less that of the next; null without an answer.")
    right: bool = tell("Whether the secret was named.")
    usable: bool = tell("Whether there was a usable answer.")
    failed: bool = tell("Whether the rewrite failed.")
    counted: bool = tell("Whether the trial is behind the row's bound.")
    source: Count = tell("Position in the corpus of the text that was rewritten.")
    guess: int | None = tell("Position in the corpus of the text that was named.")


class TextTrial(Trial):
    """A trial with its texts: private."""

    source_text: str = tell("The text that was rewritten.")
    rewrite: str = tell("What was released; empty if the rewrite failed.")
    guess_text: str | None = tell("The text that was named.")


class LossAt(Outputs):
    """What an adversary that knows the mechanism learns: epsilon at one delta, and the losses behind it."""

    claim_epsilon: float | None = tell("What is promised for one unit; null if nothing is.")
    claim_unit: str | None = tell("What epsilon is charged for.")
    claim_total: float | None = tell("Epsilon of a whole text; null if unbounded, or nothing is claimed.")
    delta: float = tell("The delta of the next three figures.")
    point: float | None = tell("Least epsilon on average over the pairs; null if infinite or refuted.")
    lower: float | None = tell("Lower end; null if infinite or refuted.")
    upper: float | None = tell("Upper end; null if infinite or refuted.")
    error: float = tell("One-sided error of each end.")
    trials: Count = tell("Trials.")
    unknown: Count = tell("Trials without a likelihood, taken for infinite.")
    impossible: int | None = tell("Outputs that the other text cannot have had; null if refuted.")
    mean: float | None = tell("Mean loss; null if infinite or refuted.")
    median: float | None = tell("Median loss; null if infinite or refuted.")
    largest: float | None = tell("Largest loss that occurred; null if infinite or refuted.")
    most_possible: float | None = tell("Largest loss of any output at delta 0; null if infinite or unknown.")
    slack: float | None = tell("How many times larger the claim is than the worst pair's loss, at most.")
    slack_delta: float | None = tell("At which delta: the claim's own, or the next larger one known.")
    refuted: str | None = tell("What trials say of likelihoods that do not fit them; null if they fit.")
