"""An experiment: its definition, read from a YAML file and reduced to a scale, where it works, what it finds.

The file itself is the experiment as in the paper (`full`); `zoo`, `real` and `smoke` override what they name:
corpora and models that are available offline, or with `tedaudit models get`, fewer trials and epsilons. Not
every experiment has the scale `real`. `models.yaml` names the models of `full` and `real` where a definition
names none, and says what stands in for those of the paper that cannot be had.
"""

import shlex
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tedaudit import api
from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.results.findings import AuditResult
from tedaudit.results.section import Section
from tedaudit.runs.opening import Wanted
from tedaudit.runs.runner import Progress
from tedaudit.runs.spec.flags import assign_plugin_field
from tedaudit.runs.spec.model import AuditSpec, parse_spec

Scale = Literal["full", "real", "zoo", "smoke"]
Kind = Literal[
    "calibration", "ablation", "convention", "complementarity", "examples", "variance", "tokenization",
    "noise", "first-token", "downstream",
]  # fmt: skip
AUDITS = frozenset({"calibration", "ablation", "convention", "complementarity"})
"""Kinds of experiments that are audits; others look at a few texts, or train classifiers."""
GRID = (0.1, 0.5, 1.0, 10.0, 50.0, 100.0, 250.0, 750.0, 1000.0, 2500.0)
"""The epsilons of the paper."""


class Experiment(BaseModel):
    """One row of the paper's list of experiments, at one scale."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    paper: str = Field(description="Where the paper shows it.")
    kind: Kind
    corpora: list[Any] = Field(default_factory=list)
    mechanisms: list[Any] = Field(default_factory=list)
    only: dict[str, list[str]] = Field(
        default_factory=dict, description="The corpora of mechanisms that do not run on all."
    )
    epsilons: list[float] = Field(default_factory=lambda: list(GRID))
    attacks: list[Any] = Field(default_factory=list)
    plans: list[dict[str, Any]] = Field(default_factory=lambda: [{"k": 2, "lambda": -10_000}])
    trials: int = 10_000
    encoder: str = Field(
        default="", description="Whose distances draw candidates; empty: an audit's default."
    )
    options: dict[str, Any] = Field(default_factory=dict, description="Settings of this kind only.")
    scale: Scale = "full"
    changed: tuple[str, ...] = Field(default=(), description="Settings changed by the caller.")
    assigned: tuple[str, ...] = Field(default=(), description="Fields set by the caller, as LABEL.KEY=VALUE.")
    stand_ins: tuple[str, ...] = Field(default=(), description="What is in the place of the paper's models.")

    def mechanisms_on(self, corpus: Any, among: Sequence[Any] | None = None) -> list[Any]:
        """Return the mechanisms, all or some, that run on a corpus."""
        name, some = corpus_name(corpus), self.mechanisms if among is None else among
        return [one for one in some if name in self.only.get(_title(one), [name])]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader must know of its models: what stands in for the paper's, and what was set."""
        own = (f"Set by the caller: {', '.join(self.assigned)}.",) if self.assigned else ()
        return *self.stand_ins, *own

    @property
    def command(self) -> str:
        """The command that reproduces it, with the changes that the command line can express."""
        words = ["tedaudit", "reproduce", self.id, "--scale", self.scale]
        for corpus in self.corpora if "corpora" in self.changed else []:
            plugin = corpus if isinstance(corpus, Mapping) else {"name": corpus}
            words += ["--corpus", str(plugin.get("path") or plugin["name"])]
        if "trials" in self.changed:
            words += ["--trials", str(self.trials)]
        for assignment in self.assigned:
            words += ["--set", assignment]
        return shlex.join(words)


def names() -> list[str]:
    """Return the names of all experiments."""
    folder = resources.files("tedaudit.paper") / "definitions"
    return sorted(file.name.removesuffix(".yaml") for file in folder.iterdir() if file.name.endswith(".yaml"))


def scales_of(name: str) -> list[Scale]:
    """Return the scales that an experiment has."""
    own = _read(name).get("scales", {})
    return [scale for scale in get_args(Scale) if scale == "full" or scale in own]


def _read(name: str) -> dict[str, Any]:
    return _read_yaml(f"definitions/{name}.yaml")


def _read_yaml(path: str) -> dict[str, Any]:
    file = resources.files("tedaudit.paper").joinpath(*path.split("/"))
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found


