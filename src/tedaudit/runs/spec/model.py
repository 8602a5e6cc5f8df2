"""The whole of an audit as one value: `AuditSpec`, to and from YAML. Unknown keys are refused."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    field_serializer,
    field_validator,
    model_validator,
)

from tedaudit.errors import SpecError, join_names, quote
from tedaudit.estimators import DEFAULT_ESTIMATOR, Estimator, estimator_names, find_estimator
from tedaudit.models.zoo import default_checkpoint
from tedaudit.paths import describe_os_error, parse_path
from tedaudit.plugins.registry import Kind, Reference
from tedaudit.plugins.values import Card
from tedaudit.runs.spec.engine import EngineSpec
from tedaudit.runs.spec.messages import Epsilons, OneOrMany, validate
from tedaudit.runs.spec.yaml_text import LONGEST, load_yaml
from tedaudit.text.readers import table_format
from tedaudit.trials.candidates import GivenSets, Sampling
from tedaudit.trials.judge import KEPT_SCORES

LARGEST = 2**63 - 1  # a whole number that files and arrays can hold
MOST_ROUNDS = 64  # rewrites of a secret that an adversary sees
ORIGINALS = "originals"
"""What texts that were not rewritten are called beside rewrites, if an adversary knows other texts."""
_LONGEST_TITLE = 160  # bytes: with what is put before and after it, a file's name has at most 255


Seed = Annotated[int, Field(ge=-(2**512), le=2**512)]  # of any length, but not of thousands of digits
FolderName = Annotated[str, Field(pattern=r"^[\w-][\w.-]*$", max_length=80)]
"""A name that stays inside the folder that it is put into."""


class PluginSpec(BaseModel):
    """A plug-in by name; every other key is a field of that plug-in. A bare string is a name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = Field(
        description="As `tedaudit ls` lists it, or py:package.module:name, which runs that code."
    )
    label: str = Field(default="", description="What results call it; its name by default.")
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
        return Reference(kind=kind, name=self.name, params=self.params, live=self.live)


class MechanismSpec(PluginSpec):
    """A mechanism; it may have epsilons of its own."""

    epsilons: Epsilons = Field(default_factory=list, description="Instead of the audit's epsilons.")


