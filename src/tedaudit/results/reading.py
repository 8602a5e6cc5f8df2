"""Reads the findings of a run from its tables alone; no model and no plug-in is loaded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tedaudit.estimators import Bound, Counts, Estimator, find_estimator
from tedaudit.nominal import Nominal
from tedaudit.results.contradictions import note_contradictions
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.measures import Measures, Shares, attack_measures, best_cosine, released_shares
from tedaudit.results.run_notes import note_practice, note_repeats
from tedaudit.results.verdict import Family, judge_claim
from tedaudit.store.directory import RunDirectory
from tedaudit.store.formats import score_of
from tedaudit.store.guesses import GuessTable
from tedaudit.types import Claim, Plan

_MOST_DELTA = 1 - 1e-12


@dataclass(frozen=True, slots=True)
class _CountedTable:
    """A table of guesses, counted."""

    about: Mapping[str, Any]
    estimator: Estimator
    counts: Counts
    planned: int
    looked_before: bool
    score: str
    plan_base: str
    measured: Mapping[str, Any]  # what the attack tells beside its counts

    @property
    def claim(self) -> Claim | None:
        """What the mechanism promises."""
        return None if self.about["claim"] is None else Claim(**self.about["claim"])

    @property
    def epsilon(self) -> Nominal:
        """The nominal epsilon."""
        return Nominal.of(self.about["epsilon"])

    @property
    def setting(self) -> tuple[str, str, Nominal]:
        """The outputs that were attacked: plan, mechanism and epsilon."""
        return self.about["plan"], self.about["label"], self.epsilon

    def bound(self, alpha: float, delta: float) -> Bound:
        """Return the bound; one that holds at every look if trials are missing or were added after one."""
        early = self.counts.trials < self.planned or self.looked_before
        return self.estimator.bound(self.counts, alpha, delta, any_time=early)


def read_result(run: RunDirectory, alpha: float | None = None, delta: float | None = None) -> AuditResult:
    """Return the findings of a run.

    A run that is not finished, or was extended after its results had been seen, gets the bound
    that is valid at every look. Verdicts share alpha among all claims under test.
    """
    manifest = run.manifest()
    alpha = manifest["spec"].get("alpha", 0.01) if alpha is None else alpha
    if delta is None:
        delta = manifest["spec"].get("delta")
    tables = [table for table in _count_tables(run, manifest) if table.counts.trials]
    family = Family(alpha, sum(table.claim is not None for table in tables))
    shares = dict(released_shares(run)) if tables else {}
    shared: dict[tuple[str, str, Nominal], dict[str, Any]] = {}
    for table in tables:  # some of what an attack tells belongs to the outputs, whatever the attack
        shared.setdefault(table.setting, {}).update(table.measured)
    findings = tuple(
        replace(_judge(table, alpha, delta, family), measures=_measure(table, shared[table.setting], shares))
        for table in tables
    )
    notes = [*manifest["corpus"]["notes"], *_plan_notes(manifest), *manifest.get("format_notes", [])]
    notes += [*note_repeats(manifest), *note_practice(table.about for table in tables)]
    notes += note_contradictions(findings)
    notes += _remarks(findings, extended=any(table.looked_before for table in tables))
    return AuditResult(manifest["name"], run, findings, tuple(notes), alpha, tuple(manifest["models"]))


def _count_tables(run: RunDirectory, manifest: Mapping[str, Any]) -> Iterator[_CountedTable]:
    plans: dict[str, Plan | None] = {}
    for folder in run.guess_folders():
        info = folder.info()
        name = info.about["plan"]
        plan_info = manifest["plans"][name]
        if name not in plans:
            plans[name] = run.plan(name, plan_info["key"])
        plan = plans[name]
        if plan is None:
            continue
        table, estimator = GuessTable(folder, info.key), find_estimator(plan_info["estimator"])
        counts = estimator.count(plan, table.choices(), plan_info["k"])
        score = score_of(info.about, info.determinants["attack"])
        yield _CountedTable(
            info.about, estimator, counts, len(plan) // estimator.rows_per_trial,
            any(look < len(plan) for look in plan_info["looks"]), score, plan_info["base"],
            attack_measures(table, score, plan, plan_info["k"]),
        )  # fmt: skip


def _judge(table: _CountedTable, alpha: float, delta: float | None, family: Family) -> Finding:
    claim = table.claim
    slack = delta if delta is not None else min(claim.total_delta, _MOST_DELTA) if claim else 0.0
    verdict = judge_claim(claim, family, lambda error: table.bound(table.estimator.alpha_for(error), slack))
    return Finding(
        *table.setting, claim, table.about["attack"], table.counts, table.planned,
        table.bound(alpha, slack), verdict, table.score, table.plan_base,
    )  # fmt: skip


def _measure(
    table: _CountedTable, shared: Mapping[str, Any], shares: Mapping[tuple[str, Nominal], Shares]
) -> Measures:
    """Return what is told beside a bound, by this attack or by any on the same outputs."""
    released = shares.get((table.about["label"], table.epsilon))
    return Measures(
        attainable=shared.get("attainable"),
        cosine=best_cosine(shared),
        copied=released.copied if released else None,
        empty=released.empty if released else None,
        first=table.measured.get("first"),
        own_rewrites=table.about.get("own_rewrites", 0),
    )


def _plan_notes(manifest: Mapping[str, Any]) -> list[str]:
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
    failing = {finding.label for finding in findings if finding.counts.failed == finding.bound.guesses}
    if failing:
        remarks.append(f"every rewrite of {', '.join(sorted(failing))} failed: `tedaudit replay` shows why")
    return remarks
