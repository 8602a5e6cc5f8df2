"""What an audit found: one finding per plan, mechanism, epsilon and attack, and a verdict per claim."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from tedaudit.errors import RunDirectoryError
from tedaudit.estimators import Bound, Counts
from tedaudit.estimators.abstaining import Part
from tedaudit.estimators.gdp import GaussianReading, read_as_gaussian
from tedaudit.estimators.likelihood_check import LikelihoodCheck
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Claim, Knows
from tedaudit.results.certain_losses import CertainLoss
from tedaudit.results.family import Family, judge_gate
from tedaudit.results.measures import Measures
from tedaudit.results.row import Row
from tedaudit.results.verdict import Verdict, any_violation, refute_for_sure, strongest
from tedaudit.results.worst_pairs import TriedPair
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.missing import Missing, describe_missing
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.text.plain_data import Count, PlainData

# --- One bound of an audit with everything that belongs to it.

_DELTA = 1e-5  # of a reading under GDP, if the bound has none


@dataclass(frozen=True, slots=True)
class Finding(PlainData):
    """One bound with everything that belongs to it."""

    plan: str
    """Name of the plan: how candidates were drawn."""
    label: str
    """The mechanism, as the run calls it."""
    epsilon: Nominal
    """The nominal epsilon that it was asked for; null if the mechanism takes none."""
    claim: Claim | None
    """What it promises there; None if nothing."""
    attack: str
    """The attack, as the run calls it."""
    counts: Counts
    """Right, unusable and failed guesses."""
    planned: Count
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
    knows: Knows = "nothing"
    """What the attack knows of the mechanism beside the output and the candidates."""
    sees_draw: bool = False
    """Whether it sees what was drawn, tokens or latent, and not what is published alone."""
    rewrites: Count = 1
    """Rewrites of one secret that the adversary sees in a trial; the claim is for all of them together."""
    series: str = ""
    """The plan whose trials these are with more or fewer rewrites; empty if no more than one is seen."""
    known_texts: Literal["", "same", "other"] = ""
    """If the secret is an author: whether the texts that were rewritten are known, or others of theirs."""
    in_json: ClassVar[str] = (
        "plan, label as mechanism, epsilon, claim, attack, rewrites, known_texts, knows, sees_draw, "
        "planned as planned_trials, "
        "counts.unusable, "
        "counts.failed, *bound, *measures, strength, saturated, surest, gaussian, alone, "
        "teda_bound, *verdict"
    )

    @property
    def eps_emp(self) -> float:
        """The lower end of the bound: the one number of a finding, wherever it is told."""
        return self.bound.lower

    @property
    def teda_bound(self) -> float:
        """The lower end of the TeDA bound: of all guesses, at alpha, for this row alone."""
        return self.teda.lower

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
    def tells(self) -> bool:
        """Whether it says anything: not if most rewrites failed and the rest told nothing."""
        return not self.unfit and (self.leaks or 2 * self.counts.failed <= self.bound.guesses)

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


# --- What was decided on a claim by everything that was tried against it.


@dataclass(frozen=True, slots=True)
class Witness:
    """What decided a claim."""

    plan: str | None
    """The plan of the finding that decided; null if a pair of texts did."""
    attack: str
    """The attack."""
    pair: tuple[int, ...] | None
    """Positions of the two texts, if a pair that was tried again decided."""
    certain_loss: CertainLoss | None
    """The loss that decided for sure, if one did."""


@dataclass(frozen=True, slots=True)
class JudgedClaim(PlainData):
    """What was decided on one claim by all attacks and plans together, and by pairs that were tried again.

    `witness` is the finding that decided it. If no finding refutes the claim and a pair does, `pair` decides,
    and before it a loss above the claim that is `certain`.
    """

    witness: Finding
    tests: Count
    """Attacks and plans that tested it."""
    pairs: Count = 0
    """Pairs of texts that were tried again."""
    pair: TriedPair | None = None
    certain: CertainLoss | None = None
    in_json: ClassVar[str] = (
        "witness.label as mechanism, witness.epsilon, witness.claim, *verdict, tests, pairs, "
        "deciding as witness"
    )

    @property
    def verdict(self) -> Verdict:
        """The decision."""
        if self.certain is not None:
            return refute_for_sure(self.certain.reason)
        if self.pair is None:
            return self.witness.verdict
        first, second = self.pair.positions
        reason = f"tried on texts {first} and {second} alone (see Worst pairs), {self.pair.verdict.reason}"
        return replace(self.pair.verdict, reason=reason)

    @property
    def attack(self) -> str:
        """The attack that decided it."""
        if self.certain is not None:
            return self.certain.attack
        return self.witness.attack if self.pair is None else self.pair.attack

    @property
    def deciding(self) -> Witness:
        """What decided it, by name."""
        if self.pair is not None:
            return Witness(plan=None, attack=self.attack, pair=self.pair.positions, certain_loss=self.certain)
        return Witness(plan=self.witness.plan, attack=self.attack, pair=None, certain_loss=self.certain)

    @property
    def lower(self) -> float:
        """The bound that decided it, at the error that it shares."""
        if self.certain is not None:
            return self.certain.loss
        return self.witness.eps_emp if self.pair is None else self.pair.bound.lower


def judge_claim(
    rows: Sequence[Finding], pairs: Sequence[TriedPair], certain: Sequence[CertainLoss]
) -> JudgedClaim:
    """Return what findings say of one claim, or what decides it if none of them refutes it."""
    witness = _find_witness(rows)
    if witness.verdict.is_violation:
        return JudgedClaim(witness, len(rows), len(pairs))
    refuting = [pair for pair in pairs if pair.verdict.is_violation]
    pair = min(refuting, key=lambda pair: pair.verdict.adjusted_p or 0.0, default=None)
    loss = max(certain, key=lambda loss: loss.loss, default=None)
    return JudgedClaim(
        witness=witness, tests=len(rows), pairs=len(pairs), pair=pair if loss is None else None, certain=loss
    )


def _find_witness(findings: Sequence[Finding]) -> Finding:
    deciding = strongest(finding.verdict for finding in findings)
    return next(finding for finding in findings if finding.verdict is deciding)


__all__ = ["SCHEMA", "AuditResult", "Finding", "post_processing"]
SCHEMA = "urn:tedaudit:summary:2"  # the shape of `AuditResult.to_dict`, published in reports/export/schemas


@dataclass(frozen=True, slots=True)
class AuditResult(PlainData):
    """All findings of a run, in order of plan, mechanism, epsilon and attack."""

    name: str
    """Name of the run."""
    run: RunDirectory
    """Its run directory, with all tables."""
    findings: tuple[Finding, ...]
    """One for each plan, mechanism, epsilon and attack."""
    notes: tuple[str, ...]
    """What a reader of the results should know."""
    family: Family
    """All rows of the run at this look: they share one error."""
    models: tuple[Mapping[str, str], ...] = ()
    """The checkpoints behind the results: who uses which, with its checksum."""
    pairs: tuple[TriedPair, ...] = ()
    """Pairs of texts that were tried again on fresh trials, each study with the error of its own look."""
    certain: tuple[CertainLoss, ...] = ()
    """Outputs whose loss was computed twice, one for each setting that has one; some are above a claim."""
    originals: tuple[Finding, ...] = ()
    """What the attacks find out from texts that were not rewritten, as a measure: no bounds of the run."""
    missing: tuple[Missing, ...] = ()
    """What the run must hold and does not: it is not finished, or something was lost. No gate passes then."""
    keeper: object = field(default=None, repr=False, compare=False)
    """Keeps a temporary run directory alive as long as the result."""
    in_json: ClassVar[str] = (
        "schema, name, finished, told_missing as missing, alpha, violated, eps_emp, error, "
        "family.look.number as look, claims, models, notes, findings, post_processing"
    )

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def folder(self) -> Path:
        """The run directory."""
        return self.run.root

    @property
    def finished(self) -> bool:
        """Whether all that was asked for is there."""
        return not self.missing

    @property
    def told_missing(self) -> list[str]:
        """What the run must hold and does not, in words."""
        return list(map(str, self.missing))

    @property
    def unfinished(self) -> str:
        """The same in a sentence, with what to do about it; empty if the run is finished."""
        return describe_missing(self.missing)

    @property
    def has_texts(self) -> bool:
        """Whether the corpus is there, and what was rewritten for every guess."""
        short = {(m.label, e) for m in self.missing if m.kind == "rewrites" for e in m.epsilons}
        lacking = (self._lacks_rewrites(f) for f in self.findings if (f.label, f.epsilon) in short)
        return not any(m.kind == "corpus" for m in self.missing) and not any(lacking)

    def _lacks_rewrites(self, finding: Finding) -> bool:
        if not self.run.rewrites_folder(finding.label, finding.epsilon).exists():
            return True
        rows = self.run.read_plan(finding.plan).rows(0, self.guesses(finding).complete())
        return bool(self.rewrites(finding).missing(rows.source, rows.replicate).any())

    @property
    def alpha(self) -> float:
        """Twice the one-sided error of all bounds together, and of all verdicts together."""
        return self.family.alpha

    @property
    def schema(self) -> str:
        """The name of the schema that its JSON keeps to."""
        return SCHEMA

    @property
    def error(self) -> float:
        """The one-sided error that all rows and looks of the run share."""
        return self.alpha / 2

    @property
    def violated(self) -> bool:
        """Whether any claim is refuted, at an error of alpha / 2 for all of them and all looks together."""
        return any_violation(claim.verdict for claim in self.claims)

    @property
    def largest(self) -> Finding | None:
        """The finding with the largest eps_emp."""
        fit = [finding for finding in self.findings if not finding.unfit]
        return max(fit, key=lambda finding: finding.eps_emp, default=None)

    @property
    def eps_emp(self) -> float:
        """The largest eps_emp of all rows, at an error of alpha / 2 for all rows and looks together."""
        return 0.0 if self.largest is None else self.largest.eps_emp

    @property
    def claims(self) -> tuple[JudgedClaim, ...]:
        """The verdict on every claim: one for each mechanism and epsilon, however many attacks tested it."""
        tests: dict[tuple[str, Nominal], list[Finding]] = {}
        for finding in self.findings:
            if finding.claim is not None:
                tests.setdefault((finding.label, finding.epsilon), []).append(finding)
        return tuple(
            judge_claim(
                rows,
                [pair for pair in self.pairs if (pair.label, pair.epsilon) == key],
                [loss for loss in self.certain if (loss.label, loss.epsilon) == key and loss.refutes_claim],
            )
            for key, rows in tests.items()
        )

    @property
    def post_processing(self) -> list[dict[str, Any]]:
        """What the decoder hides; empty if no latent was attacked."""
        return post_processing(self)

    def judge_limit(self, limit: float) -> list[Verdict]:
        """Return, for each finding, whether its bound at the shared error is above a limit.

        The limit is for a text: of n rewrites that are seen together it is n times that, as a claim is.
        """
        rows = [(finding.row, finding.rewrites) for finding in self.findings if finding.row is not None]
        error = self.family.row_error
        return [verdict for row, n in rows for verdict in judge_gate([row], error, limit * n)]

    def guesses(self, finding: Finding) -> GuessTable:
        """Return the table of guesses behind a finding."""
        return self.run.guesses(finding.plan, finding.label, finding.epsilon, finding.attack)

    def rewrites(self, finding: Finding) -> RewriteTable:
        """Return the table of the rewrites that a finding's attack saw."""
        return self.run.rewrites(finding.label, finding.epsilon)

    def save(self, path: str | Path) -> Path:
        """Copy the run directory to a new folder, from which the run can be read, reported and extended."""
        target = Path(path)
        if target.exists():
            raise RunDirectoryError(f"'{target}' exists already; name a new folder, or remove it first.")
        target.mkdir(mode=0o700, parents=True)  # before a text is in it
        shutil.copytree(self.folder, target, dirs_exist_ok=True)
        return target


def post_processing(result: AuditResult) -> list[dict[str, Any]]:
    """Return what the decoder hides: eps_emp on the latent less eps_emp on the text, per plan and epsilon.

    The attack on latents that found most is compared with the first one by sentence embeddings.
    """
    rows = []
    for setting in dict.fromkeys(finding.setting for finding in result):
        findings = [finding for finding in result if finding.setting == setting]
        inner = [finding for finding in findings if finding.score == "latent similarity"]
        outer = [finding for finding in findings if finding.score == "cosine"]
        if inner and outer:
            best = max(inner, key=lambda finding: finding.eps_emp)
            rows.append(
                {
                    "plan": setting[0], "mechanism": setting[1], "epsilon": setting[2].json,
                    "internal": best.eps_emp, "external": outer[0].eps_emp,
                    "effect": best.eps_emp - outer[0].eps_emp, "empty": best.measures.empty,
                }
            )  # fmt: skip
    return rows
