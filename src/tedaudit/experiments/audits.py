"""Experiments that are audits: calibration curves, ablations, conventions, complementarity.

All of them use the run directories that the experiments of a scale share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from tedaudit.estimators.paired import rank_agreement
from tedaudit.experiments.agreement import agreement
from tedaudit.experiments.convention import convert_units
from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Cell, Outcome, Table
from tedaudit.experiments.workspace import Workspace, corpus_name
from tedaudit.nominal import Nominal
from tedaudit.reports.figures import figure, figures_missing
from tedaudit.results.disagreement import disagreements
from tedaudit.results.findings import AuditResult, Finding, post_processing
from tedaudit.store.directory import RunDirectory

_STEP = 0.3  # the smallest change of eps_emp that counts: about its interval at 10,000 trials


def calibrate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return eps_emp against nominal epsilon for every corpus, and what decoders hide."""
    tables, figures, notes = [], {}, []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        tables.append(by_epsilon(result, f"{name}: eps_emp"))
        hidden = post_processing(result)
        if hidden:
            tables.append(_tabulate_hidden(hidden, name))
        notes += [f"{name}: {note}" for note in trends(result)]
        if not figures_missing():
            figures[name] = figure(list(result))
    return Outcome(tuple(tables), figures, tuple(notes))


def ablate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return eps_emp side by side for every setting, and how similar the rankings are.

    Settings are plans (k, lambda, estimator), or the numbers of trials in the option `trials`, plus the
    number given on the command line.
    """
    tables, notes = [], []
    for corpus in experiment.corpora:
        name, counts = corpus_name(corpus), _list_trials(experiment)
        by_setting: dict[str, list[Finding]] = {}
        for count in counts:
            for finding in workspace.audit(experiment, corpus, trials=count):
                title = finding.plan if len(counts) == 1 else f"{finding.bound.trials:,} trials"
                by_setting.setdefault(title, []).append(finding)
        tables.append(_tabulate_settings(by_setting, f"{name}: eps_emp by setting"))
        ranks = rankings(by_setting)
        title = f"{name}: Kendall's tau of the ranking of mechanisms"
        if ranks:  # one mechanism has no ranking
            tables.append(Table(title, ("settings", "epsilon", "tau"), tuple(ranks)))
        known = [tau for _, _, tau in ranks if isinstance(tau, float)]
        if known:
            notes.append(
                f"{name}: mean tau {np.mean(known):.2f} over {len(known)} pairs of settings and epsilon, "
                f"least {min(known):.2f}"
            )
        if experiment.options.get("agreement"):
            texts = RunDirectory(workspace.folder(corpus, experiment.trials)).corpus().texts
            encoder = experiment.options["agreement"]
            tables.append(agreement(texts, encoder, experiment.trials))
    return Outcome((*tables, *_audit_also(experiment, workspace)), {}, tuple(notes))


def _list_trials(experiment: Experiment) -> list[int]:
    """Return the numbers of trials to try."""
    given = [experiment.trials] if "trials" in experiment.changed else []
    return sorted({*experiment.options.get("trials", [experiment.trials]), *given})


def _audit_also(experiment: Experiment, workspace: Workspace) -> list[Table]:
    """Return tables of settings that are tried only on some mechanisms and corpora."""
    also = dict(experiment.options.get("also", {}))
    tables = []
    for corpus in also.pop("corpora", []):
        by_plan: dict[str, list[Finding]] = {}
        for finding in workspace.audit(experiment, corpus, **also):
            by_plan.setdefault(finding.plan, []).append(finding)
        tables.append(_tabulate_settings(by_plan, f"{corpus_name(corpus)}: eps_emp by more settings"))
    return tables


def compare_attacks(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the trials in which two attacks disagree."""
    first, second = experiment.options["pair"]
    tables: list[Table] = []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        examples = int(experiment.options.get("examples", 2))
        stored = disagreements(result.run, (first, second), {}, examples)
        own = {(f.plan, f.label, f.epsilon) for f in result}
        entries = [entry for entry in stored if (entry.plan, entry.mechanism, entry.epsilon) in own]
        headings = ("mechanism", "epsilon", "both right", f"only {first}", f"only {second}", "neither")
        rows = tuple((d.mechanism, d.epsilon, *astuple(d.counts)) for d in entries)
        tables.append(Table(f"{name}: trials by who was right", headings, rows))
        shown = tuple((d.mechanism, d.epsilon, e.right, e.output, e.source, e.mistaken or "(no answer)")
                      for d in entries for e in d.examples)  # fmt: skip
        titles = ("mechanism", "epsilon", "right", "rewrite", "source", "named by the other")
        tables.append(Table(f"{name}: examples", titles, shown, texts=True))
    return Outcome(tuple(tables))


