"""From command-line flags to settings: flags override a YAML file, and both end in one `AuditSpec`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.errors import SpecError, TedauditError, did_you_mean, join_names
from tedaudit.models.zoo import is_default
from tedaudit.paths import parse_path
from tedaudit.plugins.registry import Kind, find, names, parameters
from tedaudit.runs.spec.model import PluginSpec
from tedaudit.runs.spec.yaml_text import load_yaml
from tedaudit.text.readers import table_format

_FILES = "files"  # the corpus that reads a path

SMALL: dict[str, Any] = {
    "name": "demo",
    "corpus": {"name": "demo"},
    "mechanisms": [{"name": "identity"}, {"name": "constant"}, {"name": "word-rr"}],
    "epsilons": [1, 4, 8, 12],
    "attacks": [{"name": "lexical"}, {"name": "text-likelihood"}],
    "trials": 10_000,
}
"""The embedded audit without the zoo: it needs no model."""

_ENOUGH = {"max_tokens": 24}
"""For messages of 14 words: nine in ten have no more tokens."""

SIX: dict[str, Any] = {
    "name": "demo",
    # few and short texts: what a model says of one serves many trials, and short ones are soon read
    "corpus": {"name": "demo", "size": 60, "longest": 14},
    "mechanisms": [
        {"name": "adept"},
        {"name": "dp-bart"},
        {"name": "dp-paraphrase", **_ENOUGH},
        {"name": "dp-prompt", **_ENOUGH},
        {"name": "dp-mlm"},
        {"name": "dp-st"},
    ],
    "attacks": [{"name": "embedding"}, {"name": "lexical"}, {"name": "text-likelihood"}],
    "trials": 150,  # the fewest, in tens, that give the loss at delta .05 an upper end
}
"""The embedded audit with the zoo: the six mechanisms of the paper, on models that need no download.

`embedded_audit` adds the epsilons of each, which stand on its card."""

_PLAN_FLAGS = {
    "k": "k", "lambda_": "lambda", "strategy": "strategy", "top": "top", "estimator": "estimator",
               "author": "author", "texts": "texts", "knows": "knows", "releases": "releases"}  # fmt: skip
_LISTS = {"mechanism": "mechanisms", "epsilon": "epsilons", "attack": "attacks"}
_GROUPS: dict[Kind, str] = {"mechanism": "mechanisms", "attack": "attacks"}
ENGINE_FLAGS = ("engine", "workers", "address", "resource")


def embedded_audit() -> dict[str, Any]:
    """Return what `tedaudit run` does without a file."""
    if not is_default():
        return SMALL
    slopes = [list(find("mechanism", one["name"]).card.slope) for one in SIX["mechanisms"]]
    chosen = zip(SIX["mechanisms"], slopes, strict=True)
    return {**SIX, "mechanisms": [{"name": one["name"], "epsilons": slope, **one} for one, slope in chosen]}


def merge_flags(
    base: Mapping[str, Any], flags: Mapping[str, Any], assignments: Sequence[str]
) -> dict[str, Any]:
    """Return the settings of a file or the embedded audit with flags and `label.key=value` applied."""
    given = {key: value for key, value in flags.items() if value not in (None, [], ())}
    settings: dict[str, Any] = dict(base)
    plan = {_PLAN_FLAGS[key]: given.pop(key) for key in list(given) if key in _PLAN_FLAGS}
    if plan:
        first, *others = _as_list(settings.get("plans")) or [{}]
        if others:
            raise SpecError(
                f"Flags cannot set {join_names(plan)}: the file has {1 + len(others)} plans, and flags set "
                "the plan of an audit that has one. Change the plans in the file."
            )
        # anything but a mapping stays as it is: the spec says what is wrong with it
        settings["plans"] = [{**first, **plan} if isinstance(first, Mapping) else first]
    engine = {key: given.pop(key) for key in ENGINE_FLAGS if key in given}
    column = given.pop("column", None)
    if engine:
        settings["engine"] = merge_engine(settings.get("engine"), engine)
    if "epsilon" in given:
        _refuse_list(given["epsilon"])
        settings["mechanisms"] = _drop_epsilons(settings.get("mechanisms"))
    for key, value in given.items():
        settings[_LISTS.get(key, key)] = list(value) if key in _LISTS else value
    if "corpus" in given:
        settings["corpus"] = parse_corpus(str(given["corpus"]))
    if column is not None:
        settings["corpus"] = {**_as_mapping(settings.get("corpus", "demo")), "column": column}
    for assignment in assignments:
        _assign(settings, assignment)
    return settings


def _refuse_list(epsilons: Sequence[Any]) -> None:
    """Refuse several epsilons in one flag, and say how they are given."""
    for written in epsilons:
        parts = re.split(r"[,;\s]+", str(written).strip())
        if len(parts) > 1:
            flags = " ".join(f"-e {part}" for part in parts if part)
            raise SpecError(f"--epsilon is '{written}': give each a flag of its own, as in {flags}.")


def _drop_epsilons(mechanisms: Any) -> Any:
    """Return mechanisms without epsilons of their own, over which a flag goes; what is no list stays."""
    if not isinstance(mechanisms, list):
        return mechanisms
    return [
        {key: value for key, value in one.items() if key != "epsilons"} if isinstance(one, Mapping) else one
        for one in mechanisms
    ]


def merge_engine(base: Any, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine of a file with what flags say of it; another engine takes nothing of the file's."""
    engine = {} if base is None else _as_mapping(base)
    name = flags.get("engine")
    if name is not None and engine.get("name") != name:
        engine = {"name": name}
    engine |= {key: flags[key] for key in ("workers", "address") if flags.get(key) is not None}
    if flags.get("resource"):
        engine["resources"] = dict(map(_parse_resource, flags["resource"]))
    return engine


