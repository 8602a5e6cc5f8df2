"""The shape of what is published as data: summary.json, and exported rows, trials and losses.

A shape is said once, by the class whose values are told (`text/plain_data.py`): which of its fields and
properties JSON holds, their types, and below each one line on what it means. `describe` reads these into a
document, from which come the JSON schemas that the package ships (`schemas.py`) and the columns of every
frame (`frames.py`). A field is added, removed or given another meaning only together with a new number in the
schema's name. An infinite number is null, and so is what is not known.
"""

import inspect
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, make_dataclass
from enum import Enum
from functools import cache, cached_property, reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import Field

from tedaudit.estimators.loss import EpsilonAt
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.settings import read_meanings
from tedaudit.results.exposure import Exposure
from tedaudit.results.findings import SCHEMA, AuditResult, Finding
from tedaudit.results.losses import LossRow
from tedaudit.results.worst_pairs import WorstPairs
from tedaudit.text.plain_data import NULL, Count, PlainData, list_members, pick

ROW = (
    "plan, label as mechanism, epsilon, attack, rewrites, known_texts, knows, sees_draw, "
    "planned as planned_trials, "
    "counts.unusable, counts.failed, "
    "*bound, *measures, strength, saturated, *verdict, alone, teda_bound, "
    "surest.size as surest_size, surest.right as surest_right, "
    "gaussian.mu as gaussian_mu, gaussian.epsilon as gaussian_epsilon, gaussian.delta as gaussian_delta, "
    "claim.epsilon as claim_epsilon, claim.unit as claim_unit, claim.delta as claim_delta, "
    "claim.max_units as claim_max_units, claim.neighbours as claim_neighbours, "
    "claim.actual as claim_actual, claim.total as claim_total, claim.total_delta as claim_total_delta"
)
"""A finding as one row of a table: what is nested in summary.json has a prefix."""
_FIGURES = (
    "point", "lower", "upper", "upper_known", "impossible", "mean", "median", "largest", "most_possible",
)  # fmt: skip
_LIST: Any = list  # of types that are made here, which mypy does not know
_DICT: Any = dict
_LITERAL: Any = Literal


@dataclass(frozen=True)
class Trial:
    """One guess: a trial has one row, or two if both candidates are rewritten (baseline)."""

    plan: str
    """Which candidates were drawn together, and how."""
    mechanism: str
    """The mechanism's label."""
    epsilon: Nominal
    """Nominal; null if the mechanism takes none."""
    attack: str
    """The attack's label."""
    trial: Count
    """Number of the trial in its plan, from 0."""
    row: Count
    """Number of the row in its plan, from 0, as `replay` counts."""
    candidates: int
    """Candidate texts."""
    secret: Count
    """Which of the candidates was rewritten, from 0."""
    choice: int | None
    """Which one was named; null without a usable answer."""
    rank: int | None
    """Place of the secret by score, 1 for the best; null without a usable answer."""
    margin: float | None
    """Score of the best candidate less that of the next; null without an answer."""
    right: bool
    """Whether the secret was named."""
    usable: bool
    """Whether there was a usable answer."""
    failed: bool
    """Whether the rewrite failed."""
    counted: bool
    """Whether the trial is behind the row's bound."""
    source: Count
    """Position in the corpus of the text that was rewritten."""
    guess: int | None
    """Position in the corpus of the text that was named."""


@dataclass(frozen=True)
class TextTrial(Trial):
    """A trial with its texts: private."""

    source_text: str
    """The text that was rewritten."""
    rewrite: str
    """What was released; empty if the rewrite failed."""
    guess_text: str | None
    """The text that was named."""


