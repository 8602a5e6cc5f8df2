"""The trials of a calibration as run directories: one for the search, and one of fresh trials per target.

Every point of a search is an ordinary extension of one run, by epsilons or by trials. What is there is read
and not made again, and only the first rows of a table are read that a round of the search asked for: so a
calibration that was stopped goes on, and ends, as if it had not been.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tedaudit.estimators.readings import LossReading, Reading, Strongest, SuccessReading
from tedaudit.plugins.nominal import Nominal
from tedaudit.results.findings import Finding
from tedaudit.results.losses import MARGINS, sign_margins
from tedaudit.results.reading import read_result
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.engines import Announce, Engine
from tedaudit.runs.files import key_of
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.looks import STUDIES, note_made
from tedaudit.runs.preparation import prepare
from tedaudit.runs.runner import Progress, executed
from tedaudit.runs.spec.model import AuditSpec
from tedaudit.seeding import derive
from tedaudit.studies.calibrate.result import EpsilonForTarget
from tedaudit.studies.calibrate.rounds import Seen, Wanted
from tedaudit.studies.calibrate.target import SUCCESS, Target
from tedaudit.trials.plan import name_plan


@dataclass(frozen=True)
class Workshop:
    """Who does the work of a run, and who is told."""

    engine: Engine
    progress: Progress
    announce: Announce


@dataclass(frozen=True)
class RunSource:
    """Makes the trials of one calibration, or goes on with them."""

    spec: AuditSpec  # without epsilons; with all mechanisms and attacks
    attacks: Mapping[str, tuple[str, ...]]  # by mechanism: those that fit it
    searched: tuple[float, float]  # the least and the largest epsilon
    workshop: Workshop

    def explore(self, target: Target, wanted: Wanted, trials: int) -> Seen:
        """Extend the run of the search where it lacks something, and read it."""
        return self._look(self.spec, target, wanted, trials)

    def confirm(self, target: Target, wanted: Wanted, trials: int) -> Seen:
        """Extend the run of fresh trials of a target, which has candidates, secrets and noise of its own."""
        # Part of the seed is the name that targets given as an epsilon had at first: with another, every such
        # calibration would have other trials.
        named = "eps_emp" if target.by == SUCCESS and not target.is_rate else target.by
        seed = derive(self.spec.seed, "calibrate", self._name_fresh(named, target, trials))
        store = self._open_fresh(target, trials)
        fresh = self.spec.model_copy(update={"seed": seed, "out": str(store.root)})
        seen = self._look(fresh, target, wanted, trials)
        search = RunDirectory(self.spec.folder)
        with search.locked():
            name = self._name_fresh(target.by, target, trials)
            search.write_manifest(note_made(search.manifest(), f"{STUDIES}/{name}"))
        return seen

    def add_bounds(self, answers: Sequence[EpsilonForTarget]) -> tuple[EpsilonForTarget, ...]:
        """Return answers with what their fresh trials prove, as an audit of these trials tells it."""
        proven = {target: self._read_bounds(target) for target in {answer.target for answer in answers}}
        return tuple(answer.add_bounds(proven[answer.target]) for answer in answers)

    def _read_bounds(self, target: Target) -> dict[tuple[str, Nominal], Finding]:
        """Return the largest bound by mechanism and epsilon; all fresh rows and looks share its error."""
        best: dict[tuple[str, Nominal], Finding] = {}
        store = self._open_fresh(target, self.spec.trials)
        for finding in read_result(store) if store.exists() else ():
            key = finding.label, finding.epsilon
            if finding.plan == self._plan and (key not in best or finding.order > best[key].order):
                best[key] = finding
        return best

    def _open_fresh(self, target: Target, trials: int) -> RunDirectory:
        return RunDirectory(self.spec.folder).fresh(self._name_fresh(target.by, target, trials))

    def _name_fresh(self, by: str, target: Target, trials: int) -> str:
        """Return a name that no calibration has that is asked for something else.

        Other attacks, limits or trials may have been chosen because of what was seen: they get new secrets.
        """
        asked = {
            "searched": list(self.searched),
            "attacks": [attack.model_dump(mode="json", fallback=repr) for attack in self.spec.attacks],
            "plan": self.spec.plans[0].model_dump(mode="json"),
        }
        return f"calibrate-{by}-{target.value:g}-{trials}-{key_of(asked)[:8]}"

    def _look(self, spec: AuditSpec, target: Target, wanted: Wanted, trials: int) -> Seen:
        store = RunDirectory(spec.folder)
        lacking = {
            label: [e for e in epsilons if self._lacks(store, label, e, trials)]
            for label, epsilons in wanted.items()
        }
        there = {label: [e for e in wanted[label] if e not in lacking[label]] for label in wanted}
        if any(there.values()):
            prepare(self._narrow(spec, there, 1))  # refuses tables that other settings made
        if any(lacking.values()):
            shop = self.workshop
            with executed(self._narrow(spec, lacking, trials), shop.engine, shop.progress, shop.announce):
                pass
            store = RunDirectory(spec.folder)
        secret = store.read_plan(self._plan).secret[:trials]
        return {
            label: {
                epsilon: Strongest(
                    {
                        attack: _read(self._open(store, label, epsilon, attack), target, secret)
                        for attack in self.attacks[label]
                    }
                )
                for epsilon in epsilons
            }
            for label, epsilons in wanted.items()
        }

    @property
    def _plan(self) -> str:
        return name_plan(self.spec.plans[0].name, None)

    def _open(self, store: RunDirectory, label: str, epsilon: Nominal, attack: str) -> GuessTable:
        return store.guesses(self._plan, label, epsilon, attack)

    def _lacks(self, store: RunDirectory, label: str, epsilon: Nominal, trials: int) -> bool:
        """Return whether any attack has not guessed in so many trials yet."""
        for attack in self.attacks[label]:
            folder = store.guesses_folder(self._plan, label, epsilon, attack)
            if not folder.exists() or self._open(store, label, epsilon, attack).complete() < trials:
                return True
        return False

    def _narrow(self, spec: AuditSpec, epsilons: Wanted, trials: int) -> AuditSpec:
        """Return an audit of these epsilons alone, with the mechanisms and attacks that it takes."""
        labels = [label for label, own in epsilons.items() if own]
        needed = {attack for label in labels for attack in self.attacks[label]}
        settings: dict[str, Any] = {
            "mechanisms": [
                mechanism.model_copy(update={"epsilons": [float(e) for e in epsilons[mechanism.title]]})
                for mechanism in spec.mechanisms
                if mechanism.title in labels
            ],
            "attacks": [attack for attack in spec.attacks if attack.title in needed],
            "trials": trials,
        }
        return spec.model_copy(update=settings)


def _read(table: GuessTable, target: Target, secret: Any) -> Reading:
    """Return what the first rows of a table say; a trial without a usable answer counts as wrong."""
    if target.is_loss:
        losses, _ = sign_margins(table.read(MARGINS, len(secret)), secret)
        return LossReading(losses, len(secret) - len(losses), target.delta)
    choice = table.read(["choice"], len(secret))["choice"]
    return SuccessReading(int((choice == secret).sum()), len(secret))