def _parse_resource(written: str) -> tuple[str, float]:
    """Return what a worker takes from "gpu=0.5"."""
    name, _, amount = written.partition("=")
    try:
        return name, float(amount)
    except ValueError:
        raise SpecError(f"--resource takes NAME=AMOUNT, as in gpu=0.5, not '{written}'.") from None


def parse_k(value: str) -> int | str:
    """Return the candidates of a trial as given on the command line."""
    return int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) else value


def parse_field(assignment: str, written: str, kind: Kind, name: Any, field: str) -> Any:
    """Return the value that an assignment gives to a field of a plug-in, read as YAML.

    A field that takes nothing but text takes what is written, such as {text}; quotes around it are left out.
    """
    if _find_type(kind, name, field) is str and not written.lstrip().startswith(("'", '"')):
        return written
    return parse_value(assignment, written)


def parse_value(assignment: str, written: str) -> Any:
    """Return the value that an assignment gives, read as YAML."""
    try:
        return load_yaml(written)
    except ValueError as error:
        raise SpecError(
            f"--set {assignment}: the value cannot be read as YAML ({error}). Put quotes around a text."
        ) from error


def _find_type(kind: Kind, name: Any, field: str) -> Any:
    """Return what a field takes; what is wrong with a plug-in that cannot be found is said later."""
    try:
        return parameters(find(kind, str(name))).get(field, Any)
    except TedauditError:
        return Any


def parse_corpus(value: str) -> dict[str, Any]:
    """Return a corpus by its name, or by path if it looks like one; './demo' is a folder, 'demo' is not."""
    path = parse_path(value)
    is_name = value in names("corpus") and value != _FILES
    is_path = table_format(path) or (path.exists() and not is_name)
    return {"name": _FILES, "path": value} if is_path else {"name": value}


def assign_fields(kind: Kind, named: Sequence[str], assignments: Sequence[str]) -> list[dict[str, Any]]:
    """Return plug-ins of one kind with the fields that `--set` gives them."""
    entries: list[dict[str, Any]] = [{"name": name} for name in named]
    for assignment in assignments:
        label, key, raw = _split(assignment)
        entry = _find_entry(assignment, label, entries)
        if entry is None:
            raise _explain_unknown(assignment, label, list(named))
        entry[key] = parse_field(assignment, raw, kind, entry["name"], key)
    return entries


def _assign(settings: dict[str, Any], assignment: str) -> None:
    """Set a plug-in's field from "label.key=value", or from "key=value" if there is one mechanism."""
    label, key, raw = _split(assignment)
    if label == "corpus":
        corpus = _as_mapping(settings.get("corpus", "demo"))
        settings["corpus"] = {**corpus, key: parse_field(assignment, raw, "corpus", corpus.get("name"), key)}
    else:
        assign_plugin_field(settings, assignment, more=("corpus",))


def assign_plugin_field(settings: dict[str, Any], assignment: str, more: Sequence[str] = ()) -> None:
    """Set a field of a mechanism or an attack; `more` are the other labels that an error names."""
    label, key, raw = _split(assignment)
    known: list[str] = []
    for kind, group in _GROUPS.items():
        entries = [_as_mapping(entry) for entry in _as_list(settings.get(group))]
        known += map(_title, entries)
        entry = _find_entry(assignment, label, entries)
        if entry is not None:
            entry[key] = parse_field(assignment, raw, kind, entry.get("name"), key)
            settings[group] = entries
            return
    raise _explain_unknown(assignment, label, [*known, *more])


def _split(assignment: str) -> tuple[str, str, str]:
    """Return label, key and value of "label.key=value"; the label may be left out."""
    target, equals, raw = assignment.partition("=")
    label, dot, key = target.rpartition(".")
    if not equals or not key or bool(dot) != bool(label):
        raise SpecError(
            "--set takes LABEL.KEY=VALUE, as in word-rr.slots=8, or KEY=VALUE if one mechanism is named, not "
            f"'{assignment}'."
        )
    return label, key, raw


def _find_entry(assignment: str, label: str, entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the entry that a label means; without a label, the only one."""
    if not label:
        if len(entries) == 1:
            return entries[0]
        raise SpecError(
            f"--set {assignment}: say whose field it is, as LABEL.KEY=VALUE. There are: "
            f"{join_names(map(_title, entries))}."
        )
    meant = [entry for entry in entries if _title(entry) == label]
    meant += [entry for entry in entries if entry.get("name") == label]
    return meant[0] if meant else None


def _explain_unknown(assignment: str, label: str, known: Sequence[str]) -> SpecError:
    return SpecError(
        f"--set {assignment}: nothing here is called '{label}'.{did_you_mean(label, known)} "
        f"There are: {join_names(known)}."
    )


def _title(entry: Mapping[str, Any]) -> str:
    """Return what results call a plug-in; what is wrong with a name that is none is said later."""
    named = {key: entry.get(key, "") for key in ("name", "label")}
    return PluginSpec(**named).title if all(isinstance(value, str) for value in named.values()) else ""


def _as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _as_mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {"name": value}