@dataclass(frozen=True)
class LossAt(PlainData):
    """What an adversary that knows the mechanism learns: epsilon at one delta, and the losses behind it."""

    row: LossRow
    at: EpsilonAt
    in_json: ClassVar[str] = (
        "row.finding.plan, row.finding.label as mechanism, row.finding.epsilon, "
        "row.finding.claim.epsilon as claim_epsilon, row.finding.claim.unit as claim_unit, "
        "row.finding.claim.total as claim_total, at.delta, at.point, at.lower, at.upper, at.upper_known, "
        "row.sample.error, row.sample.trials, row.sample.unknown, row.impossible, row.sample.mean, "
        "row.median, row.largest, "
        "row.supremum.largest as most_possible, row.slack.at_most as slack, row.slack.delta as slack_delta, "
        "refuted"
    )

    @property
    def refuted(self) -> str | None:
        """What trials say of likelihoods that do not fit them; None if they fit."""
        return self.row.refuted or self.row.doubt or None

    def to_dict(self) -> dict[str, Any]:
        """Return the losses as a row; what is refuted is None."""
        return pick(self) | (dict.fromkeys(_FIGURES) if self.row.refuted else {})


@dataclass(frozen=True)
class Model:
    """A trained model behind the results."""

    used_by: str
    """The plug-in."""
    part: str
    """Which part of it."""
    model: str
    """Its name or path."""
    checksum: str
    """Of its weights."""


@dataclass(frozen=True)
class PostProcessing:
    """What a decoder hides: eps_emp on the latent less that on the text."""

    plan: str
    """The plan."""
    mechanism: str
    """The mechanism's label."""
    epsilon: Nominal
    """Nominal; null if the mechanism takes none."""
    internal: float
    """eps_emp on the latent."""
    external: float
    """eps_emp on the text."""
    effect: float
    """The difference."""
    empty: float | None
    """Share of rewrites without a text."""


SCHEMAS: dict[str, str] = {
    "summary": SCHEMA,
    "rows": "urn:tedaudit:rows:2",
    "trials": "urn:tedaudit:trials:1",
    "losses": "urn:tedaudit:losses:2",
}
"""What is published: the name of the schema of each kind of file."""
_EXPORTS: dict[str, tuple[str, str, tuple[tuple[type, str], ...]]] = {
    "rows": (
        "`tedaudit export --format json`: the findings of a run.",
        "One for each plan, mechanism, epsilon and attack.",
        ((Finding, ROW),),
    ),
    "trials": (
        "`tedaudit export --what trials --format json`: every guess of a run.",
        "One for each trial and attack; with texts if asked for.",
        ((Trial, ""), (TextTrial, "")),
    ),
    "losses": (
        "`tedaudit export --what losses --format json`.",
        "One for each plan, mechanism, epsilon and delta with likelihoods.",
        ((LossAt, ""),),
    ),
}


def make_document(kind: str) -> type:
    """Return the shape of a kind of file: a class whose fields have the types of JSON and their meanings."""
    schema = (_LITERAL[SCHEMAS[kind]], "This schema.")
    if kind == "summary":
        about = "summary.json, and what `run`, `estimate` and `report` print with --json."
        told = _read_fields(AuditResult) | {
            "schema": schema,
            "models": (_LIST[describe(Model)], "Trained models behind the results."),
            "post_processing": (_LIST[describe(PostProcessing)], "Empty if no latent was attacked."),
            "losses": (_LIST[describe(LossRow)], "If an attack knows the mechanism's likelihoods."),
            "exposures": (
                _LIST[describe(Exposure)],
                "If several rewrites of a secret are seen.",
            ),
            "contradictions": (list[str], "With --loss: what cannot be, but for chance."),
            "worst_pairs": (describe(WorstPairs) | None, "With --worst."),
        }
        return _make_class(
            "Summary", about, told, losses=(), exposures=(), contradictions=(), worst_pairs=None
        )
    about, says, rows = _EXPORTS[kind]
    told = {
        "schema": schema,
        "run": (str, "The run's name."),
        "tedaudit": (str, "The version that wrote it."),
        kind: (reduce(or_, (_LIST[describe(row, line)] for row, line in rows)), says),
    }
    return _make_class(kind.title(), about, told)


