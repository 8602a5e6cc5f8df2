"""What a manifest and the description of a table must look like, whoever wrote them.

Readers of a run rely on these fields. Names become parts of paths, so that none may lead out of the run.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationError,
    model_validator,
)

from tedaudit.errors import SpecError
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Claim, Knows


def _refuse_path(name: str) -> str:
    if not name or "/" in name or "\0" in name or name.startswith("."):
        raise ValueError("it should be a name, not a path")
    return name


def _refuse_word(value: int | float | str | None) -> int | float | str | None:
    if isinstance(value, str):
        float(value)
    return value


def _refuse_other_table(name: str) -> str:
    kind, *place = map(_refuse_path, name.split("/"))
    lengths = {"guesses": (4,), "rewrites": (2,), "own_rewrites": (2,), "studies": (1, 3)}
    if len(place) not in lengths.get(kind, ()):
        raise ValueError("it should name the folder of a table, or of a study")
    if kind != "studies":
        Nominal.of(place[-2 if kind == "guesses" else -1])
    return name


FileName = Annotated[str, AfterValidator(_refuse_path)]
TableName = Annotated[str, AfterValidator(_refuse_other_table)]
Number = StrictInt | float
Lambda = Annotated[Number | str | None, AfterValidator(_refuse_word)]  # an infinite one is a text


class _Part(BaseModel):
    """Some of what is written down; other fields may stand beside those that are named."""

    model_config = ConfigDict(extra="allow", strict=True)


class _Plugin(_Part):
    name: str
    label: str = ""


class _Settings(_Part):
    mechanisms: list[_Plugin] = []
    attacks: list[_Plugin] = []
    corpus: _Plugin | None = None
    alpha: Annotated[Number, Field(gt=0, lt=1)] = 0.01
    delta: Annotated[Number, Field(ge=0, lt=1)] | None = None
    encoder: str = ""


class _Corpus(_Part):
    name: str
    fingerprint: str
    splits: list[FileName]
    texts: StrictInt
    notes: list[str]
    has_repeats: StrictBool = False


class _Plan(_Part):
    key: str
    determinants: dict[str, Any]
    base: str
    mechanism: str | None
    strategy: str | None
    lambda_: Lambda = Field(alias="lambda")
    top: StrictInt | None
    k: Annotated[StrictInt, Field(ge=2)]
    estimator: str
    looks: list[StrictInt]
    notes: list[str]


class _Model(_Part):
    used_by: str
    part: str
    model: str
    checksum: str


class _Machine(_Part):
    versions: dict[str, str] = {}


class _Repeats(_Part):
    calls: StrictInt
    differing: StrictInt
    seeded: StrictBool


class _Wave(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    label: FileName
    plan: FileName
    start: Annotated[StrictInt, Field(ge=0)]
    stop: Annotated[StrictInt, Field(ge=0)]
    size: Annotated[StrictInt, Field(ge=1)]
    own: list[StrictInt]


class _Table(_Part):
    asked: Annotated[StrictInt, Field(ge=0)]
    seen: Annotated[StrictInt, Field(ge=0)]


class _Card(_Part):
    summary: str
    paper: str
    claim: str
    departures: list[str]
    sees: list[str]


class _Manifest(_Part):
    name: str
    spec: _Settings
    corpus: _Corpus
    plans: dict[FileName, _Plan]
    looks: list[str]
    models: list[_Model]
    script_notes: list[str] = []
    cautions: dict[str, list[str]] = {}
    repeats: dict[str, _Repeats] = {}
    history: list[_Wave]
    remade: dict[str, StrictInt] = {}
    tables: dict[TableName, _Table]
    cards: dict[str, dict[str, _Card]] = {}
    machine: _Machine = _Machine()
    written: str = ""
    files: str


class _Practice(_Part):
    splits: list[str]
    texts: StrictInt


class _Resampled(_Part):
    texts: StrictInt
    most: StrictInt


class _AttackInfo(_Part):
    name: str


class _GuessDeterminants(_Part):
    attack: _AttackInfo


class _Claim(_Part):
    epsilon: Number
    unit: str
    delta: Number = 0.0
    max_units: StrictInt | None = 1
    neighbours: str = "any two texts"
    actual: Number | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "_Claim":
        try:
            Claim(**self.model_dump())
        except (TypeError, SpecError) as error:
            raise ValueError(str(error)) from error
        return self


class _GuessAbout(_Part):
    label: str
    epsilon: Number | None
    claim: _Claim | None
    plan: str
    attack: str
    score: str
    knows: Knows
    sees_draw: StrictBool
    own_rewrites: StrictInt = 0
    practice: _Practice | None = None
    resampled: _Resampled | None = None
    seen_before: StrictInt = 0


class _GuessInfo(_Part):
    about: _GuessAbout
    determinants: _GuessDeterminants


def misfit_of_manifest(manifest: Mapping[str, Any]) -> str:
    """Return what is wrong with a manifest, or nothing."""
    return _find_misfit(_Manifest, manifest)


def misfit_of_guesses(about: Mapping[str, Any], determinants: Mapping[str, Any]) -> str:
    """Return what is wrong with the description of a table of guesses, or nothing."""
    return _find_misfit(_GuessInfo, {"about": about, "determinants": determinants})


def _find_misfit(shape: type[BaseModel], content: Mapping[str, Any]) -> str:
    try:
        shape.model_validate(dict(content))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return f"{where}: {str(first['msg']).removeprefix('Value error, ')}"
    return ""
