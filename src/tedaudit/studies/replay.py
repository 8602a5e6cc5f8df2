"""Does one trial again: the same candidates, the same noise, the same guess, or says what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tedaudit.errors import PluginError, RunDirectoryError, SpecError, join_names
from tedaudit.estimators import find_estimator
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Rewrite
from tedaudit.runs.bench import RewriteChunk
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.jobs import Job
from tedaudit.runs.preparation import PreparedAudit, prepare, restore_audit
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.runs.schedule import Schedule, open_schedules
from tedaudit.runs.steps import Worker, open_worker
from tedaudit.text.plain_data import PlainData
from tedaudit.trials.judge import Wanted, make_draws, number_draws


@dataclass(frozen=True, slots=True)
class Replayed(PlainData):
    """One row of a plan, as stored and as done again."""

    plan: str
    label: str
    epsilon: Nominal
    attack: str
    row: int
    candidates: tuple[str, ...]
    positions: tuple[int, ...]
    secret: int
    stored: Rewrite
    again: Rewrite
    scores: tuple[float, ...]
    choice: int
    right: bool
    in_json: ClassVar[str] = (
        "plan, label as mechanism, epsilon.name as epsilon, attack, row, candidates, positions, secret, "
        "stored.text as output, stored.error as error, again.text as output_again, same, scores, choice, "
        "right"
    )

    @property
    def same(self) -> bool:
        """Whether the mechanism gave the stored output again."""
        return (self.stored.text, self.stored.error) == (self.again.text, self.again.error)


def replay(run: RunDirectory, trial: int, only: Mapping[str, str]) -> list[Replayed]:
    """Return a trial for every mechanism, epsilon and attack that `only` lets through.

    A trial has as many rows as its estimator rewrites candidates.
    """
    plans = run.manifest()["plans"]
    spec = restore_audit(run)
    try:
        audit = prepare(spec)
    except (PluginError, RunDirectoryError) as error:
        raise SpecError(
            f"The trials of '{run.root}' cannot be done again here. {error} A function or plug-in object "
            "that was handed over in Python is known to that process only: audit it by its name, such as "
            "py:package.module:name, to replay its trials."
        ) from error
    worker = open_worker(audit)
    schedules = {(one.job.label, one.job.plan_name): one for one in open_schedules(audit)}
    replayed = []
    for job, epsilon, attack in _choose(audit, only):
        rows_per_trial = find_estimator(plans[job.plan_name]["estimator"]).rows_per_trial * job.planned.rounds
        if not 0 <= trial < len(job.plan) // rows_per_trial:
            last = len(job.plan) // rows_per_trial - 1
            raise SpecError(f"There is no trial {trial}; plan '{job.plan_name}' has 0 to {last}.")
        rows = range(trial * rows_per_trial, (trial + 1) * rows_per_trial)
        replayed += [
            _replay_row(schedules[job.label, job.plan_name], epsilon, attack, row, worker) for row in rows
        ]
    return replayed


def _choose(audit: PreparedAudit, only: Mapping[str, str]) -> list[tuple[Job, Nominal, str]]:
    """Return the tables that `only` lets through; if there is none, say what there is."""
    tables = [(job, e, attack) for job in audit.jobs for e in job.epsilons for attack in job.attacks]
    names = [
        {"plan": job.plan_name, "mechanism": job.label, "epsilon": epsilon.name, "attack": attack}
        for job, epsilon, attack in tables
    ]
    chosen = [
        table
        for table, named in zip(tables, names, strict=True)
        if all(named[key] == value for key, value in only.items())
    ]
    if not chosen:
        asked = join_names(f"{key} {value}" for key, value in only.items())
        offered = "; ".join(f"{key}: {join_names({named[key] for named in names})}" for key in only)
        raise SpecError(
            f"The run, as last called, has nothing with {asked}. It has {offered or 'no attack'}."
        )
    return chosen


def _replay_row(schedule: Schedule, epsilon: Nominal, attack: str, row: int, worker: Worker) -> Replayed:
    job, texts = schedule.job, worker.shared.texts
    table = job.guesses_at(epsilon, attack)
    choices = GuessTable(table.folder, table.check()).read(["choice"], row + 1)["choice"]
    if len(choices) <= row:
        raise SpecError(f"Row {row} of plan '{job.plan_name}' has not been done yet; finish the run first.")
    step = schedule.make_guessing(epsilon, attack, range(row, row + 1), job.stretch_of(attack, row))
    plan = step.plan
    wanted = Wanted(plan.source, plan.replicate, np.array([float(epsilon)]))
    draws = number_draws(texts, wanted) if job.is_numbered else make_draws(texts, wanted, step.seed)
    again = worker.bench.perform(RewriteChunk(job.reference, draws))
    guesses = worker.answer(step)[0]
    rewrites = job.rewrites_at(epsilon)
    stored = RewriteTable(rewrites.folder, rewrites.check()).fetch(plan.source, plan.replicate)
    positions = range(len(texts)) if plan.candidates is None else plan.candidates[0].tolist()
    choice, secret = int(choices[row]), int(plan.secret[0])
    return Replayed(
        plan=job.plan_name,
        label=job.label,
        epsilon=epsilon,
        attack=attack,
        row=row,
        candidates=tuple(texts[i] for i in positions),
        positions=tuple(positions),
        secret=secret,
        stored=stored[0],
        again=again[0],
        scores=tuple(guesses[0].scores.tolist()),
        choice=choice,
        right=choice == secret,
    )
