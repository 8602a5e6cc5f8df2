"""Reproduces an experiment: the function of its kind makes the outcome, which names its models."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tedaudit.errors import ModelError
from tedaudit.models.zoo import list_folders
from tedaudit.paper.audits import ablate, calibrate, compare_attacks
from tedaudit.paper.claims import judge, tell_claims
from tedaudit.paper.convention import convert_units
from tedaudit.paper.definition import Experiment, Outcome, Scale, Workspace, corpus_name
from tedaudit.paper.probe_first_token import first_token
from tedaudit.paper.probe_noise import noise
from tedaudit.paper.probe_rewrites import examples, tokenization, variance
from tedaudit.plugins.protocols import UsesModels
from tedaudit.plugins.registry import Kind, build, variants
from tedaudit.reports.writers.figures import figures_missing, save_figure
from tedaudit.reports.writers.markdown import markdown_list, write_section
from tedaudit.results.section import Cell, Section
from tedaudit.runs.exported import check_target, write_exported
from tedaudit.runs.files import make_folders
from tedaudit.runs.spec.model import PluginSpec
from tedaudit.studies.utility.results import caption
from tedaudit.studies.utility.settings import parse_utility
from tedaudit.studies.utility.study import run_study
from tedaudit.studies.utility.telling import figure, tabulate_changes, tell, tell_lacks

_ZOO = "pip install tedaudit-zoo"


def train_on_rewrites(experiment: Experiment, workspace: Workspace) -> Outcome:
    """Return macro F1 per task, mechanism and epsilon for every study that the options list."""
    options = {key: value for key, value in experiment.options.items() if key != "studies"}
    sections, figures, notes = [], {}, []
    for study in experiment.options["studies"]:
        name = corpus_name(study["corpus"])
        spec = parse_utility(
            {
                "private_records": 0, **options, **study,
                "mechanisms": experiment.mechanisms_on(study["corpus"]),
                "epsilons": experiment.epsilons, "name": name,
                "out": str(workspace.root / "runs" / f"{name}-utility"),
            }
        )  # fmt: skip
        result = run_study(spec, workspace.progress)
        sections += [replace(section, title=f"{name}: macro F1", sentences=()) for section in tell(result)]
        changes = tabulate_changes(result)
        sections += [replace(changes, title=f"{name}: {changes.title}")] if changes.table.rows else []
        notes += [caption(result), *(f"{name}: {note}" for note in tell_lacks(result))]
        if not figures_missing():
            figures[name] = figure(result)
    return Outcome(tuple(sections), figures, tuple(notes))


MAKERS: dict[str, Callable[[Experiment, Workspace], Outcome]] = {
    "calibration": calibrate,
    "ablation": ablate,
    "convention": convert_units,
    "complementarity": compare_attacks,
    "examples": examples,
    "variance": variance,
    "tokenization": tokenization,
    "noise": noise,
    "first-token": first_token,
    "downstream": train_on_rewrites,
}
"""The function that makes the outcome of each kind."""


def reproduce(
    experiment: Experiment, workspace: Workspace, *, redact: bool = False, force: bool = False
) -> tuple[Outcome, list[Path]]:
    """Run an experiment and write its outcome under `results`; files of somebody else stay, without force.

    If it is redacted, the outcome that is returned has no texts either.
    """
    folder = workspace.root / "results"
    check_files(experiment, folder, force=force)
    with _name_zoo(experiment.scale):
        outcome = name_models(MAKERS[experiment.kind](experiment, workspace), experiment)
    if experiment.scale != "smoke":  # which shows that it works, and nothing of the paper
        judged = judge(_describe_page(outcome, experiment, redact=False))
        outcome = replace(outcome, sections=(tell_claims(judged), *outcome.sections))
    written = write_outcome(outcome, experiment, folder, redact=redact, force=force)
    return outcome.redact() if redact else outcome, written


@contextmanager
def _name_zoo(scale: Scale) -> Iterator[None]:
    """Say how to get the zoo if a model cannot be loaded and the scale is one that uses the zoo's."""
    try:
        yield
    except ModelError as error:
        if scale in ("full", "real") or list_folders() or _ZOO in str(error):
            raise
        raise type(error)(f"{error} The models of scale '{scale}' come with the zoo: {_ZOO}.") from error


# --- What is written: Markdown, JSON, PDF and PNG.


def check_files(experiment: Experiment, folder: Path, *, force: bool = False) -> None:
    """Refuse a folder with a file of somebody else that an outcome would replace."""
    figures = [path for kind in ("pdf", "png") for path in folder.glob(f"{experiment.id}-*.{kind}")]
    for path in (*_name_tables(experiment, folder), *figures):
        check_target(path, [folder], force=force)


def write_outcome(
    outcome: Outcome, experiment: Experiment, folder: Path, *, redact: bool, force: bool = False
) -> list[Path]:
    """Write an outcome into a folder and return the files; without texts if it is redacted."""
    written = _name_tables(experiment, folder)
    write = partial(write_exported, runs=[folder], force=force)
    shown = outcome.redact() if redact else outcome
    make_folders(folder, None)
    write(written[0], markdown(shown, experiment).encode())
    content = _describe_page(shown, experiment, redact=redact)
    write(written[1], json.dumps(content, indent=1, ensure_ascii=False).encode())
    for name, drawn in outcome.figures.items():
        written += save_figure(drawn, folder / f"{experiment.id}-{name}", write=write)
    return written


