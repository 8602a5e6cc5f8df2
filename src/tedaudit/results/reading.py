"""What an audit found: one finding per plan, mechanism, epsilon and attack, read from the run directory."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tedaudit.errors import RunDirectoryError
from tedaudit.estimators import Bound, baseline, reduced_form, sequential
from tedaudit.estimators.sequential import confidence_sequence
from tedaudit.plans.trials import Tally, tally
from tedaudit.results.measures import SIMILARITIES, Measures, Outputs, attack_measures, released
from tedaudit.store.directory import RunDirectory, epsilon_name, table_info
from tedaudit.store.tables import GuessTable, RewriteTable
from tedaudit.types import Claim, Plan

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
    kind: str = ""  # which plug-in the attack is, whatever it is called here
    measures: Measures = field(default_factory=Measures)

    @property
    def strength(self) -> float | None:
        """Which share of the attainable advantage over chance the attack took; None where unknown."""
        return self.measures.strength(self.bound.success, self.bound.candidates)

    @property
    def saturated(self) -> bool:
        """Whether the attack and the strongest there is are both at the ceiling of these trials."""
        return self.measures.saturated(self.bound.success)

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
            **asdict(self.measures),
            "strength": self.strength,
            "saturated": self.saturated,
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
            "post_processing": post_processing(self),
        }


@dataclass(frozen=True, slots=True)
class _Counted:
    """A table of guesses, counted."""

    about: dict[str, Any]
    tally: Tally
    planned: int
    looked_before: bool
    told: dict[str, Any]

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
    outputs = dict(released(run)) if counted else {}
    shared: dict[tuple[str, str, float | None], dict[str, Any]] = {}
    for one in counted:  # some of what an attack tells belongs to the outputs, whatever the attack
        shared.setdefault(one.where, {}).update(one.told)
    findings = tuple(
        replace(_finding(one, alpha, delta, tests), measures=_measures(one, shared[one.where], outputs))
        for one in counted
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
        kind = info["determinants"]["attack"].get("name", "")
        about = {**about, "estimator": plan_info["estimator"], "k": plan_info["k"], "kind": kind}
        told = attack_measures(table, kind, plan, plan_info["k"])
        told["own_rewrites"] = about.get("own_rewrites", 0)
        yield _Counted(about, counts, len(plan) // per_trial, bool(looks), told)


def _measures(
    one: _Counted, shared: Mapping[str, Any], outputs: Mapping[tuple[str, str], Outputs]
) -> Measures:
    """Return what is told beside a bound, by this attack or by any on the same outputs."""
    cosines = [shared.get(f"cosine by {name}") for name in SIMILARITIES]
    epsilon = math.inf if one.about["epsilon"] is None else one.about["epsilon"]
    made = outputs.get((one.about["label"], epsilon_name(epsilon)))
    return Measures(
        attainable=shared.get("attainable"),
        cosine=next((value for value in cosines if value is not None), None),
        copied=made.copied if made else None,
        empty=made.empty if made else None,
        first=one.told.get("first"),
        own_rewrites=one.told["own_rewrites"],
    )


def plan_of(run: RunDirectory, name: str, manifest: Mapping[str, Any] | None = None) -> Plan:
    """Return a plan that findings of a run speak of; whoever has the manifest read lends it."""
    plan = run.plan(name, (manifest or run.manifest())["plans"][name]["key"])
    if plan is None:
        raise RunDirectoryError(f"'{run.root}' lacks its plan '{name}'; run the same command again.")
    return plan


def guesses_of(folder: Path, finding: Finding) -> GuessTable:
    """Return the table of guesses behind a finding of a run."""
    place = (finding.plan, finding.label, epsilon_name(finding.epsilon), finding.attack)
    table = folder.joinpath("guesses", *place)
    return GuessTable(table, table_info(table)["key"])


def rewrites_of(folder: Path, finding: Finding) -> RewriteTable:
    """Return the table of the rewrites that a finding's attack saw."""
    table = folder.joinpath("rewrites", finding.label, epsilon_name(finding.epsilon))
    return RewriteTable(table, table_info(table)["key"])


def post_processing(result: AuditResult) -> list[dict[str, Any]]:
    """Return what the decoder hides: eps_emp on the latent less eps_emp on the text, per plan and epsilon.

    The internal attack that found most is compared with the external embedding attack.
    """
    rows = []
    for where in dict.fromkeys((f.plan, f.label, f.epsilon) for f in result):
        some = [f for f in result if (f.plan, f.label, f.epsilon) == where]
        inner = [f for f in some if f.kind == "internal"]
        outer = [f for f in some if f.kind == "embedding"]
        if inner and outer:
            best = max(inner, key=lambda f: f.bound.lower)
            rows.append(
                {
                    "plan": where[0], "mechanism": where[1], "epsilon": where[2],
                    "internal": best.bound.lower, "external": outer[0].bound.lower,
                    "effect": best.bound.lower - outer[0].bound.lower, "empty": best.measures.empty,
                }
            )  # fmt: skip
    return rows


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
    where = about["plan"], about["label"], epsilon, claim, about["attack"]
    return Finding(*where, one.tally, one.planned, bound, verdict, about["kind"])


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
    if any(finding.measures.attainable is not None for finding in findings):
        remarks.append(
            "attainable is the mean posterior of the likeliest source: the success that no attack can be "
            "expected to exceed on these trials; the share of its advantage over chance that an attack took "
            "is its strength"
        )
    if any(not finding.complete for finding in findings):
        remarks.append("the run is not finished: bounds come from complete blocks and hold at every look")
    elif extended:
        remarks.append("trials were added after results had been seen: bounds are those valid at every look")
    failing = {f.label for f in findings if f.tally.failed == f.bound.guesses}
    if failing:
        remarks.append(f"every rewrite of {', '.join(sorted(failing))} failed: `tedaudit replay` shows why")
    return remarks
