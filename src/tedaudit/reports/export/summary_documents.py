"""The shape of summary.json and of whole exported files: what holds the rows."""

from typing import Literal

from pydantic import Field

from tedaudit.reports.export.documents import (
    BoundFigures,
    ClaimFigures,
    Count,
    Document,
    Epsilon,
    Finding,
    LossAt,
    Outputs,
    Row,
    TextTrial,
    Trial,
    VerdictFigures,
    tell,
)


class CertainLoss(Outputs):
    """An output whose loss is above the claim for sure, computed twice."""

    plan: str = tell("The plan; empty in a redacted summary.")
    attack: str = tell("The attack that knows the mechanism.")
    row: Count = tell("Row of the plan.")
    positions: list[int] = Field(min_length=2, max_length=2, description="Of source and other text.")
    claim: float = tell("What the claim allows.")
    loss: float | None = tell("As the run computed it; null if infinite.")
    again: float | None = tell("In float64; null if infinite.")
    forbidden: bool = tell("Whether a rule of the mechanism makes the output impossible for the other text.")


class Witness(Document):
    """What decided a claim."""

    plan: str | None = tell("The plan of the finding that decided; null if a pair of texts did.")
    attack: str = tell("The attack.")
    pair: list[int] | None = tell("Positions of the two texts, if a pair that was tried again decided.")
    certain_loss: CertainLoss | None = tell("The loss that decided for sure, if one did.")


class Claim(VerdictFigures):
    """The verdict on one claim, by all its tests together."""

    mechanism: str = tell("The mechanism's label.")
    epsilon: Epsilon
    claim: ClaimFigures | None = tell("What is promised.")
    tests: Count = tell("Attacks and plans that tested it.")
    pairs: Count = tell("Pairs of texts that were tried again.")
    witness: Witness = tell("What decided.")


class Model(Document):
    """A trained model behind the results."""

    used_by: str = tell("The plug-in.")
    part: str = tell("Which part of it.")
    model: str = tell("Its name or path.")
    checksum: str = tell("Of its weights.")


class PostProcessing(Outputs):
    """What a decoder hides: eps_emp on the latent less that on the text."""

    internal: float = tell("eps_emp on the latent.")
    external: float = tell("eps_emp on the text.")
    effect: float = tell("The difference.")
    empty: float | None = tell("Share of rewrites without a text.")


class EpsilonAt(Document):
    """The least epsilon that holds at a delta, on average over the pairs of the plan."""

    delta: float = tell("The delta.")
    point: float | None = tell("The estimate; null if infinite or refuted.")
    lower: float | None = tell("Lower end; null if infinite or refuted.")
    upper: float | None = tell("Upper end; null if infinite or refuted.")
    trials_for_upper: int = tell("Trials that a finite upper end needs.")


class Supremum(Document):
    """The largest loss of any output, drawn or not, over the pairs of these trials."""

    largest: float | None = tell("Null if infinite.")
    mu: float | None = tell("Of Gaussian noise, which has no largest loss; null for other noise.")
    row: Count = tell("Which pair decides.")


class Calibration(Document):
    """Right guesses of a likelihood attack beside those that its likelihoods promise, ties left out."""

    p: float = tell("Two-sided p-value; no more than an estimate if it is large.")
    promised: float = tell("Right guesses that are promised.")
    right: Count = tell("Right guesses.")
    guesses: Count = tell("Guesses.")
    surplus: float = tell("The statistic U: below 0, losses are overstated.")
    impossible: Count = tell("Outputs that their own source cannot have had.")


class LikelihoodCheck(Document):
    """Whether guesses fit the likelihoods."""

    told: str = tell("What is printed in the place of figures, or beside them; empty if they fit.")
    refuted: bool = tell("Whether they failed twice, or an output is impossible: no figure is told then.")
    first: Calibration = tell("By the trials of the run.")
    again: Calibration | None = tell("By fresh trials, if those failed; null if nobody made them.")


class Slack(Document):
    """How many times larger the claim is than what the worst of these pairs loses."""

    at_most: float | None = tell("At most this; null if it is not known, because nothing is lost for sure.")
    lost: float | None = tell("What the worst pair loses at the least; null if infinite.")
    delta: float = tell("At this delta: the claim's own, or the smallest larger one that the trials show.")
    source: Literal["supremum", "confirmed loss", "average"] = tell(
        "The most that a pair can lose, a loss that was computed twice, or the lower end of the average."
    )