def _describe_page(outcome: Outcome, experiment: Experiment, *, redact: bool) -> dict[str, Any]:
    """Return what is written as JSON."""
    return {
        "experiment": experiment.id, "scale": experiment.scale, "title": experiment.title,
        "settings": _list_settings(experiment, redact=redact), "notes": list(outcome.notes),
        "tables": [
            {"title": section.title, "caption": section.reading, "headings": section.table.headings,
             "rows": [[_drop_infinite(cell) for cell in row] for row in section.table.rows]}
            for section in outcome.sections
        ],
    }  # fmt: skip


def _name_tables(experiment: Experiment, folder: Path) -> list[Path]:
    return [folder / f"{experiment.id}.md", folder / f"{experiment.id}.json"]


def markdown(outcome: Outcome, experiment: Experiment) -> str:
    """Return an outcome as Markdown, with the command that made it."""
    parts = [
        f"# {experiment.id}: {experiment.title}",
        f"`{experiment.command}` ({experiment.paper})",
    ]
    if experiment.remarks:
        parts.append(markdown_list(experiment.remarks))
    parts += [write_section(section, 3).rstrip() for section in outcome.sections]
    names = [f"![{name}]({experiment.id}-{name}.png)" for name in outcome.figures]
    notes = markdown_list(outcome.notes)
    return "\n\n".join([*parts, *names, *([notes] if notes else [])]) + "\n"


def _list_settings(experiment: Experiment, *, redact: bool) -> dict[str, Any]:
    """Return an experiment's settings; if redacted, without the texts in them."""
    settings = experiment.model_dump(mode="json")
    texts = settings["options"].get("texts")
    if redact and isinstance(texts, list):
        settings["options"]["texts"] = ["(left out)" if isinstance(text, str) else text for text in texts]
    return settings


def _drop_infinite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


# --- Says under every table which variant of a mechanism, and which model, its numbers come from.

_NO_VARIANT = "without variants"
_OWN = "settings of its own"


def name_models(outcome: Outcome, experiment: Experiment) -> Outcome:
    """Return an outcome whose sections say which variants and models are behind them."""
    also = experiment.options.get("also", {})
    mechanisms = _describe_all("mechanism", [*experiment.mechanisms, *also.get("mechanisms", [])])
    attacks = _describe_all("attack", [*experiment.attacks, *also.get("attacks", [])])
    sections = tuple(
        replace(section, reading=_write_caption(section, mechanisms, attacks)) for section in outcome.sections
    )
    return replace(outcome, sections=sections)


def variant_of(plugin: Any) -> str:
    """Return the variant whose values a plug-in's fields have, or that it has none of them."""
    offered = variants(type(plugin))
    fitting = [
        name for name, values in offered.items() if all(getattr(plugin, k) == v for k, v in values.items())
    ]
    return fitting[0] if fitting else _OWN if offered else _NO_VARIANT


def _describe_all(kind: Kind, given: Sequence[Any]) -> dict[str, tuple[str, str]]:
    """Return variant and models of plug-ins by their title."""
    specs = [PluginSpec.model_validate(_drop_epsilons(plugin)) for plugin in given]
    return {spec.title: _describe(build(spec.reference(kind))) for spec in specs}


def _drop_epsilons(given: Any) -> Any:
    """Return a plug-in's settings without the epsilons of its own, which are no field of it."""
    return {k: v for k, v in given.items() if k != "epsilons"} if isinstance(given, Mapping) else given


def _describe(plugin: Any) -> tuple[str, str]:
    uses = plugin.models() if isinstance(plugin, UsesModels) else []
    return variant_of(plugin), ", ".join(dict.fromkeys(use.name for use in uses))


def _write_caption(
    section: Section, mechanisms: Mapping[str, tuple[str, str]], attacks: Mapping[str, tuple[str, str]]
) -> str:
    """Return one line: mechanisms by variant with their models, then attacks with theirs."""
    by_variant: dict[str, list[str]] = {}
    for title, (variant, models) in _find_named(section, mechanisms).items():
        by_variant.setdefault(variant, []).append(_join(title, models))
    parts = [f"{variant}: {', '.join(named)}" for variant, named in by_variant.items()]
    of_attacks = [_join(title, models) for title, (_, models) in _find_named(section, attacks).items()]
    return "; ".join([*parts, *([f"attacks: {', '.join(of_attacks)}"] if of_attacks else [])])


def _find_named(section: Section, described: Mapping[str, tuple[str, str]]) -> Mapping[str, tuple[str, str]]:
    """Return the plug-ins that a section speaks of; all of them if it names none."""
    texts = (cell for row in section.table.rows for cell in row if isinstance(cell, str))
    cells = {part for text in texts for part in text.split(", ")}
    cells.add(section.title.partition(": ")[0])  # a section may be of one mechanism
    named = {title: about for title, about in described.items() if title in cells}
    return named or described


def _join(title: str, models: str) -> str:
    return f"{title} ({models})" if models else title