class PlanSpec(BaseModel):
    """How candidate sets are drawn, and which estimator reads the trials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    k: int | Literal["all"] = Field(default=2, description="Candidates per trial; 'all': the whole corpus.")
    temperature: float = Field(
        default=-1e4, alias="lambda", description="< 0 more diverse, > 0 more similar."
    )
    strategy: Literal["transition", "nearest", "furthest", "given"] = Field(
        default="transition", description="transition: by distance and lambda; given: the sets below."
    )
    top: int = Field(
        default=1, ge=1, le=LARGEST, description="nearest and furthest: uniform among this many."
    )
    sets: tuple[tuple[NonNegativeInt, ...], ...] = Field(
        default=(), description="given: the positions of the candidates in the corpus, a set for each trial."
    )
    estimator: str = Field(default=DEFAULT_ESTIMATOR, description="What turns guesses into a bound.")
    author: str = Field(
        default="", description="A column: the secret is an author, of whom the adversary sees n rewrites."
    )
    texts: int | None = Field(
        default=None, ge=1, le=MOST_ROUNDS,
        description="author: the largest n; without it, one that half of the authors have texts for.",
    )  # fmt: skip
    knows: Literal["same", "other"] = Field(
        default="same", description="author: the adversary knows these very texts, or others by the author."
    )
    releases: int = Field(
        default=1, ge=1, le=MOST_ROUNDS, description="The adversary sees up to so many rewrites of one text."
    )

    @field_validator("k", mode="before")
    @classmethod
    def _two_or_more(cls, value: Any) -> Any:
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if value == "all" or (is_number and 2 <= value <= LARGEST):
            return value
        raise ValueError("it should be a whole number of 2 or more, or 'all'")

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
        if (self.strategy == "given") != bool(self.sets):
            raise ValueError("`strategy: given` and `sets` go together")
        if any(len(set(positions)) != self.k or len(positions) != self.k for positions in self.sets):
            raise ValueError(f"each of `sets` should name k = {self.k} different texts by position, from 0")
        refusal = self.chosen_estimator.refuse(None if self.k == "all" else self.k)
        refusal = refusal or self._refuse_rounds()
        if refusal:
            raise ValueError(refusal)
        return self

    def _refuse_rounds(self) -> str:
        """Return why several rewrites of a secret cannot be seen in this plan, or nothing."""
        named = ("temperature", "strategy", "top", "sets", "releases")
        drawn = [name for name in named if getattr(self, name) != type(self).model_fields[name].default]
        if not self.author and (self.texts is not None or self.knows != "same"):
            return "`texts` and `knows` say how authors are seen: name the column of authors as `author`"
        if self.author and drawn:
            others = join_names(drawn).replace("temperature", "lambda")
            return f"authors are drawn at random, with another text in every rewrite: leave out {others}"
        if not self.has_rounds:
            return ""
        if self.chosen_estimator.rows_per_trial > 1:
            return f"the estimator '{self.estimator}' reads one rewrite of each text; use 'reduced'"
        if self.k == "all" or self.k > KEPT_SCORES:
            return (
                f"k is {self.k}, but to add the scores of several rewrites it should be {KEPT_SCORES} or less"
            )
        return ""

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
        if self.author:
            return f"k{self.k}-author{self.texts or ''}{'-other' * (self.knows == 'other')}"
        if self.releases > 1:
            suffix += f"-releases{self.releases}"
        if self.k == "all":
            return f"k-all{suffix}"
        if self.strategy == "transition":
            how = f"lambda{self.temperature:g}".replace("+", "")
        elif self.strategy == "given":
            how = f"given{len(self.sets)}"
        else:
            how = f"{self.strategy}{self.top}"
        return f"k{self.k}-{how}{suffix}"

    @property
    def has_rounds(self) -> bool:
        """Whether an adversary sees several rewrites of a secret."""
        return bool(self.author) or self.releases > 1

    @property
    def sampling(self) -> Sampling | None:
        """How candidate sets are drawn; None if every text is a candidate."""
        if self.k == "all":
            return None
        if self.author:
            return Sampling(self.k, temperature=0.0)
        if self.strategy == "given":
            return GivenSets(self.k, self.strategy, 0.0, sets=self.sets)
        return Sampling(k=self.k, strategy=self.strategy, temperature=self.temperature, top=self.top)

    @property
    def sampling_fields(self) -> dict[str, Any]:
        """How candidates are drawn, as a manifest records it; None for what plays no part."""
        fields: dict[str, Any] = {"strategy": None, "lambda": None, "top": None}
        if self.k == "all":
            return fields
        if self.author:
            return fields | {"strategy": "author"}
        if self.strategy == "transition":
            return fields | {"strategy": self.strategy, "lambda": self._finite(self.temperature)}
        return fields | {"strategy": self.strategy, "top": None if self.sets else self.top}


class AuditSpec(BaseModel):
    """Everything that an audit needs; the same value behind the command line, YAML and Python."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: FolderName = Field(default="audit", description="Names the run directory.")
    mechanisms: OneOrMany[MechanismSpec] = Field(min_length=1, description="What is audited; one or many.")
    corpus: PluginSpec | None = Field(default=None, description="'demo' by default.")
    epsilons: Epsilons = Field(
        default_factory=list, description="The epsilons at which every mechanism is audited."
    )
    attacks: OneOrMany[PluginSpec] = Field(
        default_factory=lambda: [PluginSpec(name="lexical")], description="Who guesses; one or many."
    )
    plans: OneOrMany[PlanSpec] = Field(
        default_factory=lambda: [PlanSpec()], min_length=1, description="How candidates are drawn."
    )
    trials: int = Field(
        default=1000, ge=1, le=100_000_000, description="Trials for each mechanism and epsilon."
    )
    encoder: str = Field(
        default_factory=lambda: default_checkpoint("encoder", "lexical"),
        description="The encoder for the distances of candidate sampling; zoo:encoder if it is installed.",
    )
    alpha: float = Field(
        default=0.01, gt=0, lt=1, description="The probability that a bound is wrong is at most half of this."
    )
    delta: float | None = Field(default=None, ge=0, lt=1, description="Instead of the claim's delta.")
    seed: Seed = Field(
        default=0, description="Of candidates, secrets and noise; the same seed gives the same run."
    )
    batch_size: int = Field(
        default=4096, ge=1, le=LARGEST, description="Draws or trials per call of a plug-in."
    )
    block: int = Field(
        default=0,
        ge=0,
        le=LARGEST,
        description="How many trials are done and written together; 0: chosen by the number of trials.",
    )
    engine: EngineSpec = Field(
        default_factory=EngineSpec, description="Who does the model work; it changes no result."
    )
    out: str = Field(
        default="",
        description="The run directory; without it runs/NAME, or one of its own if it has no name.",
    )

    @model_validator(mode="after")
    def _show_originals(self) -> "AuditSpec":
        """Audit the originals too if other texts are known: what could be found out without a rewriter."""
        knows_other = any(plan.knows == "other" for plan in self.plans)
        if knows_other and ORIGINALS not in [mechanism.title for mechanism in self.mechanisms]:
            originals = MechanismSpec(name="identity", label=ORIGINALS)
            object.__setattr__(self, "mechanisms", [*self.mechanisms, originals])
        return self

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
        return parse_path(self.out or Path("runs") / self.name)

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
        is_long = len(title) > 80 or len(title.encode("utf-8", "replace")) > _LONGEST_TITLE
        if not title or "/" in title or title.startswith(".") or not title.isprintable() or is_long:
            raise ValueError(
                f"{quote(title)} names a folder of the run: 1 to 80 printable characters ({_LONGEST_TITLE} "
                "bytes), no '/' and no leading '.'; give it another label"
            )


def parse_spec(data: Mapping[str, Any]) -> AuditSpec:
    """Return the spec for a mapping, or say what is wrong with it."""
    return validate(AuditSpec, data)


def read_spec(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file."""
    path = parse_path(path)
    if path.is_file() and table_format(path) not in ("", "txt"):  # a spec may be called so
        name = shlex.quote(str(path))
        raise SpecError(
            f"'{path}' is a table, not a spec. If it has originals beside rewrites: `tedaudit link {name}` "
            "says how many rewrites can be linked to their originals, and `tedaudit run -m recorded --set "
            f"recorded.path={name}` audits them. If it has texts: `tedaudit run -m NAME --corpus {name}` "
            "audits a mechanism on them."
        )
    try:
        with path.open("rb") as file:
            raw = file.read(LONGEST + 1)
        data = load_yaml(raw.decode("utf-8"))
    except FileNotFoundError as error:
        raise SpecError(f"There is no file '{path}'. `tedaudit init` writes one to start from.") from error
    except (ValueError, OSError) as error:
        reason = describe_os_error(error) if isinstance(error, OSError) else error
        raise SpecError(
            f"'{path}' cannot be read as YAML: {reason}. Repair it; `tedaudit init` writes an example."
        ) from error
    if not isinstance(data, dict):
        held = "nothing" if data is None else f"a value of type {type(data).__name__}"
        raise SpecError(
            f"'{path}' holds {held}; it must hold settings as `key: value`. `tedaudit init` writes an "
            "example."
        )
    return data
