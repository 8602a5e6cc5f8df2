"""Run an experiment and write its outcome."""

from collections.abc import Callable
from pathlib import Path

from tedaudit.experiments.captions import name_models
from tedaudit.experiments.definition import Experiment
from tedaudit.experiments.outcome import Outcome, check_files, write_outcome
from tedaudit.experiments.workspace import Workspace


def reproduce(
    experiment: Experiment, workspace: Workspace, *, redact: bool = False, force: bool = False
) -> tuple[Outcome, list[Path]]:
    """Run an experiment and write its outcome under `results`; files of somebody else stay, without force."""
    folder = workspace.root / "results"
    check_files(experiment, folder, force=force)
    outcome = name_models(maker(experiment)(experiment, workspace), experiment)
    return outcome, write_outcome(outcome, experiment, folder, redact=redact, force=force)


def maker(experiment: Experiment) -> Callable[[Experiment, Workspace], Outcome]:
    """Return the function that makes the outcome of an experiment's kind."""
    from tedaudit.experiments import audits, downstream, probes

    makers: dict[str, Callable[[Experiment, Workspace], Outcome]] = {
        **audits.MAKERS, **downstream.MAKERS, **probes.MAKERS,
    }  # fmt: skip
    return makers[experiment.kind]
