"""Experiments that are audits: calibration curves, ablations, conventions, complementarity.

All of them use the run directories that the experiments of a scale share.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from tedaudit.experiments.agreement import agreement
from tedaudit.experiments.convention import convert_units
from tedaudit.experiments.definition import Experiment, corpus_name
from tedaudit.experiments.outcome import Outcome, Table
from tedaudit.experiments.rankings import describe_rankings, list_rankings, tabulate_rankings
from tedaudit.experiments.trends import describe_trends
from tedaudit.experiments.workspace import Workspace
from tedaudit.nominal import Nominal
from tedaudit.reports.figures import figure
from tedaudit.reports.writers.figures import figures_missing
from tedaudit.results.disagreement import disagreements
from tedaudit.results.findings import AuditResult, Finding, post_processing
from tedaudit.store.directory import RunDirectory


def calibrate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the TeDA bound against nominal epsilon for every corpus, and what decoders hide."""
    tables, figures, notes = [], {}, []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        tables.append(by_epsilon(result, f"{name}: TeDA bound"))
        hidden = post_processing(result)
        if hidden:
            tables.append(_tabulate_hidden(hidden, name))
        notes += [f"{name}: {note}" for note in describe_trends(result)]
        if not figures_missing():
            figures[name] = figure(list(result), bound="TeDA bound")
    return Outcome(tuple(tables), figures, tuple(notes))


def ablate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the TeDA bound side by side for every setting, and how similar the rankings are.

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
        tables.append(_tabulate_settings(by_setting, f"{name}: TeDA bound by setting"))
        rankings = list(list_rankings(by_setting))
        if rankings:  # one mechanism has no ranking
            tables.append(tabulate_rankings(rankings, name))
        notes += describe_rankings(rankings, name)
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
        tables.append(_tabulate_settings(by_plan, f"{corpus_name(corpus)}: TeDA bound by more settings"))
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
    """Return the TeDA bound with a row per plan, attack and mechanism and a column per epsilon."""
    epsilons = sorted({f.epsilon for f in result})
    by_key = {(f.plan, f.attack, f.label, f.epsilon): f for f in result}
    rows = []
    for plan, attack, label in dict.fromkeys((f.plan, f.attack, f.label) for f in result):
        findings = [by_key.get((plan, attack, label, epsilon)) for epsilon in epsilons]
        rows.append((plan, attack, label, *(None if f is None else f.bound.lower for f in findings)))
    ceiling = max((f.bound.ceiling for f in result), default=0.0)
    headings = ("plan", "attack", "mechanism", *(epsilon.name for epsilon in epsilons))
    return Table(f"{title} (ceiling {ceiling:.2f})", headings, tuple(rows))


def _index_bounds(findings: Sequence[Finding]) -> dict[tuple[str, Nominal, str], float]:
    return {(f.attack, f.epsilon, f.label): f.bound.lower for f in findings}


def _tabulate_settings(by_setting: Mapping[str, Sequence[Finding]], title: str) -> Table:
    """Return the TeDA bound with a column per setting."""
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