@cache
def describe(kind: type, line: str = "") -> type:
    """Return the shape of what is told of a class's values, by its own line or another one."""
    return _make_class(kind.__name__, inspect.getdoc(kind) or "", _read_fields(kind, line))


def _read_fields(kind: type, line: str = "") -> dict[str, tuple[Any, str]]:
    return {name: (told.json_type, told.meaning) for name, told in list_told(kind, line).items()}


def _make_class(name: str, about: str, told: Mapping[str, tuple[Any, str]], **defaults: Any) -> type:
    """Return a class with these fields, each with its type and meaning; no other field is accepted."""
    parts = [
        (key, Annotated[hint, Field(description=says)], field(default=defaults.get(key, MISSING)))
        for key, (hint, says) in told.items()
    ]
    space = {"__doc__": about, "__pydantic_config__": {"extra": "forbid"}}
    return make_dataclass(name, parts, namespace=space, kw_only=True)


class Told(NamedTuple):
    """A field or property that is told: its type, the class that has it, and its name there."""

    hint: Any
    owner: type
    name: str

    @property
    def json_type(self) -> Any:
        """The type that it has in JSON."""
        return _translate(self.hint)

    @property
    def meaning(self) -> str:
        """What it means, in a line: read from the source, so that it costs nothing until somebody asks."""
        function = _find_function(self.owner, self.name)
        if function is None:
            said = _read_meanings(self.owner).get(self.name, "")
        else:
            said = " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())
        said = said.replace("None", "null")
        is_unsaid = said and "null" not in said and NULL in get_args(self.hint)
        return f"{said} Null if it is infinite." if is_unsaid else said


def list_told(kind: type, line: str = "") -> dict[str, Told]:
    """Return all that is told of a class's values, by the names that it has in JSON."""
    listed: dict[str, Told] = {}
    for member in list_members(kind, line):
        found = _follow(kind, member.path)
        listed |= list_told(_drop_none(found.hint)) if member.is_spread else {member.name: found}
    return listed


def _follow(kind: Any, path: tuple[str, ...]) -> Told:
    """Return what lies there; its type is a plain one if anything on the way may be None."""
    is_plain, owner = False, kind
    for step in path:
        owner = _drop_none(kind)
        is_plain = is_plain or owner is not kind
        if step.isdigit():
            kind = get_args(owner)[int(step)]
            continue
        function = _find_function(owner, step)
        hints = get_type_hints(owner if function is None else function, include_extras=True)
        kind = hints[step if function is None else "return"]
    return Told(make_plain(kind) | None if is_plain else kind, owner, path[-1])


def _drop_none(hint: Any) -> Any:
    """Return a type without None, if it may be that."""
    is_union = get_origin(hint) in (Union, UnionType)
    return next(part for part in get_args(hint) if part is not NoneType) if is_union else hint


def _find_function(kind: type, name: str) -> Any:
    """Return the function of a property; None if the name is that of a field."""
    found = inspect.getattr_static(kind, name, None)
    if isinstance(found, cached_property):
        return found.func
    return found.fget if isinstance(found, property) else None


_read_meanings = cache(read_meanings)


def make_plain(hint: Any) -> Any:
    """Return the type of a column that may be empty: no limits, and any text in place of a choice."""
    if get_origin(hint) in (Annotated, Union, UnionType):
        return make_plain(get_args(hint)[0])
    return str if get_origin(hint) is Literal else hint


def _translate(hint: Any) -> Any:
    """Return a type as JSON has it."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner, limits = _translate(parts[0]), parts[1]
        return inner | None if limits == NULL else Annotated[inner, Field(**limits)]
    if origin in (Union, UnionType):
        return reduce(or_, map(_translate, parts))
    if origin in (tuple, list, dict, Mapping):
        inner = _translate(parts[-1] if origin in (dict, Mapping) else parts[0])
        return _LIST[inner] if origin in (tuple, list) else _DICT[str, inner]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _LITERAL[tuple(member.value for member in hint)]
    if hasattr(hint, "__dataclass_fields__"):
        return describe(hint)
    return float | None if hint is Nominal else hint
