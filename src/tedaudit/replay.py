"""Does one trial again: the same candidates, the same noise, the same guess, or says what differs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tedaudit.corpora._given import Given
from tedaudit.errors import SpecError, listed
from tedaudit.registry import build
from tedaudit.setting import Job, Setting, epsilon_name, prepare
from tedaudit.spec import parse_spec
from tedaudit.stages import make_draws, stripped, tie_keys
from tedaudit.store import RunDirectory, check_table
from tedaudit.tables import GuessTable, RewriteTable
from tedaudit.types import Observation, Prepares, Rewrite


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
            "scores": list(self.scores), "choice": self.choice, "right": self.right,
        }  # fmt: skip


def replay(run: RunDirectory, trial: int, only: Mapping[str, str]) -> list[Replayed]:
    """Return a trial for every mechanism, epsilon and attack that `only` lets through.

    A trial of the baseline estimator has two rows: one for each of its rewrites.
    """
    plans = run.manifest()["plans"]
    corpus = {"name": "given", "live": Given(run.corpus())}
    spec = parse_spec({**run.manifest()["spec"], "out": str(run.root), "corpus": corpus})
    setting = prepare(spec)
    found = []
    for job in setting.jobs:
        per_trial = 2 if plans[job.plan_name]["estimator"] == "baseline" else 1
        if not 0 <= trial < len(job.plan) // per_trial:
            last = len(job.plan) // per_trial - 1
            raise SpecError(f"There is no trial {trial}; plan '{job.plan_name}' has 0 to {last}.")
        for epsilon in job.epsilons:
            for attack in job.attacks:
                names = {"plan": job.plan_name, "mechanism": job.label, "attack": attack}
                names["epsilon"] = epsilon_name(epsilon)
                if all(names[key] == value for key, value in only.items()):
                    rows = range(trial * per_trial, (trial + 1) * per_trial)
                    found += [_one(job, epsilon, attack, row, setting) for row in rows]
    if not found:
        asked = listed(f"{key} {value}" for key, value in only.items())
        raise SpecError(f"The run has nothing with {asked}; `tedaudit report {run.root}` lists what it has.")
    return found


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
    again = build(job.reference).rewrite(make_draws(texts, wanted, seed))[0]
    positions = tuple(range(len(texts))) if plan.candidates is None else tuple(plan.candidates[0].tolist())
    guesser = build(job.attacks[attack].reference)
    if isinstance(guesser, Prepares):
        guesser.prepare(texts)
    key = tie_keys(seed, job.plan_name, attack, range(row, row + 1))[0]
    seen = Observation(stripped(stored, job.attacks[attack].sees), tuple(texts[i] for i in positions), key)
    guess = guesser.guess([seen])[0]
    secret = int(plan.secret[0])
    return Replayed(
        job.plan_name, job.label, epsilon, attack, row, tuple(seen.candidates), positions, secret,
        stored, again, tuple(guess.scores.tolist()), choice, choice == secret,
    )  # fmt: skip