def load(
    name: str,
    scale: str = "full",
    changes: Mapping[str, Any] | None = None,
    assignments: Sequence[str] = (),
) -> Experiment:
    """Return an experiment at a scale, with the caller's changes and LABEL.KEY=VALUE assignments on top."""
    if name not in names():
        raise SpecError(
            f"There is no experiment '{name}'.{did_you_mean(name, names())} There are: {join_names(names())}."
        )
    if scale not in get_args(Scale):
        raise SpecError(f"The scale is '{scale}'; it must be one of: {join_names(get_args(Scale))}.")
    if scale not in scales_of(name):
        raise SpecError(f"'{name}' has no scale '{scale}'. It has: {join_names(scales_of(name))}.")
    whole = _read(name)
    scales = whole.pop("scales", {})
    given = {key: value for key, value in (changes or {}).items() if value not in (None, [], ())}
    settings = deepcopy({**whole, **scales.get(scale, {}), **given})
    _assign(settings, assignments)
    told = _name_models(settings, scale) if scale in _NAMED else ()
    try:
        mechanisms, only = _split_corpora(settings.get("mechanisms", []))
        own = {
            "id": name, "scale": scale, "changed": tuple(given), "mechanisms": mechanisms, "only": only,
            "assigned": tuple(assignments), "stand_ins": told,
        }  # fmt: skip
        return Experiment(**{**settings, **own})
    except ValidationError as error:
        problem = error.errors()[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise SpecError(f"Experiment '{name}', {place}: {problem['msg']}.") from error


def _assign(settings: dict[str, Any], assignments: Sequence[str]) -> None:
    """Set fields of plug-ins, also where an experiment tries more settings of the same."""
    also = settings.get("options", {}).get("also", {})
    for assignment in assignments:
        if assignment.startswith("corpus."):
            raise SpecError(f"--set {assignment}: an experiment's corpora are named by --corpus.")
        missed = []
        for part in (settings, also) if also else (settings,):
            try:
                assign_plugin_field(part, assignment)
            except SpecError as error:
                missed.append(error)
        if len(missed) == 1 + bool(also):
            raise missed[0]


_NAMED = ("full", "real")  # scales whose models are named: no default, which the zoo may change, is left


def _name_models(settings: dict[str, Any], scale: str) -> tuple[str, ...]:
    """Name the models that mechanisms leave open, and return what stands in for the paper's."""
    models = _read_yaml("models.yaml")
    if scale == "full" and settings["kind"] in AUDITS:
        settings.setdefault("encoder", models["encoder"])
    told: dict[str, None] = {}
    for part in (settings, settings.get("options", {}).get("also", {})):
        part["mechanisms"] = [
            _name_fields(one, models["mechanisms"], told) for one in part.get("mechanisms", [])
        ]
    return tuple(told)


def _name_fields(given: Any, known: Mapping[str, Any], told: dict[str, None]) -> Any:
    """Return a mechanism with the models of the paper, or what stands in for them, where it names none."""
    mechanism = dict(given) if isinstance(given, Mapping) else {"name": given}
    own = known.get(mechanism["name"], {"fields": {}})
    named = {**own["fields"], **mechanism}
    for stand_in in own.get("stand_ins", []):
        if all(named.get(field) == own["fields"].get(field) for field in stand_in["of"]):
            told[stand_in["says"]] = None
    return {**mechanism, **named}


def corpus_name(corpus: Any) -> str:
    """Return the name of a corpus."""
    return _title(corpus)


def _title(plugin: Any) -> str:
    return str(plugin.get("label") or plugin["name"]) if isinstance(plugin, Mapping) else str(plugin)


def _split_corpora(mechanisms: list[Any]) -> tuple[list[Any], dict[str, list[str]]]:
    """Take `corpora` out of mechanisms that have it; return it by their titles."""
    only = {
        _title(one): one["corpora"] for one in mechanisms if isinstance(one, Mapping) and "corpora" in one
    }
    plain = [
        {key: value for key, value in one.items() if key != "corpora"} if isinstance(one, Mapping) else one
        for one in mechanisms
    ]
    return plain, only


# --- Where an experiment works: a run directory per corpus, which all experiments of a scale share.


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where an experiment works: `runs` contains a run per corpus, shared by all experiments of a scale."""

    root: Path
    progress: Progress | None = None
    engine: Wanted | None = None  # does the model work; by default this process does

    def folder(self, corpus: Any, trials: int) -> Path:
        """Return the run directory that all experiments with a corpus and a number of trials share."""
        return self.root / "runs" / f"{corpus_name(corpus)}-{trials}"

    def audit(self, experiment: Experiment, corpus: Any, **changes: Any) -> AuditResult:
        """Run an experiment's audit on a corpus, or resume it, and return its own findings.

        Their bounds are TeDA bounds: of all guesses, at alpha, per row, as in the paper.
        """
        settings = {
            "mechanisms": experiment.mechanisms_on(corpus), "epsilons": experiment.epsilons,
            "plans": experiment.plans, "attacks": experiment.attacks, "trials": experiment.trials,
            **({"encoder": experiment.encoder} if experiment.encoder else {}), **changes,
        }  # fmt: skip
        name, folder = corpus_name(corpus), self.folder(corpus, settings["trials"])
        spec = parse_spec({**settings, "corpus": corpus, "name": name, "out": str(folder)})
        announce = None if self.progress else lambda _: None  # quiet
        result = api.run(spec, self.engine, self.progress, page=False, announce=announce)
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


# --- What it finds.


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that an experiment found; figures are matplotlib's, by name."""

    sections: tuple[Section, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def redact(self) -> "Outcome":
        """Return it without the sections that hold texts of a corpus: the rest of these says nothing."""
        return replace(self, sections=tuple(s for s in self.sections if s.leave_texts_out() == s))
