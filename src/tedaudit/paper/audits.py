"""Experiments that are audits: calibration curves, ablations, complementarity.

All of them use the run directories that the experiments of a scale share.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import clopper_pearson, confidence_sequence
from tedaudit.estimators.paired import Scale, mcnemar, paired_counts, paired_epsilon_interval
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.paper.definition import Experiment, Outcome, Workspace, corpus_name
from tedaudit.paper.rankings import describe_rankings, list_rankings, tabulate_rankings
from tedaudit.plugins.nominal import Nominal
from tedaudit.reports.figures import figure
from tedaudit.reports.first_screen import Pivot, explain_losses, make_loss_pivots
from tedaudit.reports.writers.figures import figures_missing
from tedaudit.results.disagreement import disagreements
from tedaudit.results.findings import AuditResult, Finding, post_processing
from tedaudit.results.losses import read_losses
from tedaudit.results.section import Column, Section, Table
from tedaudit.runs.directory import RunDirectory
from tedaudit.seeding import derive
from tedaudit.trials.candidates import Sampling, candidate_sets
from tedaudit.trials.pool import Pool

_WHAT = (Column("mechanism", "label", 0), Column("epsilon", "number", 0))
_PLAN, _ATTACK = Column("plan", rank=0), Column("attack", "label", 0)
_EXAMPLES = (
    *_WHAT, Column("right", "label", 0), Column("rewrite", "text"), Column("source", "text"),
    Column("named by the other", "text"),
)  # fmt: skip


def calibrate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the TeDA bound against nominal epsilon for every corpus, what decoders hide, and losses.

    The option `pair` names two attacks: the first is drawn and described, and it is told whether both rank
    mechanisms alike.
    """
    sections, figures, notes = [], {}, []
    losses: list[Pivot] = []
    pair = experiment.options.get("pair", [])
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        sections.append(by_epsilon(result, f"{name}: TeDA bound"))
        if pair:
            by_attack = {
                attack: [replace(f, attack="") for f in result if f.attack == attack] for attack in pair
            }
            rankings = list(list_rankings(by_attack))
            sections.append(tabulate_rankings(rankings, name))
            notes += describe_rankings(rankings, name)
            result = replace(result, findings=tuple(f for f in result if f.attack == pair[0]))
        hidden = post_processing(result)
        if hidden:
            sections.append(_tabulate_hidden(hidden, name))
        pivots = make_loss_pivots(read_losses(result))
        sections += [_tabulate_losses(pivot, name) for pivot in pivots]
        losses += pivots
        notes += [f"{name}: {note}" for note in describe_trends(result)]
        if not figures_missing():
            figures[name] = figure(list(result), bound="TeDA bound")
    notes += [explain_losses(losses)] if losses else []
    return Outcome(tuple(sections), figures, tuple(notes))


