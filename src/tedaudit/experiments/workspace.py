"""The workspace of experiments: a run directory per corpus, which all experiments of a scale share."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tedaudit import api
from tedaudit.execution.engines.opening import Wanted
from tedaudit.execution.runner import Progress
from tedaudit.experiments.definition import Experiment, corpus_name
from tedaudit.results.findings import AuditResult
from tedaudit.spec.model import AuditSpec, parse_spec


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where an experiment works: `runs` contains a run per corpus, shared by all experiments of a scale."""

    root: Path
    progress: Progress | None = None
    engine: Wanted | None = None  # does the model work; by default this process does
    work: Path | None = None  # a folder with rewrites that were made elsewhere

    def folder(self, corpus: Any, trials: int) -> Path:
        """Return the run directory that all experiments with a corpus and a number of trials share."""
        return self.root / "runs" / f"{corpus_name(corpus)}-{trials}"

    def audit(self, experiment: Experiment, corpus: Any, **changes: Any) -> AuditResult:
        """Run an experiment's audit on a corpus, or resume it, and return its own findings.

        Their bounds are TeDA bounds: of all guesses, at alpha, per row, as in the paper.
        """
        settings = {
            "mechanisms": experiment.mechanisms_on(corpus), "epsilons": experiment.epsilons,
            "plans": experiment.plans, "attacks": experiment.attacks, "trials": experiment.trials, **changes,
        }  # fmt: skip
        name, folder = corpus_name(corpus), self.folder(corpus, settings["trials"])
        spec = parse_spec({**settings, "corpus": corpus, "name": name, "out": str(folder)})
        announce = None if self.progress else lambda _: None  # quiet
        result = api.run(spec, self.engine, self.progress, page=False, announce=announce, work=self.work)
        return _select_own(result, spec)


def _select_own(result: AuditResult, spec: AuditSpec) -> AuditResult:
    """Return the findings that an experiment asked for: the run may contain those of others too."""
    plans = {plan.name for plan in spec.plans}
    attacks = {attack.title for attack in spec.attacks}
    labels = {mechanism.title for mechanism in spec.mechanisms}
    epsilons = {*spec.epsilons, *(e for mechanism in spec.mechanisms for e in mechanism.epsilons)}
    own = tuple(
        replace(f, bound=f.teda) for f in result
        if f.plan_base in plans and f.attack in attacks and f.label in labels
        and (f.epsilon in epsilons or not f.epsilon.is_given)
    )  # fmt: skip
    return replace(result, findings=own)
