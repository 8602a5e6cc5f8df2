"""The whole of an audit as one value: `AuditSpec`, to and from YAML. Unknown keys are refused."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    field_serializer,
    field_validator,
    model_validator,
)

from tedaudit.errors import SpecError, join_names
from tedaudit.estimators import DEFAULT_ESTIMATOR, Estimator, estimator_names, find_estimator
from tedaudit.inference.zoo import default_checkpoint
from tedaudit.registry import Kind, Reference
from tedaudit.spec.messages import Epsilons, OneOrMany, validate
from tedaudit.types import Card


class PluginSpec(BaseModel):
    """A plug-in by name; every other key is a field of that plug-in. A bare string is a name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str
    label: str = Field(default="", description="How results call it; the name by default.")
    live: Any = Field(default=None, exclude=True, description="An object of this process, from Python only.")

    @model_validator(mode="before")
    @classmethod
    def _from_anything(cls, value: Any) -> Any:
        """Take a name, a mapping, a function or a plug-in object."""
        if isinstance(value, str):
            return {"name": value}
        if isinstance(getattr(value, "card", None), Card) and not isinstance(value, type):
            return {"name": value.card.name, "live": value}
        if callable(value) and not isinstance(value, type):
            label = str(getattr(value, "__name__", "function")).strip("<>")
            return {"name": "function", "function": value, "label": label}
        return value

    @field_validator("live")
    @classmethod
    def _an_object(cls, value: Any) -> Any:
        if value is None or isinstance(getattr(value, "card", None), Card):
            return value
        raise ValueError("it should be a plug-in object, which only Python can hand over; leave it out")

    @property
    def title(self) -> str:
        """The label, or the name if there is none."""
        return self.label or self.name.removeprefix("py:").rpartition(":")[2]

    @property
    def params(self) -> dict[str, Any]:
        """The plug-in's own fields."""
        return dict(self.model_extra or {})

    def reference(self, kind: Kind) -> Reference:
        """Return how to make it."""
        return Reference(kind, self.name, self.params, self.live)


class MechanismSpec(PluginSpec):
    """A mechanism; it may have epsilons of its own."""

    epsilons: Epsilons = Field(default_factory=list, description="Instead of the audit's epsilons.")


