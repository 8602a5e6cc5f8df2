"""Reads the findings of a run from its tables alone; no model and no plug-in is loaded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tedaudit.estimators import Choices, find_estimator
from tedaudit.estimators.bound import check_alpha
from tedaudit.estimators.likelihood_check import TEXT_LIKELIHOOD, Calibration, LikelihoodCheck
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Claim, Plan
from tedaudit.results.certain_losses import CertainLoss, read_certain
from tedaudit.results.family import Family
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.measures import Measures, Shares, attack_measures, best_cosine, released_shares
from tedaudit.results.row import Certain, Row
from tedaudit.results.run_notes import (
    note_contradictions,
    note_copies,
    note_practice,
    note_remade,
    note_repeats,
    note_resampling,
    note_violated_below,
)
from tedaudit.results.verdict import NO_CLAIM, Verdict
from tedaudit.results.worst_pairs import read_pairs
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.looks import find_look
from tedaudit.runs.missing import describe_missing, find_missing
from tedaudit.runs.spec.model import ORIGINALS

_FEW = 8  # candidates whose scores are read together with the choices


@dataclass(frozen=True, slots=True)
class _CountedTable:
    """A table of guesses, counted."""

    about: Mapping[str, Any]
    row: Row
    planned: int
    looked_before: bool
    score: str
    plan_base: str
    measured: Mapping[str, Any]  # what the attack tells beside its counts
    own_rewrites: int = 0

    @property
    def epsilon(self) -> Nominal:
        """The nominal epsilon."""
        return Nominal.of(self.about["epsilon"])

    @property
    def setting(self) -> tuple[str, str, Nominal]:
        """The outputs that were attacked: plan, mechanism and epsilon."""
        return self.about["plan"], self.about["label"], self.epsilon


def read_result(run: RunDirectory, alpha: float | None = None, delta: float | None = None) -> AuditResult:
    """Return the findings of a run.

    A run that is not finished, or was extended after its results had been seen, gets the bound
    that is valid at every look. Verdicts share alpha / 2 among all tests and looks.
    """
    manifest = run.manifest()
    alpha = check_alpha(manifest["spec"].get("alpha", 0.01) if alpha is None else alpha)
    if delta is None:
        delta = manifest["spec"].get("delta")
    missing = find_missing(run)
    tables = [table for table in _count_tables(run, manifest, alpha, delta) if table.row.counts.trials]
    references = [table for table in tables if table.about["label"] == ORIGINALS and table.about["series"]]
    tables = [table for table in tables if table not in references]
    family = Family(alpha, tuple(table.row for table in tables), find_look(run))
    shares = dict(released_shares(run)) if tables else {}
    shared: dict[tuple[str, str, Nominal], dict[str, Any]] = {}
    for table in tables:  # some of what an attack tells belongs to the outputs, whatever the attack
        shared.setdefault(table.setting, {}).update(table.measured)
    checks = _check_likelihoods(manifest, tables)
    findings = tuple(
        _describe(table, family, verdict, _measure(table, shared[table.setting], shares))
        for table, verdict in zip(tables, family.judge(), strict=True)
    )
    findings = tuple(_hold_against(finding, checks) for finding in findings)
    notes = [describe_missing(missing)] if missing else []
    notes += [*manifest["corpus"]["notes"], *_plan_notes(manifest)]
    notes += chain(manifest.get("script_notes", []), *manifest.get("cautions", {}).values())
    notes += [*note_repeats(manifest), *note_remade(manifest)]
    notes += [*note_copies(run, manifest), *note_practice(table.about for table in tables)]
    notes += note_resampling((table.about, table.own_rewrites) for table in tables)
    notes += note_contradictions(findings)
    notes += note_violated_below(findings, family)
    lost = {one.name for one in missing if one.kind == "studies"}
    pairs = read_pairs(run, alpha, delta, lost)
    notes += [*_remarks(findings, extended=any(table.looked_before for table in tables))]
    models = tuple(manifest["models"])
    certain = _keep_believed(read_certain(run), findings)
    originals = tuple(_describe(table, family, NO_CLAIM, Measures()) for table in references)
    return AuditResult(
        name=manifest["name"],
        run=run,
        findings=findings,
        notes=tuple(notes),
        family=family,
        models=models,
        pairs=tuple(pairs),
        certain=certain,
        originals=originals,
        missing=missing,
    )


def _count_tables(
    run: RunDirectory, manifest: Mapping[str, Any], alpha: float, delta: float | None
) -> Iterator[_CountedTable]:
    plans: dict[str, Plan | None] = {}
    asked = manifest["tables"]
    for folder in run.guess_folders():
        info = folder.info()
        name = info.about["plan"]
        plan_info = manifest["plans"][name]
        if plan_info.get("rounds"):
            continue  # single rewrites, where several are seen: what they say together has its own tables
        if name not in plans:
            plans[name] = run.plan(name, plan_info["key"])
        plan = plans[name]
        table, estimator = GuessTable(folder, info.key), find_estimator(plan_info["estimator"])
        if plan is None or len(plan) < table.complete():
            continue  # it is gone, or that of an earlier state: nobody knows what was right
        start, unfit = find_fresh(info.about, table.complete())
        fresh = plan.rows(start, len(plan))
        scores = ["scores"] if plan_info["k"] <= _FEW else []
        columns = table.read(["choice", "usable", "failed", "margin"], ahead=scores)
        margin = columns.pop("margin")[start:]
        choices = Choices(**columns).after(start)
        counts = estimator.count(fresh, choices, plan_info["k"])
        wanted = asked.get("/".join(folder.path.parts[-5:]), {"asked": len(plan)})["asked"]
        planned = max(0, wanted - start) // estimator.rows_per_trial
        lacks = counts.trials < len(fresh) // estimator.rows_per_trial
        looked_before = any(start < look < len(plan) for look in plan_info["looks"])
        claim = None if info.about["claim"] is None else Claim(**info.about["claim"])
        score = info.about["score"]
        row = Row(
            estimator=estimator,
            counts=counts,
            claim=claim,
            any_time=lacks or looked_before,
            unfit=unfit,
            delta=delta,
        )
        looks = [look - start for look in plan_info["looks"] if look > start]
        parts = Certain(plan=fresh, choices=choices, margin=margin, looks=looks).count(row, alpha / 2)
        own = {
            "rewrites": plan_info.get("rewrites", 1), "series": plan_info.get("of", ""),
            "known_texts": plan_info["knows"] if plan_info.get("author") else "",
        }  # fmt: skip
        yield _CountedTable(
            about={**info.about, **own},
            row=replace(row, parts=parts),
            planned=planned,
            looked_before=looked_before,
            score=score,
            plan_base=plan_info["base"],
            measured=attack_measures(table, score, plan, plan_info["k"]),
            own_rewrites=_count_own(run, info.about),
        )


def _count_own(run: RunDirectory, about: Mapping[str, Any]) -> int:
    """Return how many rewrites were made for an attack: more than at first, if trials were added."""
    if about.get("resampled"):
        return run.count_own_rewrites(about["label"], Nominal.of(about["epsilon"]))
    return int(about.get("own_rewrites", 0))


def find_fresh(about: Mapping[str, Any], rows: int) -> tuple[int, str]:
    """Return from which row on an attack is judged, and why it cannot be if there is none.

    An attack of one's own that was added after a look may have been made from what was seen.
    """
    seen = about.get("seen_before", 0)
    if not seen:
        return 0, ""
    if rows > seen:
        return seen, ""
    return 0, (
        "an attack that is added after results were seen, and is not a built-in one with default settings, "
        "is judged on fresh trials only: run again with more trials"
    )


def _describe(table: _CountedTable, family: Family, verdict: Verdict, measures: Measures) -> Finding:
    row = table.row
    bound, surest = row.bound_by(family.row_error)
    return Finding(
        *table.setting, row.claim, table.about["attack"], row.counts, table.planned, bound,
        row.bound(family.alpha / 2).lower, row.bound_at(family.alpha), verdict, table.score, table.plan_base,
        measures, row.unfit, row, surest, None, table.about["knows"], table.about["sees_draw"],
        table.about["rewrites"], table.about["series"], table.about["known_texts"],
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
        own_rewrites=table.own_rewrites,
        median_rank=table.measured.get("median_rank"),
    )


_Checks = dict[tuple[tuple[str, str, Nominal], bool], LikelihoodCheck]


def _check_likelihoods(manifest: Mapping[str, Any], tables: Sequence[_CountedTable]) -> _Checks:
    """Return what the trials say of likelihoods, with what fresh trials said if they were made.

    By setting, and whether they are likelihoods of texts and not of what was drawn. Only of tables with all
    their trials, each of them independent of the others.
    """
    again = {
        (told["plan"], told["mechanism"], Nominal.of(told["epsilon"]), told["attack"]): told["calibration"]
        for told in manifest.get("likelihoods", [])
    }
    checks: _Checks = {}
    for table in tables:
        first, row = table.measured.get("calibration"), table.row
        if first is None or row.estimator.rows_per_trial > 1 or row.counts.trials < table.planned:
            continue
        repeated = again.get((*table.setting, table.about["attack"])) if first.fails else None
        check = LikelihoodCheck(first, None if repeated is None else Calibration(**repeated))
        key = table.setting, table.score == TEXT_LIKELIHOOD
        if key not in checks or check.is_refuted:  # of several likelihood attacks
            checks[key] = check
    return checks


def _hold_against(finding: Finding, checks: _Checks) -> Finding:
    """Return a finding with what the trials say of its likelihoods; refuted ones make nothing attainable."""
    of_draw = checks.get((finding.setting, False))
    own = checks.get((finding.setting, True)) if finding.score == TEXT_LIKELIHOOD else of_draw
    refuted = of_draw is not None and of_draw.is_refuted
    measures = replace(finding.measures, attainable=None) if refuted else finding.measures
    return replace(finding, likelihood=own, measures=measures)


def _keep_believed(certain: Sequence[CertainLoss], findings: Sequence[Finding]) -> tuple[CertainLoss, ...]:
    """Return the losses of mechanisms whose likelihoods no plan refutes, or has failed without a repeat."""
    of_draw = [f for f in findings if f.score != TEXT_LIKELIHOOD]
    checks = [((f.label, f.epsilon), f.likelihood) for f in of_draw if f.likelihood is not None]
    doubted = {key for key, check in checks if check.is_refuted or check.is_doubtful}
    return tuple(loss for loss in certain if (loss.label, loss.epsilon) not in doubted)


def _plan_notes(manifest: Mapping[str, Any]) -> list[str]:
    return [f"plan {name}: {note}" for name, info in manifest["plans"].items() for note in info["notes"]]


def _remarks(findings: Sequence[Finding], *, extended: bool) -> list[str]:
    """Return what a reader must know before believing a number."""
    remarks = []
    if any(not finding.complete for finding in findings):
        remarks.append("bounds of what is not finished come from complete blocks and hold at every look")
    elif extended:
        remarks.append("trials were added after results had been seen: bounds are those valid at every look")
    unfit = dict.fromkeys(finding.unfit for finding in findings if finding.unfit)
    remarks += unfit
    failing = {finding.label for finding in findings if finding.counts.failed == finding.bound.guesses}
    if failing:
        remarks.append(f"every rewrite of {', '.join(sorted(failing))} failed: `tedaudit replay` shows why")
    return remarks
