"""What an audit found: one finding per plan, mechanism, epsilon and attack, read from the run directory."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tedaudit.estimators import Bound, baseline, reduced_form, sequential
from tedaudit.estimators.sequential import confidence_sequence
from tedaudit.stages import Tally, tally
from tedaudit.store import RunDirectory, table_info
from tedaudit.tables import GuessTable
from tedaudit.types import Array, Claim

Verdict = Literal["violated", "not refuted", "no claim"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One bound with everything that belongs to it."""

    plan: str
    label: str
    epsilon: float  # infinite: the mechanism takes none
    claim: Claim | None
    attack: str
    tally: Tally
    planned: int
    bound: Bound
    verdict: Verdict
    attainable: float | None = None  # the success that no attack can be expected to exceed on these trials

    @property
    def complete(self) -> bool:
        """Whether all planned trials are in."""
        return self.tally.trials >= self.planned

    def to_dict(self) -> dict[str, Any]:
        """Return the finding safe for JSON; infinite numbers become None."""
        claim = None
        if self.claim is not None:
            totals = {"total": self.claim.total, "total_delta": self.claim.total_delta}
            figures = asdict(self.claim) | totals
            claim = {name: None if value == math.inf else value for name, value in figures.items()}
        return {
            "plan": self.plan,
            "mechanism": self.label,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "claim": claim,
            "attack": self.attack,
            "planned_trials": self.planned,
            "unusable": self.tally.unusable,
            "failed": self.tally.failed,
            **self.bound.to_dict(),
            "attainable": self.attainable,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True)
