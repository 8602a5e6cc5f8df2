"""One scale for epsilons per token and per text, by basic composition over the tokens of a text.

The paper multiplies by the mean number of tokens per sentence, here as each mechanism tokenizes it. The
mean number of charged draws per rewrite is another factor. Neither is valid for every text; only the claim
for a whole text is, with the public cap on the number of draws.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tedaudit.estimators.paired import rank_agreement
from tedaudit.paper.definition import Experiment, Outcome, Workspace, corpus_name
from tedaudit.paper.probe_inputs import Subject, subjects
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import CutsTexts
from tedaudit.plugins.values import Plan
from tedaudit.reports.figures import figure
from tedaudit.reports.writers.figures import figures_missing
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.section import Cell, Column, Section, Table

_UNITS = ("token", "word")
_COLUMNS = (
    Column("mechanism", "label", 0), Column("nominal eps", "number", 0), Column("unit"),
    Column("attack", "label", 0), Column("tokens a text", "number", 2), Column("x sentence tokens", "number"),
    Column("released a text", "number", 2), Column("x released tokens", "number"),
    Column("claimed for a whole text", "number", 2), Column("TeDA bound", "number", 0),
)  # fmt: skip
_AXES = {
    "sentence": "$\\epsilon$ of a text: per token $\\times$ mean sentence tokens",
    "released": "$\\epsilon$ of a text: per token $\\times$ mean released tokens",
}


def convert_units(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return the TeDA bound against the epsilon of a whole text: one table and two figures per corpus."""
    sections, notes, figures = [], [], dict[str, Any]()
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), workspace.audit(experiment, corpus)
        lengths = _measure_lengths(experiment, result)
        plans = {plan: result.run.read_plan(plan) for plan in {finding.plan for finding in result}}
        factors = [_find_factors(finding, result, plans[finding.plan], lengths) for finding in result]
        rows = [_build_row(finding, *both) for finding, both in zip(result, factors, strict=True)]
        sections.append(Section(f"{name}: one scale", Table(_COLUMNS, tuple(rows))))
        sections += _rank_at_one_epsilon(result, [sentence for sentence, _ in factors], name)
        averages = ", ".join(f"{label} {tokens:.1f}" for label, tokens in lengths.items())
        notes.append(
            f"{name}: tokens a text on average, as each mechanism cuts it, with a mark of the end where its "
            f"tokenizer sets one: {averages}"
        )
        for number, (kind, axis) in enumerate({} if figures_missing() else _AXES.items()):
            pairs = [(finding, both[number]) for finding, both in zip(result, factors, strict=True)]
            scaled = [replace(f, epsilon=Nominal(f.epsilon * n)) for f, n in pairs if n is not None]
            if scaled:
                figures[f"{name}-{kind}"] = figure(scaled, axis, "TeDA bound")
    return Outcome(tuple(sections), figures, tuple(notes))


def _rank_at_one_epsilon(
    result: AuditResult, factors: Sequence[float | None], name: str
) -> Iterator[Section]:
    """Yield bounds where whole texts have one epsilon, and how similar that ranks mechanisms to nominal ones.

    Between the epsilons that were tried a bound is read off a straight line, over the logarithm of epsilon.
    """
    curves: dict[tuple[str, str], dict[float, float]] = {}
    nominal: dict[tuple[str, str], dict[float, float]] = {}
    for finding, factor in zip(result, factors, strict=True):
        key = finding.attack, finding.label
        if finding.epsilon.is_given and factor:
            nominal.setdefault(key, {})[float(finding.epsilon)] = finding.bound.lower
            curves.setdefault(key, {})[finding.epsilon * factor] = finding.bound.lower
    low = max((min(curve) for curve in curves.values()), default=0.0)
    high = min((max(curve) for curve in curves.values()), default=0.0)
    epsilons = [e for e in sorted({e for curve in nominal.values() for e in curve}) if low <= e <= high]
    if not epsilons:
        return
    bounds = {key: [_read_off(curve, e) for e in epsilons] for key, curve in curves.items()}
    columns = (_COLUMNS[3], _COLUMNS[0], *(Column(f"{e:g}", "number") for e in epsilons))
    rows: tuple[tuple[Cell, ...], ...] = tuple((*key, *values) for key, values in bounds.items())
    title = f"{name}: TeDA bound at one epsilon of a whole text (x sentence tokens)"
    yield Section(title, Table(columns, rows))
    taus: list[tuple[Cell, ...]] = []
    for attack in dict.fromkeys(attack for attack, _ in bounds):
        for place, epsilon in enumerate(epsilons):
            known = [key for key in bounds if key[0] == attack and epsilon in nominal[key]]
            pair = [bounds[key][place] for key in known], [nominal[key][epsilon] for key in known]
            taus.append((attack, epsilon, rank_agreement(*pair)))
    columns = (_COLUMNS[3], Column("epsilon", "number", 0), Column("tau", "number", 0))
    title = f"{name}: Kendall's tau to the ranking at equal nominal epsilons"
    yield Section(title, Table(columns, tuple(taus)))


def _read_off(curve: Mapping[float, float], epsilon: float) -> float:
    known = sorted(curve)
    return float(np.interp(math.log(epsilon), [math.log(e) for e in known], [curve[e] for e in known]))


def _measure_lengths(experiment: Experiment, result: AuditResult) -> dict[str, float]:
    """Return how many tokens a text has on average, for every mechanism that spends epsilon on each."""
    texts = result.run.corpus().texts
    spending = {finding.label for finding in result if _is_per_token(finding)}
    return {s.label: _average_length(s, texts) for s in subjects(experiment) if s.label in spending}


def _average_length(subject: Subject, texts: Sequence[str]) -> float:
    """Return the mean number of pieces, or of words between spaces if the mechanism shows no pieces."""
    cut = subject.mechanism.pieces if isinstance(subject.mechanism, CutsTexts) else str.split
    return float(np.mean([len(cut(text)) for text in texts]))


def _is_per_token(finding: Finding) -> bool:
    return finding.claim is not None and finding.claim.unit in _UNITS


def _find_factors(
    finding: Finding, result: AuditResult, plan: Plan, lengths: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """Return how often epsilon is spent on a text: per token, and per released token; None if unknown."""
    if not _is_per_token(finding):
        return 1.0, 1.0
    rows = plan.rows(0, finding.bound.guesses)
    released = result.rewrites(finding).mean_units(rows.source, rows.replicate)
    return lengths[finding.label], released


def _build_row(finding: Finding, tokens: float | None, released: float | None) -> tuple[Cell, ...]:
    claim, epsilon, per_token = finding.claim, finding.epsilon, _is_per_token(finding)
    return (
        finding.label, epsilon, "" if claim is None else claim.unit, finding.attack,
        tokens if per_token else None, None if tokens is None else epsilon * tokens,
        released if per_token else None, None if released is None else epsilon * released,
        None if claim is None or math.isinf(claim.total) else claim.total, finding.bound.lower,
    )  # fmt: skip
