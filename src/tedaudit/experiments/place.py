"""Where experiments work: a run directory per corpus, which all experiments of a scale share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tedaudit.execution.runner import Progress, run
from tedaudit.execution.work import Executor
from tedaudit.experiments.definition import Experiment
from tedaudit.results.reading import AuditResult
from tedaudit.spec.model import AuditSpec, parse_spec


@dataclass(frozen=True, slots=True)
class Place:
    """Where an experiment works: `runs` holds a run per corpus, shared by all experiments of a scale."""

    root: Path
    progress: Progress | None = None
    executor: Executor | None = None  # where rewriting is done; here, where nothing is said

    def folder(self, corpus: Any, trials: int) -> Path:
        """Return the run directory that all experiments with a corpus and a number of trials share."""
        return self.root / "runs" / f"{corpus_name(corpus)}-{trials}"

    def audit(self, experiment: Experiment, corpus: Any, **changes: Any) -> AuditResult:
        """Run an experiment's audit on a corpus, or go on with it, and return its own findings."""
        wanted = {
            "mechanisms": experiment.mechanisms, "epsilons": experiment.epsilons, "plans": experiment.plans,
            "attacks": experiment.attacks, "trials": experiment.trials, **changes,
        }  # fmt: skip
        name, folder = corpus_name(corpus), self.folder(corpus, wanted["trials"])
        spec = parse_spec({**wanted, "corpus": corpus, "name": name, "out": str(folder)})
        result = run(spec, self.progress, self.executor, page=False)
        return _own(result, spec)


def corpus_name(corpus: Any) -> str:
    """Return how a corpus is called."""
    return str(corpus.get("label") or corpus["name"]) if isinstance(corpus, Mapping) else str(corpus)


def _own(result: AuditResult, spec: AuditSpec) -> AuditResult:
    """Return the findings that an experiment asked for: the run may hold those of others too."""
    plans = {plan.name for plan in spec.plans}
    attacks = {attack.title for attack in spec.attacks}
    labels = {mechanism.title for mechanism in spec.mechanisms}
    epsilons = {*spec.epsilons, *(e for mechanism in spec.mechanisms for e in mechanism.epsilons)}
    own = tuple(
        f for f in result
        if f.plan.partition("@")[0] in plans and f.attack in attacks and f.label in labels
        and (f.epsilon in epsilons or f.epsilon == float("inf"))
    )  # fmt: skip
    return replace(result, findings=own)
