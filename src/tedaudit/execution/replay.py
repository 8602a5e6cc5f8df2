"""Does one trial again: the same candidates, the same noise, the same guess, or says what differs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tedaudit.abilities import KnowsMechanism, Practises, Prepares
from tedaudit.corpora._given import Given
from tedaudit.errors import PluginError, RunDirectoryError, SpecError, listed
from tedaudit.execution.preparation import Job, Setting, prepare
from tedaudit.plans.trials import make_draws, stripped, tie_keys
from tedaudit.registry import build
from tedaudit.spec.model import parse_spec
from tedaudit.store.directory import RunDirectory, check_table, epsilon_name
from tedaudit.store.tables import GuessTable, RewriteTable
from tedaudit.types import Observation, Rewrite


@dataclass(frozen=True, slots=True)
class Replayed:
    """One row of a plan, as stored and as done again."""

    plan: str
    label: str
    epsilon: float
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

    @property
    def same(self) -> bool:
        """Whether the mechanism gave the stored output again."""
        return (self.stored.text, self.stored.error) == (self.again.text, self.again.error)

    def to_dict(self) -> dict[str, Any]:
        """Return the trial safe for JSON, texts included."""
        return {
            "plan": self.plan, "mechanism": self.label, "epsilon": epsilon_name(self.epsilon),
            "attack": self.attack, "row": self.row, "candidates": list(self.candidates),
            "positions": list(self.positions), "secret": self.secret, "output": self.stored.text,
            "error": self.stored.error, "output_again": self.again.text, "same": self.same,
            "scores": [score if math.isfinite(score) else None for score in self.scores],
            "choice": self.choice, "right": self.right,
        }  # fmt: skip


def replay(run: RunDirectory, trial: int, only: Mapping[str, str]) -> list[Replayed]:
    """Return a trial for every mechanism, epsilon and attack that `only` lets through.

    A trial of the baseline estimator has two rows: one for each of its rewrites.
    """
    plans = run.manifest()["plans"]
    corpus = {"name": "given", "live": Given(run.corpus())}
    spec = parse_spec({**run.manifest()["spec"], "out": str(run.root), "corpus": corpus})
    try:
        setting = prepare(spec)
    except (PluginError, RunDirectoryError) as error:
        raise SpecError(
            f"The trials of '{run.root}' cannot be done again here. {error} A function or plug-in object "
            "that was handed over in Python is known to that process only: audit it by its name, such as "
            "py:package.module:name, to replay its trials."
        ) from error
    found = []
    for job, epsilon, attack in _chosen(setting, only):
        per_trial = 2 if plans[job.plan_name]["estimator"] == "baseline" else 1
        if not 0 <= trial < len(job.plan) // per_trial:
            last = len(job.plan) // per_trial - 1
            raise SpecError(f"There is no trial {trial}; plan '{job.plan_name}' has 0 to {last}.")
        rows = range(trial * per_trial, (trial + 1) * per_trial)
        found += [_one(job, epsilon, attack, row, setting) for row in rows]
    return found


def _chosen(setting: Setting, only: Mapping[str, str]) -> list[tuple[Job, float, str]]:
    """Return the tables that `only` lets through; where there is none, say what there is."""
    every = [(job, e, attack) for job in setting.jobs for e in job.epsilons for attack in job.attacks]
    named = [
        {"plan": job.plan_name, "mechanism": job.label, "epsilon": epsilon_name(e), "attack": attack}
        for job, e, attack in every
    ]
    chosen = [
        one
        for one, names in zip(every, named, strict=True)
        if all(names[key] == value for key, value in only.items())
    ]
    if not chosen:
        asked = listed(f"{key} {value}" for key, value in only.items())
        there = "; ".join(f"{key}: {listed({names[key] for names in named})}" for key in only)
        raise SpecError(f"The run, as last called, has nothing with {asked}. It has {there or 'no attack'}.")
    return chosen


def _one(job: Job, epsilon: float, attack: str, row: int, setting: Setting) -> Replayed:
    seed, texts = setting.spec.seed, setting.corpus.texts
    folder, what, _ = job.guesses_at(epsilon, attack)
    choices = GuessTable(folder, check_table(folder, what)).read(["choice"], row + 1)["choice"]
    if len(choices) <= row:
        raise SpecError(f"Row {row} of plan '{job.plan_name}' has not been done yet; finish the run first.")
    choice = int(choices[row])
    folder, what, _ = job.rewrites_at(epsilon)
    plan = job.plan.rows(row, row + 1)
    stored = RewriteTable(folder, check_table(folder, what)).fetch(plan.source, plan.replicate)[0]
    wanted = [(int(plan.source[0]), int(plan.replicate[0]), epsilon)]
    mechanism = build(job.reference)
    again = mechanism.rewrite(make_draws(texts, wanted, seed))[0]
    positions = tuple(range(len(texts))) if plan.candidates is None else tuple(plan.candidates[0].tolist())
    guesser = build(job.attacks[attack].reference)
    if isinstance(guesser, Prepares):
        guesser.prepare(texts)
    if isinstance(guesser, Practises):
        guesser.practise_on(setting.practice)
    if isinstance(guesser, KnowsMechanism):
        guesser.meet(mechanism, epsilon)
    key = tie_keys(seed, job.plan_name, attack, range(row, row + 1))[0]
    seen = Observation(stripped(stored, job.attacks[attack].sees), tuple(texts[i] for i in positions), key)
    guess = guesser.guess([seen])[0]
    secret = int(plan.secret[0])
    return Replayed(
        job.plan_name, job.label, epsilon, attack, row, tuple(seen.candidates), positions, secret,
        stored, again, tuple(guess.scores.tolist()), choice, choice == secret,
    )  # fmt: skip
