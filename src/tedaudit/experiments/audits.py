"""Experiments that are audits: calibration curves, ablations, conventions, complementarity.

Every one of them runs on the run directories that all experiments of a scale share.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import numpy as np

from tedaudit.estimators.paired import rank_agreement
from tedaudit.experiments.agreement import agreement
from tedaudit.experiments.convention import converted
from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Cell, Outcome, Table
from tedaudit.experiments.place import Place, corpus_name
from tedaudit.reports.figures import figure, figures_missing
from tedaudit.results.disagreement import disagreements
from tedaudit.results.reading import AuditResult, Finding, post_processing
from tedaudit.store.directory import RunDirectory, epsilon_name

_STEP = 0.3  # a change of eps_emp that counts as one: about its interval at 10,000 trials


def calibrated(experiment: Experiment, place: Place) -> Outcome:
    """Return eps_emp against nominal epsilon for every corpus, and what decoders hide."""
    tables, figures, notes = [], {}, []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), place.audit(experiment, corpus)
        tables.append(by_epsilon(result, f"{name}: eps_emp"))
        hidden = post_processing(result)
        if hidden:
            tables.append(_hidden(hidden, name))
        notes += [f"{name}: {note}" for note in trends(result)]
        if not figures_missing():
            figures[name] = figure(list(result))
    return Outcome(tuple(tables), figures, tuple(notes))


def ablated(experiment: Experiment, place: Place) -> Outcome:
    """Return eps_emp side by side for every setting, and how alike the rankings are.

    Settings are plans (k, lambda, estimator), or numbers of trials by the option `trials`, to which a
    number of one's own is added.
    """
    tables, notes = [], []
    for corpus in experiment.corpora:
        name, counts = corpus_name(corpus), _trials(experiment)
        by_setting: dict[str, list[Finding]] = {}
        for count in counts:
            for one in place.audit(experiment, corpus, trials=count):
                title = one.plan if len(counts) == 1 else f"{one.bound.trials:,} trials"
                by_setting.setdefault(title, []).append(one)
        tables.append(_beside(by_setting, f"{name}: eps_emp by setting"))
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
            texts = RunDirectory(place.folder(corpus, experiment.trials)).corpus().texts
            encoder = experiment.options["agreement"]
            tables.append(agreement(texts, encoder, experiment.trials))
    return Outcome((*tables, *_also(experiment, place)), {}, tuple(notes))


def _trials(experiment: Experiment) -> list[int]:
    """Return the numbers of trials to try."""
    asked = [experiment.trials] if "trials" in experiment.changed else []
    return sorted({*experiment.options.get("trials", [experiment.trials]), *asked})


def _also(experiment: Experiment, place: Place) -> list[Table]:
    """Return tables of the settings that only some mechanisms and corpora are tried with."""
    also = dict(experiment.options.get("also", {}))
    tables = []
    for corpus in also.pop("corpora", []):
        by_plan: dict[str, list[Finding]] = {}
        for one in place.audit(experiment, corpus, **also):
            by_plan.setdefault(one.plan, []).append(one)
        tables.append(_beside(by_plan, f"{corpus_name(corpus)}: eps_emp by more settings"))
    return tables


def complementary(experiment: Experiment, place: Place) -> Outcome:
    """Return the trials where two attacks disagree."""
    first, second = experiment.options["pair"]
    tables: list[Table] = []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), place.audit(experiment, corpus)
        found = disagreements(RunDirectory(result.folder), (first, second), {},
                              int(experiment.options.get("examples", 2)))  # fmt: skip
        own = {(f.plan, f.label, f.epsilon) for f in result}
        found = [one for one in found if (one.plan, one.mechanism, one.epsilon) in own]
        headings = ("mechanism", "epsilon", "both right", f"only {first}", f"only {second}", "neither")
        rows = tuple((o.mechanism, o.epsilon, *astuple(o.counts)) for o in found)
        tables.append(Table(f"{name}: trials by who was right", headings, rows))
        shown = tuple((o.mechanism, o.epsilon, e.right, e.output, e.source, e.mistaken or "(no answer)")
                      for o in found for e in o.examples)  # fmt: skip
        titles = ("mechanism", "epsilon", "right", "rewrite", "source", "named by the other")
        tables.append(Table(f"{name}: examples", titles, shown, texts=True))
    return Outcome(tuple(tables))


def by_epsilon(result: AuditResult, title: str) -> Table:
    """Return eps_emp with a row per plan, attack and mechanism and a column per epsilon."""
    epsilons = sorted({f.epsilon for f in result})
    found = {(f.plan, f.attack, f.label, f.epsilon): f for f in result}
    rows = []
    for plan, attack, label in dict.fromkeys((f.plan, f.attack, f.label) for f in result):
        bounds = [found.get((plan, attack, label, epsilon)) for epsilon in epsilons]
        rows.append((plan, attack, label, *(None if one is None else one.bound.lower for one in bounds)))
    ceiling = max((f.bound.ceiling for f in result), default=0.0)
    headings = ("plan", "attack", "mechanism", *map(epsilon_name, epsilons))
    return Table(f"{title} (ceiling {ceiling:.2f})", headings, tuple(rows))


def trends(result: AuditResult) -> list[str]:
    """Return in words how eps_emp goes with epsilon, for every mechanism and attack of the first plan."""
    told = []
    first = next((f.plan for f in result), "")
    for attack, label in dict.fromkeys((f.attack, f.label) for f in result if f.plan == first):
        line = [f for f in result if (f.plan, f.attack, f.label) == (first, attack, label)]
        values = [f.bound.lower for f in sorted(line, key=lambda f: f.epsilon)]
        told.append(f"{label} under {attack}: {trend(values)}, {values[0]:.2f} to {values[-1]:.2f}")
    return told


def trend(values: Sequence[float]) -> str:
    """Return whether values rise, fall or stay, steps within noise left out."""
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
    for i, one in enumerate(titles):
        for other in titles[i + 1 :]:
            left, right = _values(by_setting[one]), _values(by_setting[other])
            for where in sorted({(attack, epsilon) for attack, epsilon, _ in left if epsilon < math.inf}):
                labels = [n for a, e, n in left if (a, e) == where and (a, e, n) in right]
                if len(labels) < 2:
                    continue
                pairs = [(left[*where, label], right[*where, label]) for label in labels]
                tau = rank_agreement(*zip(*pairs, strict=True))
                rows.append((f"{one} and {other}, {where[0]}", where[1], tau))
    return rows


def _values(findings: Sequence[Finding]) -> dict[tuple[str, float, str], float]:
    return {(f.attack, f.epsilon, f.label): f.bound.lower for f in findings}


def _beside(by_setting: Mapping[str, Sequence[Finding]], title: str) -> Table:
    """Return eps_emp with a column per setting."""
    values = {setting: _values(findings) for setting, findings in by_setting.items()}
    keys = dict.fromkeys(key for some in values.values() for key in some)
    rows = tuple(
        (label, epsilon, attack, *(some.get((attack, epsilon, label)) for some in values.values()))
        for attack, epsilon, label in keys
    )
    return Table(title, ("mechanism", "epsilon", "attack", *values), rows)


def _hidden(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    headings = ("plan", "mechanism", "epsilon", "internal", "external", "effect", "share of empty rewrites")
    keys = ("plan", "mechanism", "epsilon", "internal", "external", "effect", "empty")
    return Table(
        f"{name}: post-processing effect", headings, tuple(tuple(row[k] for k in keys) for row in rows)
    )


MAKERS: dict[str, Callable[[Experiment, Place], Outcome]] = {
    "calibration": calibrated,
    "ablation": ablated,
    "convention": converted,
    "complementarity": complementary,
}