class PlanSpec(BaseModel):
    """How candidate sets are drawn, and which estimator reads the trials."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    k: int | Literal["all"] = Field(default=2, description="Candidates per trial; 'all': the whole corpus.")
    temperature: float = Field(
        default=-1e4, alias="lambda", description="< 0 more diverse, > 0 more similar."
    )
    strategy: Literal["transition", "nearest", "furthest"] = "transition"
    top: int = Field(default=1, ge=1, description="nearest and furthest: uniform among this many.")
    estimator: str = DEFAULT_ESTIMATOR

    @field_validator("k", mode="before")
    @classmethod
    def _two_or_more(cls, value: Any) -> Any:
        if value == "all" or (isinstance(value, int) and not isinstance(value, bool) and value >= 2):
            return value
        raise ValueError("it should be a whole number from 2 up, or 'all'")

    @field_validator("estimator")
    @classmethod
    def _known_estimator(cls, value: str) -> str:
        known = estimator_names()
        if value not in known:
            raise ValueError(f"it should be one of: {join_names(known)}")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> "PlanSpec":
        if math.isnan(self.temperature):
            raise ValueError("lambda is nan; it should be a number, -inf and inf included")
        refusal = self.chosen_estimator.refuse(None if self.k == "all" else self.k)
        if refusal:
            raise ValueError(refusal)
        return self

    @field_serializer("temperature", when_used="json")
    def _finite(self, value: float) -> float | str:
        return value if math.isfinite(value) else str(value)  # JSON has no infinity

    @property
    def chosen_estimator(self) -> Estimator:
        """The estimator that `estimator` names."""
        return find_estimator(self.estimator)

    @property
    def name(self) -> str:
        """A short name for folders and tables."""
        suffix = "" if self.estimator == DEFAULT_ESTIMATOR else f"-{self.estimator}"
        if self.k == "all":
            return f"k-all{suffix}"
        if self.strategy == "transition":
            how = f"lambda{self.temperature:g}".replace("+", "")
        else:
            how = f"{self.strategy}{self.top}"
        return f"k{self.k}-{how}{suffix}"

    @property
    def sampling_fields(self) -> dict[str, Any]:
        """How candidates are drawn, as a manifest records it; None for what plays no part."""
        fields: dict[str, Any] = {"strategy": None, "lambda": None, "top": None}
        if self.k == "all":
            return fields
        if self.strategy == "transition":
            return fields | {"strategy": self.strategy, "lambda": self._finite(self.temperature)}
        return fields | {"strategy": self.strategy, "top": self.top}


class AuditSpec(BaseModel):
    """Everything that an audit needs; the same value behind the command line, YAML and Python."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="audit", pattern=r"^[\w.-]+$", description="Names the run directory.")
    mechanisms: OneOrMany[MechanismSpec] = Field(min_length=1)
    corpus: PluginSpec | None = Field(default=None, description="'demo' if nothing is said.")
    epsilons: Epsilons = Field(default_factory=list)
    attacks: OneOrMany[PluginSpec] = Field(default_factory=lambda: [PluginSpec(name="lexical")])
    plans: OneOrMany[PlanSpec] = Field(default_factory=lambda: [PlanSpec()], min_length=1)
    trials: int = Field(default=1000, ge=1, le=100_000_000)
    encoder: str = Field(
        default_factory=lambda: default_checkpoint("encoder", "lexical"),
        description="Whose distances the candidate sampling uses; zoo:encoder if the zoo is installed.",
    )
    alpha: float = Field(default=0.01, gt=0, lt=1)
    delta: float | None = Field(default=None, ge=0, lt=1, description="Instead of the claim's delta.")
    seed: int = 0
    batch_size: int = Field(default=4096, ge=1, description="Draws or trials per call of a plug-in.")
    block: int = Field(default=0, ge=0, description="Trials written at a time; 0: by the number of trials.")
    out: str = Field(default="", description="The run directory; runs/NAME by default.")

    @model_validator(mode="after")
    def _labels_differ(self) -> "AuditSpec":
        for what, titles in (
            ("mechanisms", [m.title for m in self.mechanisms]),
            ("attacks", [a.title for a in self.attacks]),
            ("plans", [p.name for p in self.plans]),
        ):
            distinct_titles(what, titles)
        return self

    @property
    def folder(self) -> Path:
        """The run directory."""
        return Path(self.out) if self.out else Path("runs") / self.name

    @property
    def block_size(self) -> int:
        """Trials per block: small enough to lose little, large enough to share work."""
        return self.block or max(100, min(4096, self.trials // 10))

    def to_yaml(self) -> str:
        """Return the spec as YAML, defaults left out."""
        data = self.model_dump(mode="json", by_alias=True, exclude_defaults=True, fallback=repr)
        readable = yaml.safe_dump(data, sort_keys=False, allow_unicode=True)
        if readable.replace("\n", "").isprintable():
            return readable
        return yaml.safe_dump(data, sort_keys=False)  # escaped: YAML takes more than \n for a line's end


def distinct_titles(what: str, titles: Sequence[str]) -> None:
    """Refuse duplicate titles and those that cannot name a folder."""
    twice = sorted({title for title in titles if titles.count(title) > 1})
    if twice:
        way_out = "leave one out" if what == "plans" else "give each a label of its own"
        raise ValueError(f"two {what} are called {', '.join(twice)}; {way_out}")
    for title in titles:
        if "/" in title or title.startswith(".") or not title.isprintable() or len(title) > 80:
            raise ValueError(
                f"{title!r} names a folder of the run: at most 80 printable characters, no '/' and "
                "no leading '.'; give it another label"
            )


def parse_spec(data: Mapping[str, Any]) -> AuditSpec:
    """Return the spec for a mapping, or say what is wrong with it."""
    return validate(AuditSpec, data)


def read_spec(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a SafeLoader
    except FileNotFoundError as error:
        raise SpecError(f"There is no file '{path}'. `tedaudit init` writes one to start from.") from error
    except (yaml.YAMLError, UnicodeDecodeError, OSError) as error:
        raise SpecError(
            f"'{path}' cannot be read as YAML: {yaml_problem(error)}. Repair it; `tedaudit init` writes an "
            "example."
        ) from error
    if not isinstance(data, dict):
        held = "nothing" if data is None else f"a value of type {type(data).__name__}"
        raise SpecError(
            f"'{path}' holds {held}; it must hold settings as `key: value`. `tedaudit init` writes an "
            "example."
        )
    return data


class _Loader(yaml.SafeLoader):
    """Refuses a duplicate key in a mapping: otherwise the last one would win in silence."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Return the mapping after checking its keys."""
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                problem = f"duplicate key '{key.value}'"
                raise yaml.composer.ComposerError(None, None, problem, key.start_mark)
            seen.add(key.value)
        return node


def yaml_problem(error: Exception) -> str:
    """Return what is wrong with some YAML, and where, in one line."""
    mark = getattr(error, "problem_mark", None)
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    return where + str(getattr(error, "problem", None) or error).splitlines()[0]
