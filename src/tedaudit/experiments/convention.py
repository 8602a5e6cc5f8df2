"""One scale for epsilons per token and per text, by basic composition over the tokens of a text.

The paper multiplies by the mean number of tokens of the sentences, here as each mechanism cuts them. The
mean number of charged draws of a rewrite is another one. What holds for every text is neither of them but
the claim for a whole text, with the public cap on the number of draws.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tedaudit.abilities import CutsTexts
from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Cell, Outcome, Table
from tedaudit.experiments.place import Place, corpus_name
from tedaudit.experiments.probe_inputs import Subject, subjects
from tedaudit.reports.figures import figure, figures_missing
from tedaudit.results.reading import AuditResult, Finding, plan_of, rewrites_of
from tedaudit.store.directory import RunDirectory
from tedaudit.types import Plan

_UNITS = ("token", "word")
_HEADINGS = (
    "mechanism", "nominal eps", "unit", "attack", "tokens a text", "x sentence tokens",
    "released a text", "x released tokens", "claimed for a whole text", "eps_emp",
)  # fmt: skip
_AXES = {
    "sentence": "$\\epsilon$ of a text: per token $\\times$ mean sentence tokens",
    "released": "$\\epsilon$ of a text: per token $\\times$ mean released tokens",
}


def converted(experiment: Experiment, place: Place) -> Outcome:
    """Return eps_emp against the epsilon of a whole text: a table and two figures for every corpus."""
    tables, notes, figures = [], [], dict[str, Any]()
    for corpus in experiment.corpora:
        name, result = corpus_name(corpus), place.audit(experiment, corpus)
        lengths = _lengths(experiment, result)
        run = RunDirectory(result.folder)
        plans = {plan: plan_of(run, plan) for plan in {one.plan for one in result}}
        factors = [_factors(one, result, plans[one.plan], lengths) for one in result]
        rows = [_row(one, *both) for one, both in zip(result, factors, strict=True)]
        tables.append(Table(f"{name}: one scale", _HEADINGS, tuple(rows)))
        told = ", ".join(f"{label} {tokens:.1f}" for label, tokens in lengths.items())
        notes.append(
            f"{name}: tokens a text on average, as each mechanism cuts it, with a mark of the end where its "
            f"tokenizer sets one: {told}"
        )
        for number, (kind, axis) in enumerate({} if figures_missing() else _AXES.items()):
            pairs = [(one, both[number]) for one, both in zip(result, factors, strict=True)]
            scaled = [replace(one, epsilon=one.epsilon * n) for one, n in pairs if n is not None]
            if scaled:
                figures[f"{name}-{kind}"] = figure(scaled, axis)
    return Outcome(tuple(tables), figures, tuple(notes))


def _lengths(experiment: Experiment, result: AuditResult) -> dict[str, float]:
    """Return how many tokens a text has on average, for every mechanism that spends epsilon on each."""
    texts = RunDirectory(result.folder).corpus().texts
    spending = {one.label for one in result if _per_token(one)}
    return {one.label: _mean_length(one, texts) for one in subjects(experiment) if one.label in spending}


def _mean_length(subject: Subject, texts: Sequence[str]) -> float:
    """Return the mean number of pieces; of words between spaces, where the mechanism shows none."""
    cut = subject.mechanism.pieces if isinstance(subject.mechanism, CutsTexts) else str.split
    return float(np.mean([len(cut(text)) for text in texts]))


def _per_token(one: Finding) -> bool:
    return one.claim is not None and one.claim.unit in _UNITS


def _factors(
    one: Finding, result: AuditResult, plan: Plan, lengths: Mapping[str, float]
) -> tuple[float | None, float | None]:
    """Return how often epsilon is spent on a text: per token, and per released one; None: not known."""
    if not _per_token(one):
        return 1.0, 1.0
    rows = plan.rows(0, one.bound.guesses)
    released = rewrites_of(result.folder, one).mean_units(rows.source, rows.replicate)
    return lengths[one.label], released


def _row(one: Finding, tokens: float | None, released: float | None) -> tuple[Cell, ...]:
    claim, many = one.claim, _per_token(one)
    return (
        one.label, one.epsilon, "" if claim is None else claim.unit, one.attack,
        tokens if many else None, None if tokens is None else one.epsilon * tokens,
        released if many else None, None if released is None else one.epsilon * released,
        None if claim is None or math.isinf(claim.total) else claim.total, one.bound.lower,
    )  # fmt: skip