def by_epsilon(result: AuditResult, title: str) -> Table:
    """Return eps_emp with a row per plan, attack and mechanism and a column per epsilon."""
    epsilons = sorted({f.epsilon for f in result})
    by_key = {(f.plan, f.attack, f.label, f.epsilon): f for f in result}
    rows = []
    for plan, attack, label in dict.fromkeys((f.plan, f.attack, f.label) for f in result):
        findings = [by_key.get((plan, attack, label, epsilon)) for epsilon in epsilons]
        rows.append((plan, attack, label, *(None if f is None else f.bound.lower for f in findings)))
    ceiling = max((f.bound.ceiling for f in result), default=0.0)
    headings = ("plan", "attack", "mechanism", *(epsilon.name for epsilon in epsilons))
    return Table(f"{title} (ceiling {ceiling:.2f})", headings, tuple(rows))


def trends(result: AuditResult) -> list[str]:
    """Return in words how eps_emp changes with epsilon, for every mechanism and attack of the first plan."""
    notes = []
    first = next((f.plan for f in result), "")
    for attack, label in dict.fromkeys((f.attack, f.label) for f in result if f.plan == first):
        line = [f for f in result if (f.plan, f.attack, f.label) == (first, attack, label)]
        values = [f.bound.lower for f in sorted(line, key=lambda f: f.epsilon)]
        notes.append(f"{label} under {attack}: {trend(values)}, {values[0]:.2f} to {values[-1]:.2f}")
    return notes


def trend(values: Sequence[float]) -> str:
    """Return whether values rise, fall or stay flat; steps within noise do not count."""
    steps = np.diff(values)
    rises, falls = bool((steps > _STEP).any()), bool((steps < -_STEP).any())
    if rises and falls:
        return "rises and falls"
    if not rises and not falls:
        grown = values[-1] - values[0] if len(values) else 0.0
        return "rises" if grown > _STEP else "falls" if grown < -_STEP else "flat"
    return "rises" if rises else "falls"


def rankings(by_setting: Mapping[str, Sequence[Finding]]) -> list[tuple[Cell, ...]]:
    """Return Kendall's tau of the rankings of mechanisms under every two settings, per attack and epsilon."""
    rows: list[tuple[Cell, ...]] = []
    titles = list(by_setting)
    for i, first in enumerate(titles):
        for second in titles[i + 1 :]:
            before, after = _index_bounds(by_setting[first]), _index_bounds(by_setting[second])
            for key in sorted({(attack, epsilon) for attack, epsilon, _ in before if epsilon.is_given}):
                labels = [n for a, e, n in before if (a, e) == key and (a, e, n) in after]
                if len(labels) < 2:
                    continue
                pairs = [(before[*key, label], after[*key, label]) for label in labels]
                tau = rank_agreement(*zip(*pairs, strict=True))
                rows.append((f"{first} and {second}, {key[0]}", key[1], tau))
    return rows


def _index_bounds(findings: Sequence[Finding]) -> dict[tuple[str, Nominal, str], float]:
    return {(f.attack, f.epsilon, f.label): f.bound.lower for f in findings}


def _tabulate_settings(by_setting: Mapping[str, Sequence[Finding]], title: str) -> Table:
    """Return eps_emp with a column per setting."""
    values = {setting: _index_bounds(findings) for setting, findings in by_setting.items()}
    keys = dict.fromkeys(key for column in values.values() for key in column)
    rows = tuple(
        (label, epsilon, attack, *(column.get((attack, epsilon, label)) for column in values.values()))
        for attack, epsilon, label in keys
    )
    return Table(title, ("mechanism", "epsilon", "attack", *values), rows)


def _tabulate_hidden(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    headings = ("plan", "mechanism", "epsilon", "internal", "external", "effect", "share of empty rewrites")
    keys = ("plan", "mechanism", "epsilon", "internal", "external", "effect", "empty")
    return Table(
        f"{name}: post-processing effect", headings, tuple(tuple(row[k] for k in keys) for row in rows)
    )


MAKERS: dict[str, Callable[[Experiment, Workspace], Outcome]] = {
    "calibration": calibrate,
    "ablation": ablate,
    "convention": convert_units,
    "complementarity": compare_attacks,
}