def ablate(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the TeDA bound side by side for every setting, and how similar the rankings are.

    Settings are plans (k, lambda, estimator), or the numbers of trials in the option `trials`, plus the
    number given on the command line.
    """
    sections, notes = [], []
    for corpus in experiment.corpora:
        name, counts = corpus_name(corpus), _list_trials(experiment)
        by_setting: dict[str, list[Finding]] = {}
        for count in counts:
            for finding in workspace.audit(experiment, corpus, trials=count):
                title = finding.plan if len(counts) == 1 else f"{finding.bound.trials:,} trials"
                by_setting.setdefault(title, []).append(finding)
        sections.append(_tabulate_settings(by_setting, f"{name}: TeDA bound by setting"))
        rankings = list(list_rankings(by_setting))
        if rankings:  # one mechanism has no ranking
            sections.append(tabulate_rankings(rankings, name))
        notes += describe_rankings(rankings, name)
        if experiment.options.get("agreement"):
            texts = RunDirectory(workspace.folder(corpus, experiment.trials)).corpus().texts
            encoder = experiment.options["agreement"]
            sections.append(agreement(texts, encoder, experiment.trials))
    return Outcome((*sections, *_audit_also(experiment, workspace)), {}, tuple(notes))


def _list_trials(experiment: Experiment) -> list[int]:
    """Return the numbers of trials to try."""
    given = [experiment.trials] if "trials" in experiment.changed else []
    return sorted({*experiment.options.get("trials", [experiment.trials]), *given})


def _audit_also(experiment: Experiment, workspace: Workspace) -> list[Section]:
    """Return sections of settings that are tried only on some mechanisms and corpora."""
    also = dict(experiment.options.get("also", {}))
    sections = []
    for corpus in also.pop("corpora", []):
        by_plan: dict[str, list[Finding]] = {}
        for finding in workspace.audit(experiment, corpus, **also):
            by_plan.setdefault(finding.plan, []).append(finding)
        sections.append(_tabulate_settings(by_plan, f"{corpus_name(corpus)}: TeDA bound by more settings"))
    return sections


def compare_attacks(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the trials in which two attacks disagree."""
    first, second = experiment.options["pair"]
    sections: list[Section] = []
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        examples = int(experiment.options.get("examples", 2))
        entries = disagreements(result, (first, second), {}, examples)
        who = ("both right", f"only {first}", f"only {second}", "neither")
        rows = tuple((d.mechanism, d.epsilon, *astuple(d.counts)) for d in entries)
        table = Table((*_WHAT, *(Column(one, "number") for one in who)), rows)
        sections.append(Section(f"{name}: trials by who was right", table))
        shown = tuple((d.mechanism, d.epsilon, e.right, e.output, e.source, e.mistaken or "(no answer)")
                      for d in entries for e in d.examples)  # fmt: skip
        sections.append(Section(f"{name}: examples", Table(_EXAMPLES, shown)))
    return Outcome(tuple(sections))


def by_epsilon(result: AuditResult, title: str) -> Section:
    """Return the TeDA bound with a row per plan, attack and mechanism and a column per epsilon."""
    epsilons = sorted({f.epsilon for f in result})
    by_key = {(f.plan, f.attack, f.label, f.epsilon): f for f in result}
    rows = []
    for plan, attack, label in dict.fromkeys((f.plan, f.attack, f.label) for f in result):
        findings = [by_key.get((plan, attack, label, epsilon)) for epsilon in epsilons]
        rows.append((plan, attack, label, *(None if f is None else f.bound.lower for f in findings)))
    ceiling = max((f.bound.ceiling for f in result), default=0.0)
    columns = (_PLAN, _ATTACK, _WHAT[0], *(Column(epsilon.name, "number") for epsilon in epsilons))
    return Section(f"{title} (ceiling {ceiling:.2f})", Table(columns, tuple(rows)))


def _index_bounds(findings: Sequence[Finding]) -> dict[tuple[str, Nominal, str], float]:
    return {(f.attack, f.epsilon, f.label): f.bound.lower for f in findings}


def _tabulate_settings(by_setting: Mapping[str, Sequence[Finding]], title: str) -> Section:
    """Return the TeDA bound with a column per setting."""
    values = {setting: _index_bounds(findings) for setting, findings in by_setting.items()}
    keys = dict.fromkeys(key for column in values.values() for key in column)
    rows = tuple(
        (label, epsilon, attack, *(column.get((attack, epsilon, label)) for column in values.values()))
        for attack, epsilon, label in keys
    )
    return Section(title, Table((*_WHAT, _ATTACK, *(Column(one, "number") for one in values)), rows))


def _tabulate_hidden(rows: Sequence[Mapping[str, Any]], name: str) -> Section:
    keys = ("plan", "mechanism", "epsilon", "internal", "external", "effect", "empty")
    numbers = ("internal", "external", "effect", "share of empty rewrites")
    columns = (_PLAN, *_WHAT, *(Column(one, "number") for one in numbers))
    table = Table(columns, tuple(tuple(row[k] for k in keys) for row in rows))
    return Section(f"{name}: post-processing effect", table)


def _tabulate_losses(pivot: Pivot, name: str) -> Section:
    """Return what is lost, by mechanism and epsilon; nothing stands where it is not known."""
    cells = [[pivot.cells.get((label, e)) for e in pivot.epsilons] for label in pivot.mechanisms]
    rows = tuple(
        (label, *("" if cell is None else ", ".join((cell.value, *cell.below)) for cell in row))
        for label, row in zip(pivot.mechanisms, cells, strict=True)
    )
    columns = _WHAT[0], *(Column(epsilon.name, "figures") for epsilon in pivot.epsilons)
    return Section(f"{name}: {pivot.title}", Table(columns, rows))


# --- Which lambda gives which neighbours: how often a drawn candidate is among the furthest or nearest.

LAMBDAS = (-1e5, -1e4, -1e3, -1e2, 0.0, 1e2, 1e3, 1e4, 1e5)
_TOPS = (1, 10)
_ROWS = 256  # trials whose similarities are in memory at a time


def agreement(texts: Sequence[str], encoder: str, trials: int, lambdas: Sequence[float] = LAMBDAS) -> Section:
    """Return the share of second candidates among the m furthest and m nearest texts of the first."""
    loaded = load_encoder(encoder)
    loaded.fit(texts)
    pool = Pool(loaded.encode(texts))
    rows = []
    for temperature in lambdas:
        sampling = Sampling(2, temperature=temperature)
        sets = candidate_sets(pool, sampling, range(trials), derive(0, "agreement"))
        counts = sum(
            _count_neighbours(pool, sets[start : start + _ROWS]) for start in range(0, trials, _ROWS)
        )
        rows.append((temperature, *(float(count) / trials for count in np.atleast_1d(counts))))
    places = [Column(f"among {m} {what}", "number") for what in ("furthest", "nearest") for m in _TOPS]
    table = Table((Column("lambda", "number", 0), *places), tuple(rows))
    return Section("how often the candidate drawn is among the neighbours", table)


def _count_neighbours(pool: Pool, sets: np.ndarray) -> np.ndarray:
    """Return, for a few trials, how many candidates are in each group of neighbours; ties count as inside."""
    similarity = pool.similarity(sets[:, :1])
    rows = np.arange(len(sets))
    own = similarity[rows, sets[:, 1]][:, None]
    similarity[rows, sets[:, 0]] = np.nan  # a text is not its own neighbour
    further = (similarity < own - 1e-9).sum(axis=1)
    nearer = (similarity > own + 1e-9).sum(axis=1)
    return np.array([(count < m).sum() for count in (further, nearer) for m in _TOPS])


# --- How TeDA bounds change with epsilon, in words: a change counts if paired trials tell it from none.

Outcomes = npt.NDArray[np.bool_]
_ERROR = 0.01  # of all comparisons of a line together


def describe_trends(result: AuditResult) -> list[str]:
    """Return a line for every mechanism and attack of the first plan whose trials have one guess."""
    plan = next((f.plan for f in result if f.one_guess_per_trial), "")
    own = [f for f in result if f.plan == plan]
    notes = []
    for attack, label in dict.fromkeys((f.attack, f.label) for f in own):
        line = sorted((f for f in own if (f.attack, f.label) == (attack, label)), key=lambda f: f.epsilon)
        outcomes = [_read_outcomes(result, finding) for finding in line]
        span = f"{line[0].bound.lower:.2f} to {line[-1].bound.lower:.2f}"
        told = trend(outcomes, any_time=_is_any_time(line))
        notes.append(
            f"{label} under {attack}: success {told}; bound {span}{_describe_change(line, outcomes)}"
        )
    return notes


def trend(outcomes: Sequence[Outcomes], error: float = _ERROR, *, any_time: bool = False) -> str:
    """Return whether success rises, falls or stays flat from each of these to a later one.

    `outcomes` has, for each epsilon in order, which of the same trials were right. Any two are
    compared by McNemar's exact test, at an equal share of the error.
    """
    pairs = list(combinations(outcomes, 2))
    rises = falls = False
    for before, after in pairs:
        trials = min(len(before), len(after))
        counts = paired_counts(before[:trials], after[:trials])
        if mcnemar(counts, any_time=any_time) <= error / len(pairs):
            rises |= counts.second_only > counts.first_only
            falls |= counts.second_only < counts.first_only
    if rises and falls:
        return "rises and falls"
    return "rises" if rises else "falls" if falls else "flat within the error of these trials"


def _describe_change(line: Sequence[Finding], outcomes: Sequence[Outcomes]) -> str:
    """Return the interval of the difference of epsilons from the first to the last."""
    if len(line) < 2:
        return ""
    trials = min(len(outcomes[0]), len(outcomes[-1]))
    counts = paired_counts(outcomes[0][:trials], outcomes[-1][:trials])
    scales = tuple(Scale(f.bound.candidates, f.bound.delta) for f in (line[0], line[-1]))
    interval = confidence_sequence if _is_any_time(line) else clopper_pearson
    low, high = paired_epsilon_interval(counts, (scales[0], scales[1]), _ERROR, interval)
    return f"; 99% interval of the change in the attack's epsilon {low:.2f} to {high:.2f} (paired)"


def _is_any_time(line: Sequence[Finding]) -> bool:
    """Return whether a number of trials was not fixed beforehand."""
    return any(finding.bound.any_time for finding in line)


def _read_outcomes(result: AuditResult, finding: Finding) -> Outcomes:
    choice = result.guesses(finding).choices().choice
    secret = result.run.read_plan(finding.plan).secret[: len(choice)]
    return np.asarray(choice == secret, dtype=np.bool_)
