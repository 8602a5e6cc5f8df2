"""Computes largest losses a second time, in float64 on the CPU, before anything is called certain.

A loss above a pure claim refutes it; one below says how loose the claim can be at most, if the most that any
output can lose is not known. An error in a logit is magnified by epsilon over the clip range, so that one
computation in float32 is not enough. The texts and the output are those of the run, and nothing is drawn
again but a latent that was not kept, with its key. It is certain as far as the mechanism's likelihood is
right: one that the trials refute accuses nobody.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tedaudit.errors import TedauditError
from tedaudit.models.loading import load_checkpoint
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.protocols import HasLatent, HasLikelihood, forbids_by_rule, makes_latents
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Rewrite
from tedaudit.results.certain_losses import CertainLoss, write_certain
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow, read_losses
from tedaudit.runs.runner import Progress
from tedaudit.trials.judge import Wanted, make_draws

SettingName = tuple[str, str, Nominal]  # plan, label and epsilon
_EXACT = {"dtype": "float64", "device": "cpu"}


def find_suspects(rows: Sequence[LossRow]) -> list[LossRow]:
    """Return the settings of which an output has a loss above a pure claim, as the run computed it."""
    return [row for row in _find_pure(rows) if row.sample.quantile(1.0) > _get_total(row)]


def _find_pure(rows: Sequence[LossRow]) -> list[LossRow]:
    """Return the settings with a finite claim without delta, and likelihoods that no trials speak against."""
    doubted = {(row.finding.label, row.finding.epsilon) for row in rows if row.refuted or row.doubt}
    return [
        row
        for row in rows
        if (row.finding.label, row.finding.epsilon) not in doubted
        and row.finding.claim is not None
        and row.finding.claim.total_delta == 0
        and math.isfinite(row.finding.claim.total)
    ]


def _get_total(row: LossRow) -> float:
    return math.inf if row.finding.claim is None else row.finding.claim.total


def confirm_losses(
    result: AuditResult, mechanisms: Mapping[str, Reference], progress: Progress = lambda *_: None
) -> bool:
    """Compute the largest loss of settings with a pure claim again; return whether the run now knows more.

    Those are the settings that are suspect, and those whose slack would not be known otherwise. Mechanisms go
    by their label. What is certain is kept in the run.
    """
    known = {(loss.plan, loss.label, loss.epsilon): loss for loss in result.certain}
    wanted = [pair for pair in _find_unconfirmed(result, known) if pair[0].finding.label in mechanisms]
    if wanted:  # the run is over, and in float64 its models take twice the memory
        load_checkpoint.cache_clear()
    new = False
    for number, (row, is_suspect) in enumerate(wanted):
        progress("largest losses again, in float64", number, len(wanted))
        stored = known.get(_name(row))
        try:
            loss = _recompute(result, row, build(mechanisms[row.finding.label]))
        except TedauditError:  # such as a model that is on another machine
            if is_suspect:
                raise
            continue
        if loss is not None and (stored is None or loss.lost > stored.lost):
            known[_name(row)], new = loss, True
    if new:
        write_certain(result.run, list(known.values()))
    return new


def _find_unconfirmed(
    result: AuditResult, known: Mapping[SettingName, CertainLoss]
) -> Iterator[tuple[LossRow, bool]]:
    """Yield the settings whose largest loss was not computed again yet, with whether they are suspect."""
    rows = read_losses(result)
    suspects = find_suspects(rows)
    for row in _find_pure(rows):
        is_suspect = any(row is suspect for suspect in suspects)
        stored = known.get(_name(row))
        is_done = stored is not None and stored.row == row.worst
        if not is_done and (is_suspect or row.supremum is None):
            yield row, is_suspect


def _name(row: LossRow) -> SettingName:
    return row.finding.plan, row.finding.label, row.finding.epsilon


def _make_exact(mechanism: Any) -> Any:
    """Return the same mechanism with a model in float64 on the CPU, if it has a model."""
    names = (
        {field.name for field in fields(mechanism)} if hasattr(mechanism, "__dataclass_fields__") else set()
    )
    exact = {name: value for name, value in _EXACT.items() if name in names}
    return replace(mechanism, **exact) if exact else mechanism


def _recompute(result: AuditResult, row: LossRow, mechanism: Any) -> CertainLoss | None:
    """Return the largest loss of a setting as a witness; None if the second computation does not agree."""
    finding, number = row.finding, row.worst
    plan, texts = result.run.read_plan(finding.plan), result.run.corpus().texts
    if plan.candidates is None or finding.claim is None or finding.rewrites > 1:
        return None
    source = int(plan.source[number])
    other = next((i for i in plan.candidates[number].tolist() if i != source), source)
    output = _fetch_output(result, row, mechanism)
    exact = _make_exact(mechanism)
    again = _compute_loss(exact, output, (texts[source], texts[other]), float(finding.epsilon))
    if again is None:
        return None
    loss = row.sample.quantile(1.0)
    found = CertainLoss(
        plan=finding.plan,
        label=finding.label,
        epsilon=finding.epsilon,
        attack=finding.attack,
        row=number,
        positions=(source, other),
        claim=finding.claim.total,
        loss=loss,
        again=again,
        forbidden=forbids_by_rule(exact) and math.isinf(loss),
    )
    return found if found.lost > 0 else None


def _fetch_output(result: AuditResult, row: LossRow, mechanism: Any) -> Rewrite:
    """Return the output with the largest loss; its key determines a latent that no table has."""
    plan = result.run.read_plan(row.finding.plan)
    source, replicate = plan.source[[row.worst]], plan.replicate[[row.worst]]
    table = result.rewrites(row.finding)
    [stored] = table.fetch(source, replicate)
    if stored.latent is not None or not makes_latents(mechanism):
        return stored
    wanted = Wanted(source, replicate, np.array([float(row.finding.epsilon)]))
    seed = int(result.run.manifest()["spec"]["seed"])
    latent = mechanism.latents(make_draws(result.run.corpus().texts, wanted, seed)).row(0)
    return replace(stored, latent=latent)


def _compute_loss(mechanism: Any, output: Rewrite, pair: tuple[str, str], epsilon: float) -> float | None:
    """Return ln p(output | first) - ln p(output | second); None if the first cannot have it."""
    if isinstance(mechanism, HasLikelihood) and output.tokens is not None:
        scores = mechanism.log_likelihood(output.tokens, pair, epsilon)
    elif isinstance(mechanism, HasLatent) and output.latent is not None:
        scores = mechanism.log_density(output.latent, mechanism.encode(pair), epsilon)
    else:
        return None
    first, second = np.asarray(scores, dtype=np.float64).tolist()
    return float(first - second) if math.isfinite(first) else None
