"""Says in sentences what is wrong with settings: the thing, its value, what is allowed."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from tedaudit.errors import SpecError, did_you_mean, join_names, quote

Spec = TypeVar("Spec", bound=BaseModel)
Value = TypeVar("Value")
_HUGE = 2**62  # a limit that nobody needs to be told
_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_MAPPINGS = {
    "plans": "a mapping, such as {k: 2}",
    "engine": "a name, or a mapping such as {name: processes, workers: 4}",
}
_LISTS = {"mechanisms": "mechanisms", "attacks": "attacks", "corpus": "corpora"}  # for `tedaudit ls`


def _parse_epsilons(value: Any) -> Any:
    """Return one or several epsilons as a list without repeats, or say which one is wrong."""
    single = isinstance(value, str | Mapping) or not hasattr(value, "__iter__")
    values = [value] if single else list(value)
    for epsilon in values:
        try:
            number = float(epsilon)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if isinstance(epsilon, bool) or not (0 <= number < math.inf):
            raise ValueError(
                f"epsilon is {quote(epsilon)}; it should be a finite number of 0 or more, such as 1"
            )
    return list(dict.fromkeys(float(epsilon) for epsilon in values))


Epsilons = Annotated[list[float], BeforeValidator(_parse_epsilons)]
OneOrMany = Annotated[
    list[Value], BeforeValidator(lambda value: list(value) if isinstance(value, list | tuple) else [value])
]


def validate(model: type[Spec], data: Mapping[str, Any]) -> Spec:
    """Return a spec of any kind for a mapping, or say what is wrong with it."""
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        sentences = dict.fromkeys(_explain(problem, model) for problem in error.errors())
        raise SpecError(" ".join(sentences)) from error


def _explain(problem: Any, whole: type[BaseModel]) -> str:
    """Return one validation problem as a sentence: the thing, its value, what is allowed."""
    parts = [part for part in problem["loc"] if part not in ("int", "literal['all']")]
    where, top = ".".join(map(str, parts)), str(parts[0]) if parts else ""
    model = _nested(whole, top) if len(parts) > 1 else whole
    known = {field.alias or name: field for name, field in model.model_fields.items()}
    if problem["type"] in ("extra_forbidden", "invalid_key"):
        close = did_you_mean(str(parts[-1]), known)
        return f"There is no setting '{where}'.{close} Settings are: {join_names(known)}."
    if problem["type"] == "missing":
        return f"'{where}' is missing. `tedaudit ls {_LISTS.get(top, top)}` lists what there is."
    value = problem["input"]
    shown = f" is {quote(value)}" if isinstance(value, str | int | float | bool | None) else ""
    what = _expected(problem, top) or _number(known.get(str(parts[-1]))) if parts else ""
    what = what or str(problem["msg"]).removeprefix("Value error, ").replace("Input should", "it should")
    return f"'{where}'{shown}: {what}." if where else f"{what[0].upper()}{what[1:]}."


def _nested(whole: type[BaseModel], setting: str) -> type[BaseModel]:
    """Return the model of a setting's entries, if those take no fields but their own."""
    field = whole.model_fields.get(setting)
    for kind in (field.annotation, *get_args(field.annotation)) if field else ():
        if (
            isinstance(kind, type)
            and issubclass(kind, BaseModel)
            and kind.model_config.get("extra") == "forbid"
        ):
            return kind
    return whole


def _expected(problem: Any, setting: str) -> str:
    """Return what is allowed if pydantic speaks of its own classes and patterns."""
    if problem["type"] == "model_type":
        if setting in _MAPPINGS:
            return f"it should be {_MAPPINGS[setting]}"
        listing = f"`tedaudit ls {_LISTS.get(setting, setting)}`"
        return f"it should be a name or a mapping with a `name`; {listing} lists them"
    sentences = {
        "string_type": "it should be a text; put quotes around it",
        "too_short": "it should hold at least one",
        "string_pattern_mismatch": "it should hold letters, digits, '.', '_' and '-' only, no '.' first",
        "string_too_long": "it should have at most 80 characters",
    }
    return sentences.get(problem["type"], "")


def _number(field: Any) -> str:
    """Return which numbers a setting takes, or nothing if it takes something else."""
    kinds = {int: "a whole number", float: "a number", float | None: "a number"}
    if field is None or field.annotation not in kinds:
        return ""
    rules = [(word, getattr(rule, name, None)) for rule in field.metadata for name, word in _LIMITS.items()]
    told = [(word, limit) for word, limit in rules if limit is not None and abs(limit) < _HUGE]
    limits = " and ".join(f"{word} {limit:,}" for word, limit in told)
    example = "" if field.default is None else f", such as {field.default}"
    return f"it should be {kinds[field.annotation]}{f', {limits}' if limits else ''}{example}"