class AuditResult:
    """All findings of a run, worst first within each mechanism's own order."""

    name: str
    folder: Path
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]
    alpha: float

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    @property
    def violated(self) -> bool:
        """Whether any claim is refuted, at an error of alpha / 2 for all of them together."""
        return any(finding.verdict == "violated" for finding in self.findings)

    @property
    def epsilon(self) -> float:
        """The largest lower bound found."""
        return max((finding.bound.lower for finding in self.findings), default=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return the result safe for JSON."""
        return {
            "name": self.name,
            "alpha": self.alpha,
            "violated": self.violated,
            "notes": list(self.notes),
            "findings": [finding.to_dict() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class _Counted:
    """A table of guesses, counted."""

    about: dict[str, Any]
    tally: Tally
    planned: int
    looked_before: bool
    attainable: float | None

    @property
    def where(self) -> tuple[str, str, float | None]:
        """The outputs that were attacked: plan, mechanism and epsilon."""
        return self.about["plan"], self.about["label"], self.about["epsilon"]


def read_result(run: RunDirectory, alpha: float | None = None, delta: float | None = None) -> AuditResult:
    """Return the findings of a run from its tables alone; no model and no plug-in is loaded.

    A run that is not finished, or was extended after its results had been seen, gets the bound
    that is valid at every look. Verdicts share alpha among all claims under test.
    """
    manifest = run.manifest()
    alpha = manifest["spec"].get("alpha", 0.01) if alpha is None else alpha
    if delta is None:
        delta = manifest["spec"].get("delta")
    counted = [one for one in _counted(run, manifest) if one.tally.trials]
    tests = max(1, sum(one.about["claim"] is not None for one in counted))
    attainable = {one.where: one.attainable for one in counted if one.attainable is not None}
    findings = tuple(
        replace(_finding(one, alpha, delta, tests), attainable=attainable.get(one.where)) for one in counted
    )
    notes = [*manifest["corpus"]["notes"], *_plan_notes(manifest)]
    notes += _remarks(findings, extended=any(one.looked_before for one in counted))
    return AuditResult(manifest["name"], run.root, findings, tuple(notes), alpha)


def _counted(run: RunDirectory, manifest: dict[str, Any]) -> Iterator[_Counted]:
    for folder in sorted((run.root / "guesses").glob("*/*/*/*"), key=_order(run)):
        if folder.is_dir() and not any(folder.glob("[!.]*")):
            continue  # killed before there was more than the folder
        info = table_info(folder)
        about = info["about"]
        plan_info = manifest["plans"][about["plan"]]
        plan = run.plan(about["plan"], plan_info["key"])
        if plan is None:
            continue
        table = GuessTable(folder, info["key"])
        columns = table.read(["choice", "usable", "failed"])
        rows = len(columns["choice"])
        looks = [look for look in plan_info["looks"] if look < len(plan)]
        counts = tally(plan.rows(0, rows), columns, plan_info["estimator"])
        per_trial = 2 if plan_info["estimator"] == "baseline" else 1
        about = {**about, "estimator": plan_info["estimator"], "k": plan_info["k"]}
        knows = info["determinants"]["attack"].get("name") == "likelihood"
        attainable = mean_posterior(table.read(["scores"])["scores"], plan_info["k"]) if knows else None
        yield _Counted(about, counts, len(plan) // per_trial, bool(looks), attainable)


def mean_posterior(log_likelihoods: Array, k: int) -> float | None:
    """Return how probable the best candidate is on average, given its output and a uniform secret.

    No attack can be expected to be right more often on these trials. None where not all scores are kept.
    """
    if log_likelihoods.ndim != 2 or log_likelihoods.shape[1] != k:
        return None
    scores = np.asarray(log_likelihoods, dtype=np.float64)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return float((1 / odds.sum(axis=1)).mean())


def _order(run: RunDirectory) -> Any:
    def key(folder: Path) -> tuple[str, str, float, str]:
        plan, label, epsilon, attack = folder.relative_to(run.root / "guesses").parts
        return plan, label, math.inf if epsilon == "any" else float(epsilon), attack

    return key


def _finding(one: _Counted, alpha: float, delta: float | None, tests: int) -> Finding:
    about = one.about
    claim = None if about["claim"] is None else Claim(**about["claim"])
    slack = delta if delta is not None else min(claim.total_delta, 1 - 1e-12) if claim else 0.0
    bound = _bound(one, alpha, slack)
    verdict: Verdict = "no claim"
    if claim is not None:
        share = 2 if one.about["estimator"] == "baseline" else 1  # whose error is alpha, not alpha / 2
        strict = _bound(one, alpha / tests / share, slack)
        verdict = "violated" if strict.lower > claim.total else "not refuted"
    epsilon = math.inf if about["epsilon"] is None else about["epsilon"]
    return Finding(
        about["plan"], about["label"], epsilon, claim, about["attack"], one.tally, one.planned, bound, verdict
    )


def _bound(one: _Counted, alpha: float, delta: float) -> Bound:
    counts = one.tally
    early = counts.trials < one.planned or one.looked_before
    if counts.false_positives is not None:
        interval = {"interval": confidence_sequence} if early else {}
        return baseline(counts.correct, counts.false_positives, counts.trials, alpha, delta, **interval)
    estimator = sequential if early else reduced_form
    return estimator(counts.correct, counts.trials, one.about["k"], alpha, delta)


def _plan_notes(manifest: dict[str, Any]) -> list[str]:
    return [f"plan {name}: {note}" for name, info in manifest["plans"].items() for note in info["notes"]]


def _remarks(findings: Sequence[Finding], *, extended: bool) -> list[str]:
    """Return what a reader must know before believing a number."""
    remarks = []
    if any(finding.attainable is not None for finding in findings):
        remarks.append(
            "attainable is the mean posterior of the likeliest source: the success that no attack can be "
            "expected to exceed on these trials"
        )
    if any(not finding.complete for finding in findings):
        remarks.append("the run is not finished: bounds come from complete blocks and hold at every look")
    elif extended:
        remarks.append("trials were added after results had been seen: bounds are those valid at every look")
    failing = {f.label for f in findings if f.tally.failed == f.bound.guesses}
    if failing:
        remarks.append(f"every rewrite of {', '.join(sorted(failing))} failed: `tedaudit replay` shows why")
    return remarks