class Loss(Outputs):
    """What an adversary that knows the mechanism learns from what was drawn; all of it null if refuted."""

    claim: ClaimFigures | None = tell("What is promised.")
    trials: Count = tell("Trials.")
    unknown: Count = tell("Trials without a likelihood, taken for infinite.")
    error: float = tell("One-sided error of each end.")
    likelihood: LikelihoodCheck | None = tell("Whether the trials fit the likelihoods.")
    impossible: int | None = tell("Outputs that the other text cannot have had; null if refuted.")
    mean: float | None = tell("Mean loss; null if infinite or refuted.")
    quantiles: dict[str, float | None] = tell("Loss by share of trials; null if infinite or refuted.")
    largest: float | None = tell("Largest loss that occurred; null if infinite or refuted.")
    worst_row: int | None = tell("Row of the plan that has it; null if refuted.")
    slack: Slack | None = tell("How loose the claim is at most; null without a finite claim.")
    supremum: Supremum | None = tell("Null if the mechanism cannot tell, or if refuted.")
    epsilon_at: list[EpsilonAt] = tell("Epsilon at the usual deltas.")


class TriedPair(BoundFigures, VerdictFigures):
    """Two texts that were tried again on fresh trials."""

    mechanism: str = tell("The mechanism's label.")
    epsilon: Epsilon
    attack: str = tell("The attack.")
    positions: list[int] = tell("Of the two texts in the corpus.")
    texts: list[str] | None = tell("The two texts: private.")


class WorstPairs(Document):
    """The pairs of a run with the most evidence, on fresh trials."""

    error: float = tell("The error that all pairs share.")
    left_out: list[str] = tell("Mechanisms without fresh trials, and why.")
    pairs: list[TriedPair] = tell("The pairs, the worst first.")


class Summary(Document):
    """summary.json, and what `run`, `estimate` and `report` print with --json."""

    schema_: Literal["urn:tedaudit:summary:2"] = Field(alias="schema", description="This schema.")
    name: str = tell("The run's name.")
    alpha: float = tell("Twice the one-sided error of all bounds together, and of all verdicts together.")
    violated: bool = tell("Whether any claim is refuted.")
    eps_emp: float = tell("The largest `lower` of all findings: too large with probability `error` at most.")
    error: float = tell("One-sided error that all rows and looks of the run share.")
    look: int = Field(ge=1, description="How often results were judged, this time included.")
    claims: list[Claim] = tell("One for each mechanism and epsilon that promises something.")
    models: list[Model] = tell("Trained models behind the results.")
    notes: list[str] = tell("What a reader must know before believing a number.")
    findings: list[Finding] = tell("One for each plan, mechanism, epsilon and attack.")
    post_processing: list[PostProcessing] = tell("Empty if no latent was attacked.")
    losses: list[Loss] = Field(default=[], description="If an attack knows the mechanism's likelihoods.")
    contradictions: list[str] = Field(default=[], description="With --loss: what cannot be, but for chance.")
    worst_pairs: WorstPairs | None = Field(default=None, description="With --worst.")


class Rows(Document):
    """`tedaudit export --format json`: the findings of a run."""

    schema_: Literal["urn:tedaudit:rows:2"] = Field(alias="schema", description="This schema.")
    run: str = tell("The run's name.")
    tedaudit: str = tell("The version that wrote it.")
    rows: list[Row] = tell("One for each plan, mechanism, epsilon and attack.")


class Trials(Document):
    """`tedaudit export --what trials --format json`: every guess of a run."""

    schema_: Literal["urn:tedaudit:trials:1"] = Field(alias="schema", description="This schema.")
    run: str = tell("The run's name.")
    tedaudit: str = tell("The version that wrote it.")
    trials: list[Trial] | list[TextTrial] = tell("One for each trial and attack; with texts if asked for.")


class Losses(Document):
    """`tedaudit export --what losses --format json`."""

    schema_: Literal["urn:tedaudit:losses:2"] = Field(alias="schema", description="This schema.")
    run: str = tell("The run's name.")
    tedaudit: str = tell("The version that wrote it.")
    losses: list[LossAt] = tell("One for each plan, mechanism, epsilon and delta with likelihoods.")
