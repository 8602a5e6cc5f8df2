"""Calibrates mechanisms to the same targets, then scores them at the epsilons that were found."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tedaudit.api import AnyMechanism, report
from tedaudit.plugins.nominal import distinct_epsilons
from tedaudit.plugins.registry import build
from tedaudit.plugins.values import Corpus
from tedaudit.results.redaction import rename_labels
from tedaudit.results.section import store_section
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.preparation import load_texts
from tedaudit.runs.spec.model import AuditSpec
from tedaudit.studies.calibrate.calibrator import (
    SEARCHED,
    prepare_question,
    rename_answers,
    run_calibration,
)
from tedaudit.studies.calibrate.result import Calibrated
from tedaudit.studies.frontier.result import Frontier, list_scored, place_scores
from tedaudit.studies.frontier.telling import tell, write_frontier_figure
from tedaudit.studies.utility.labels import take_labels
from tedaudit.studies.utility.results import UtilityResult
from tedaudit.studies.utility.settings import UtilitySpec, parse_utility
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.study_folder import write_study

NAME = "frontier"  # of the run directory, and of the section in its report
_SCORING = (
    "tasks",
    "private",
    "classifier",
    "learning_rate",
    "device",
    "seeds",
    "limit",
    "test_split",
    "hold_out",
    "key",
)


def frontier(
    mechanism: AnyMechanism | Sequence[AnyMechanism],
    corpus: str | Corpus | Mapping[str, Any] | None = None,
    *,
    target: float | Sequence[float],
    by: str = "success",
    attack: str | Sequence[Any] | None = None,
    **settings: Any,
) -> Frontier:
    """Compare what classifiers learn from rewrites at equal measured privacy.

    Mechanisms are calibrated to each target as by `calibrate`, whose settings are taken. Then `tasks` and
    `private` (label columns), `classifier`, `seeds`, `limit`, `test_split`, `hold_out` and `key` are as for
    `tedaudit utility`.
    """
    scoring = {name: settings.pop(name) for name in _SCORING if name in settings}
    asked = prepare_question(mechanism, corpus, by, attack, {"name": NAME, **settings})
    targets = (by, target if isinstance(target, Sequence) else [target])
    found = run_frontier(asked.spec, targets, scoring, asked.searched, asked.helpers)
    return replace(found, keeper=asked.keeper)


def run_frontier(
    spec: AuditSpec,
    asked: tuple[str, Sequence[float]],
    scoring: Mapping[str, Any],
    searched: tuple[float, float] = SEARCHED,
    helpers: Mapping[str, Any] | None = None,
) -> Frontier:
    """Calibrate all mechanisms of a spec, score them, and write what was found; the same call resumes it."""
    check_labels(spec, scoring)
    calibrated = run_calibration(spec, asked, searched, helpers, page=False)
    utility = _score(spec, calibrated, scoring, helpers or {})
    found = Frontier(calibrated, utility, place_scores(calibrated, utility))
    if any(answer.points for answer in calibrated):
        write_frontier(found)
    return found


def check_labels(spec: AuditSpec, scoring: Mapping[str, Any]) -> None:
    """Refuse label columns that cannot be learnt before anything is rewritten."""
    mechanisms = {m.title: build(m.reference("mechanism")) for m in spec.mechanisms}
    study = _make_study(spec, scoring, {title: [1.0] for title in mechanisms})
    take_labels(load_texts(study.corpus, mechanisms), study)


def write_frontier(found: Frontier) -> list[Path]:
    """Keep a frontier in the run of its search: a section of the report, and a figure."""
    run = RunDirectory(found.calibrated.folder)
    [section] = tell(found)
    store_section(run, NAME, section)
    written = write_frontier_figure(rename_points(found, run), run, NAME) if found.points else []
    report(run.root)
    return written


def rename_points(found: Frontier, run: RunDirectory) -> Frontier:
    """Return a frontier with labels and tasks as the run shows them."""
    if not run.files.is_redacted:
        return found
    shown = rename_answers(found.calibrated, run)
    answers = {id(old): new for old, new in zip(found.calibrated, shown, strict=True)}
    names = rename_labels("task", [point.task.name for point in found])
    tasks = {point.task.name: replace(point.task, name=names[point.task.name]) for point in found}
    points = tuple(
        replace(point, answer=answers[id(point.answer)], task=tasks[point.task.name]) for point in found
    )
    return replace(found, calibrated=shown, points=points)


def _score(
    spec: AuditSpec, calibrated: Calibrated, scoring: Mapping[str, Any], helpers: Mapping[str, Any]
) -> UtilityResult | None:
    """Run the study of utility at the ends that were found; None if there are none."""
    ends: dict[str, list[float]] = {}
    for answer in calibrated:
        if list_scored(answer):
            ends.setdefault(answer.label, []).extend(map(float, list_scored(answer)))
    if not ends:
        return None
    epsilons = {label: [float(e) for e in distinct_epsilons(own)] for label, own in ends.items()}
    result = run_study(_make_study(spec, scoring, epsilons), helpers.get("progress"), helpers.get("announce"))
    write_study(result)
    return result


def _make_study(
    spec: AuditSpec, scoring: Mapping[str, Any], epsilons: Mapping[str, Sequence[float]]
) -> UtilitySpec:
    """Return the study of utility beside a calibration, in a folder of its own."""
    folder = spec.folder
    mechanisms = [
        m.model_copy(update={"epsilons": list(epsilons[m.title])})
        for m in spec.mechanisms
        if m.title in epsilons
    ]
    return parse_utility(
        {
            **{name: value for name, value in scoring.items() if value is not None},
            "name": spec.name, "corpus": spec.corpus, "mechanisms": mechanisms, "seed": spec.seed,
            "private_records": 0, "batch_size": spec.batch_size,
            "out": str(folder.with_name(f"{folder.name}-utility")),
        }
    )  # fmt: skip
