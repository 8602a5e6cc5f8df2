"""What rewritten texts are still useful for, and what they still reveal: classifiers trained on them."""

from collections.abc import Callable

from tedaudit.experiments.definition import Experiment, corpus_name
from tedaudit.experiments.outcome import Outcome, Table
from tedaudit.experiments.workspace import Workspace
from tedaudit.reports.writers.figures import figures_missing
from tedaudit.utility.figure import figure
from tedaudit.utility.results import HEADINGS, caption, cells, describe_changes
from tedaudit.utility.settings import parse_utility
from tedaudit.utility.study import run_study


def train_on_rewrites(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return macro F1 per task, mechanism and epsilon for every study that the options list."""
    options = {key: value for key, value in experiment.options.items() if key != "studies"}
    tables, figures, notes = [], {}, []
    for study in experiment.options["studies"]:
        name = corpus_name(study["corpus"])
        spec = parse_utility(
            {
                **options, **study, "mechanisms": experiment.mechanisms_on(study["corpus"]),
                "epsilons": experiment.epsilons, "name": name,
                "out": str(workspace.root / "runs" / f"{name}-utility"),
            }
        )  # fmt: skip
        result = run_study(spec, workspace.progress)
        tables.append(Table(f"{name}: macro F1", HEADINGS, tuple(tuple(row) for row in cells(result))))
        notes += [caption(result), *(f"{name}: {note}" for note in describe_changes(result))]
        if not figures_missing():
            figures[name] = figure(result)
    return Outcome(tuple(tables), figures, tuple(notes))


MAKERS: dict[str, Callable[[Experiment, Workspace], Outcome]] = {"downstream": train_on_rewrites}
