"""Fresh trials on what a finished run showed to be worst: a run of its own inside the run directory.

The first run is a pilot: whatever it showed may pick texts, since only trials with new secrets and new noise
are judged. A study is a look at the run, so its judgements have the error of the next look.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.api import run
from tedaudit.estimators import Choices
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Floats, Plan
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.looks import Look, note_study
from tedaudit.runs.opening import Wanted
from tedaudit.runs.spec.model import AuditSpec, PlanSpec
from tedaudit.seeding import derive

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pilot:
    """What one attack guessed in the first run: rows of equal length."""

    source: Ints  # position of the text that was rewritten
    other: Ints  # position of another candidate of the trial; the same if authors share the text
    evidence: Floats  # the margin, negative if the guess was wrong; 0 without a usable answer


@dataclass(frozen=True, slots=True)
class FreshTrials:
    """The fresh trials of one mechanism and epsilon: candidates and secrets, and what was guessed."""

    plan: Plan
    choices: Choices


@dataclass(frozen=True)
class Study:
    """How fresh trials are made: the audit that they belong to, and who does the work."""

    spec: AuditSpec
    name: str
    engine: Wanted | None = None
    progress: Callable[[str, int, int], None] | None = None
    announce: Callable[[str], None] | None = None

    @property
    def attacks(self) -> list[str]:
        """The attacks that can guess again."""
        return [attack.title for attack in self.spec.attacks]

    def run(self, finding: Finding, sets: Sequence[tuple[int, int]], trials: int) -> FreshTrials:
        """Make the trials of one mechanism and epsilon, or go on with them, and return what was guessed.

        Trial t has set t; after the last set comes the first again.
        """
        store = RunDirectory(self.spec.folder).study(self.name, finding.label, finding.epsilon)
        plan = PlanSpec(k=2, strategy="given", sets=tuple(sets))
        epsilons = [float(finding.epsilon)] if finding.epsilon.is_given else []
        chosen = [m for m in self.spec.mechanisms if m.title == finding.label]
        settings: dict[str, Any] = {
            "mechanisms": [m.model_copy(update={"epsilons": epsilons}) for m in chosen],
            "attacks": [a for a in self.spec.attacks if a.title == finding.attack],
            "plans": [plan], "epsilons": [], "trials": trials, "out": str(store.root),
            "seed": derive(self.spec.seed, "study", self.name),
        }  # fmt: skip
        spec = self.spec.model_copy(update=settings)
        result = run(spec, self.engine, self.progress, page=False, announce=self.announce)
        [made] = result.findings
        return FreshTrials(result.run.read_plan(made.plan), result.guesses(made).choices())

    def note(self, store: RunDirectory) -> Look:
        """Note in the first run that this study is a look, and return it."""
        with store.locked():
            manifest, look = note_study(store, self.name)
            store.write_manifest(manifest)
        return look


def choose_targets(result: AuditResult, attacks: Collection[str] | None = None) -> list[Finding]:
    """Return the finding of the strongest attack for every mechanism and epsilon that can be tried again.

    If `attacks` are named, of those alone: a run may have others from an earlier command.
    """
    plans = result.run.manifest()["plans"]
    best: dict[tuple[str, Nominal], Finding] = {}
    for finding in result:
        if finding.unfit or not finding.one_guess_per_trial or plans[finding.plan]["mechanism"] is not None:
            continue  # a table of rewrites has one of each text: there are no fresh ones
        if attacks is not None and finding.attack not in attacks:
            continue
        if finding.rewrites > 1 or finding.known_texts == "other":
            continue  # its trials are not about the texts that are shown
        known = best.get((finding.label, finding.epsilon))
        if known is None or finding.order > known.order:
            best[finding.label, finding.epsilon] = finding
    return list(best.values())


def read_pilot(result: AuditResult, finding: Finding) -> Pilot:
    """Return what the attack of a finding guessed, with a pair of texts for each trial."""
    columns = result.guesses(finding).read(["choice", "margin", "usable"])
    choice = columns["choice"]
    plan = result.run.read_plan(finding.plan).rows(0, len(choice))
    margin = np.nan_to_num(columns["margin"].astype(np.float64), nan=0.0, posinf=1e30, neginf=0.0)
    signed = np.where(choice == plan.secret, margin, -margin)
    source = plan.source.astype(np.int64)
    if plan.candidates is None:
        is_other = (choice >= 0) & (choice != plan.secret)  # else any other text will do
        other = np.where(is_other, choice, (source + 1) % len(result.run.corpus().texts))
    else:
        is_another = plan.candidates != plan.source[:, None]  # nowhere if all candidates share the text
        other = plan.candidates[np.arange(len(plan)), is_another.argmax(axis=1)]
    return Pilot(source, other.astype(np.int64), np.where(columns["usable"], signed, 0.0) + 0.0)
