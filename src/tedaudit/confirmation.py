"""Computes losses above a claim a second time, in float64 on the CPU, before a violation is called certain.

An error in a logit is magnified by epsilon over the clip range, so that one computation in float32 is not
enough. The texts and the output are those of the run, and nothing is drawn again but a latent that was not
kept, with its key. It is certain as far as the mechanism's likelihood is right: one that the trials
refute accuses nobody.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from tedaudit.abilities import HasLatent, HasLikelihood, forbids_by_rule
from tedaudit.characters import replace_surrogates
from tedaudit.estimators.likelihood_check import ERROR, calibration_p
from tedaudit.plans.trials import Wanted, make_draws
from tedaudit.registry import Reference, build
from tedaudit.results.certain_losses import CertainLoss, is_certain, write_certain
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow, read_losses
from tedaudit.seeding import derive
from tedaudit.types import Rewrite

_EXACT = {"dtype": "float64", "device": "cpu"}


def find_suspects(rows: Sequence[LossRow]) -> list[LossRow]:
    """Return the settings of which an output has a loss above a pure claim, as the run computed it."""
    found = []
    for row in rows:
        claim = row.finding.claim
        if claim is None or claim.total_delta > 0 or not math.isfinite(claim.total):
            continue
        if row.sample.quantile(1.0) > claim.total and _fits(row):
            found.append(row)
    return found


def _fits(row: LossRow) -> bool:
    """Return whether the trials do not refute the likelihoods: the check of the contract suite."""
    losses = row.sample.losses
    if (losses == -math.inf).any():  # impossible for its own source
        return False
    return calibration_p(losses, losses > 0, derive(0, "confirmation")) > ERROR


def confirm_losses(result: AuditResult, mechanisms: Mapping[str, Reference]) -> bool:
    """Compute the largest loss of every suspect setting again; return whether the run now knows more.

    Mechanisms go by their label. What is certain is kept in the run.
    """
    known = {(loss.plan, loss.label, loss.epsilon): loss for loss in result.certain}
    new = False
    for row in find_suspects(read_losses(result)):
        setting = row.finding.plan, row.finding.label, row.finding.epsilon
        if setting in known or row.finding.label not in mechanisms:
            continue
        loss = _recompute(result, row, build(mechanisms[row.finding.label]))
        if loss is not None:
            known[setting], new = loss, True
    if new:
        write_certain(result.run, list(known.values()))
    return new


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
    if plan.candidates is None or finding.claim is None:
        return None
    source = int(plan.source[number])
    other = next((i for i in plan.candidates[number].tolist() if i != source), source)
    output = _fetch_output(result, row, mechanism)
    exact = _make_exact(mechanism)
    again = _compute_loss(exact, output, (texts[source], texts[other]), float(finding.epsilon))
    loss, claim = row.sample.quantile(1.0), finding.claim.total
    forbidden = forbids_by_rule(exact)
    if again is None or not is_certain(claim, loss, again, forbidden=forbidden):
        return None
    return CertainLoss(
        finding.plan, finding.label, finding.epsilon, finding.attack, number, (source, other), claim, loss,
        again, forbidden=forbidden and math.isinf(loss),
    )  # fmt: skip


def _fetch_output(result: AuditResult, row: LossRow, mechanism: Any) -> Rewrite:
    """Return the output with the largest loss; a latent that was not kept is made again with its key.

    If that gives another text, it is another output, and the stored one stays without its latent.
    """
    plan = result.run.read_plan(row.finding.plan)
    source, replicate = plan.source[[row.worst]], plan.replicate[[row.worst]]
    table = result.rewrites(row.finding)
    [stored] = table.fetch(source, replicate)
    if not table.lacks_latent(source, replicate).any():
        return stored
    wanted = Wanted(source, replicate, np.array([float(row.finding.epsilon)]))
    seed = int(result.run.manifest()["spec"]["seed"])
    [again] = mechanism.rewrite(make_draws(result.run.corpus().texts, wanted, seed))
    is_same = (replace_surrogates(again.text), again.error) == (stored.text, stored.error)
    if not is_same or again.latent is None:
        return stored
    return replace(stored, latent=np.asarray(again.latent, dtype=np.float32))


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
