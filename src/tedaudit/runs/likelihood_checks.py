"""Repeats the check of likelihoods on fresh trials, while the model is loaded, if the run's own fail it.

The guesses of a likelihood attack are right as often as its scores promise, or the likelihoods are not those
of what the mechanism draws (`estimators.likelihood_check`). Right ones fail in one table of 1,000; they fail
twice, with new secrets and new noise, in one of a million. The candidate sets are those of the plan.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.estimators import find_estimator
from tedaudit.estimators.likelihood_check import (
    LIKELIHOOD,
    SCORED,
    TEXT_LIKELIHOOD,
    Calibration,
    check_guesses,
    check_text_guesses,
)
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Floats, Plan
from tedaudit.runs.bench import Bench
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.jobs import Job, PreparedAttack
from tedaudit.runs.likelihood_game import LikelihoodGame, list_candidates
from tedaudit.runs.preparation import PreparedAudit
from tedaudit.seeding import derive, uniforms
from tedaudit.trials.judge import KEPT_SCORES, judge, tie_keys

LEAST = 2_000  # trials of a repeat: as many as the run has, if these are more
_MOST = 10_000
_PIECE = 500  # trials whose outputs are in memory at a time
_PURPOSE = "likelihood check"


def repeat_checks(job: Job, audit: PreparedAudit, bench: Bench) -> Iterator[dict[str, Any]]:
    """Yield what fresh trials say of likelihoods that the run's own trials fail, if nobody has asked yet."""
    estimator = find_estimator(audit.plans[job.plan_name]["estimator"])
    if estimator.rows_per_trial * job.planned.rounds > 1 or job.candidates > KEPT_SCORES:
        return
    known = [_name(told) for told in audit.store.manifest().get("likelihoods", [])]
    for epsilon in job.epsilons:
        for name, attack in job.attacks.items():
            setting: dict[str, Any] = {"plan": job.plan_name, "mechanism": job.label}
            setting |= {"epsilon": epsilon.json, "attack": name}
            of_text = attack.card.score == TEXT_LIKELIHOOD
            if not (of_text or attack.card.score == LIKELIHOOD) or _name(setting) in known:
                continue
            definition = job.guesses_at(epsilon, name)
            table = GuessTable(definition.folder, definition.check())
            columns, ends = table.read(SCORED), table.read_ends() if of_text else None
            own = _check(columns, ends, job.plan.secret, job.candidates, of_text=of_text)
            if own is None or not own.fails or own.impossible:  # one impossible output is enough
                continue
            again = _play_again(job, audit, bench, attack, epsilon)
            if again is not None:
                yield {**setting, "calibration": asdict(again)}


def _name(told: dict[str, Any]) -> tuple[Any, ...]:
    return told["plan"], told["mechanism"], told["epsilon"], told["attack"]


def _play_again(
    job: Job, audit: PreparedAudit, bench: Bench, attack: PreparedAttack, epsilon: Nominal
) -> Calibration | None:
    """Return the check on fresh trials; None if no output of them has a likelihood."""
    texts, seed = audit.corpus.texts, audit.spec.seed
    game = LikelihoodGame(
        bench=bench, mechanism=job.reference, attack=attack.reference, sees=attack.card.sees, texts=texts
    )
    plan = _draw_again(job, seed, len(texts))
    parts: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in SCORED}
    secrets, ends = [], []
    for start in range(0, len(plan), _PIECE):
        piece, purpose = plan.rows(start, start + _PIECE), f"{_PURPOSE} {job.plan_name} {start}"
        guesses, rows = game.play(piece, epsilon, seed, purpose)
        if not len(rows):
            continue
        fair = Plan(None, piece.secret[rows], np.zeros(len(rows), dtype=np.int32))
        keys = tie_keys(seed, purpose, "ties", range(len(rows)))
        judged = judge(guesses, np.zeros(len(rows), dtype=np.bool_), fair, keys)
        secrets.append(fair.secret)
        if judged.losses is not None and judged.losses.ends is not None:
            ends.append(judged.losses.ends)
        for name in SCORED:
            parts[name].append(getattr(judged, name))
    if not secrets:
        return None
    columns = {name: np.concatenate(values) for name, values in parts.items()}
    of_text, known = attack.card.score == TEXT_LIKELIHOOD, np.concatenate(ends) if ends else None
    return _check(columns, known, np.concatenate(secrets), job.candidates, of_text=of_text)


def _check(
    columns: Mapping[str, npt.NDArray[Any]],
    ends: Floats | None,
    secret: npt.NDArray[Any],
    candidates: int,
    *,
    of_text: bool,
) -> Calibration | None:
    """Hold guesses against their likelihoods, of texts where they are known or of what was drawn."""
    if of_text:
        return check_text_guesses(columns, ends, secret)
    return check_guesses(columns, secret, candidates)


def _draw_again(job: Job, seed: int, size: int) -> Plan:
    """Return candidate sets of a plan, again from the first if there are too few, with new secrets."""
    trials = min(max(len(job.plan), LEAST), _MOST)
    sets = np.resize(list_candidates(job.plan, size), (trials, job.candidates))
    coins = uniforms([derive(seed, _PURPOSE, job.plan_name)], trials)[0]
    secret = np.minimum((coins * job.candidates).astype(np.int32), job.candidates - 1)
    return Plan(sets, secret, np.zeros(trials, dtype=np.int32))
