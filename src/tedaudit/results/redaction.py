"""What may leave the run directory: JSON that cannot end its script element, and results without texts."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tedaudit.results.findings import AuditResult, Finding
from tedaudit.runs.missing import Missing
from tedaudit.text.characters import UNSPACED_BLOCKS, replace_surrogates
from tedaudit.trials.candidates import SAMPLING
from tedaudit.trials.plan import name_plan

LEFT_OUT = "(left out)"
# One word: a name, not a text. Without spaces nobody can tell: in such scripts a sentence is one word.
PLAIN_LABEL = re.compile(rf"(?:[^\W{UNSPACED_BLOCKS}]|[.:+=@-]){{1,40}}")
_COUNTS = re.compile(r"[\w.-]+: [\d,]+ distinct texts of .*|[\d,]+ texts of other splits .*")
IDENTIFIER = re.compile(  # sound, zoo:mlm, owner/model
    r"(?:[a-z]+:)?\w[\w.-]{0,79}(?:/\w[\w.-]{0,79})?", re.ASCII
)
_ESCAPED = {ord(mark): f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}


def safe_json(data: Any) -> str:
    """Return JSON in which no tag, comment or entity can begin, so that it can be put in a page."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return replace_surrogates(text).translate(_ESCAPED)


def redact_result(result: AuditResult, manifest: Mapping[str, Any]) -> AuditResult:
    """Return the result without anything that somebody typed or that came from a file.

    A label of several words could be a text, and a note on how a file was read may quote it.
    """
    lost, named = [one.label for one in result.missing], [o for one in result.missing for o in one.attacks]
    mechanisms = rename_labels("mechanism", [*(finding.label for finding in result), *filter(None, lost)])
    attacks = rename_labels("attack", [*(finding.attack for finding in result), *named])
    findings = tuple(
        replace(f, label=mechanisms[f.label], attack=attacks[f.attack], plan=_rename_plan(f, mechanisms))
        for f in result
    )
    read = set(manifest["corpus"]["notes"])
    notes = [note for note in result.notes if note not in read or _COUNTS.fullmatch(note)]
    for old, new in {**mechanisms, **attacks}.items():
        if old != new:
            notes = [note.replace(old, new) for note in notes]
    if len(notes) < len(result.notes):
        notes.append("notes on how the corpus was read are left out")
    models = tuple(_redact_model(model, {**mechanisms, **attacks}) for model in result.models)
    pairs = tuple(
        replace(pair, label=mechanisms.get(pair.label, LEFT_OUT), attack=attacks.get(pair.attack, LEFT_OUT))
        for pair in result.pairs
    )
    certain = tuple(
        replace(
            loss,
            label=mechanisms.get(loss.label, LEFT_OUT),
            attack=attacks.get(loss.attack, LEFT_OUT),
            plan="",
        )
        for loss in result.certain
    )
    originals = tuple(replace(f, attack=attacks.get(f.attack, LEFT_OUT)) for f in result.originals)
    missing = tuple(redact_missing(one, mechanisms, attacks) for one in result.missing)
    return replace(
        result, findings=findings, notes=tuple(notes), models=models, pairs=pairs, certain=certain,
        originals=originals, missing=missing,
    )  # fmt: skip


def redact_missing(one: Missing, mechanisms: Mapping[str, str], attacks: Mapping[str, str]) -> Missing:
    """Return what is missing without names that could be texts; a plan of one mechanism bears its label."""
    base, at, owner = one.name.partition("@")
    names = {"": "", **mechanisms}
    label, own = (names.get(name, redact_label(name)) for name in (one.label, owner))
    shown = tuple(attacks.get(attack, redact_label(attack)) for attack in one.attacks)
    return replace(one, name=base + at + own, label=label, attacks=shown)


def _rename_plan(finding: Finding, mechanisms: Mapping[str, str]) -> str:
    """Return how a plan is called; one that belongs to a single mechanism bears its label as it is shown."""
    own = finding.plan != finding.plan_base
    return name_plan(finding.plan_base, mechanisms[finding.label] if own else None)


def _redact_model(model: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return a model without a path of this machine, its user as it is called elsewhere."""
    known, user = {SAMPLING, *names.values()}, names.get(model["used_by"], model["used_by"])
    return {
        **model,
        "used_by": user if user in known or PLAIN_LABEL.fullmatch(user) else LEFT_OUT,
        "model": model["model"] if IDENTIFIER.fullmatch(model["model"]) else LEFT_OUT,
    }


def rename_plans(original: AuditResult, shown: AuditResult, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest whose plans are named as they are shown: some contain the name of a mechanism."""
    named = {old.plan: new.plan for old, new in zip(original, shown, strict=True)}
    plans = {named.get(name, name): info for name, info in manifest["plans"].items()}
    return {**manifest, "plans": plans}


def rename_labels(kind: str, labels: Sequence[str]) -> dict[str, str]:
    """Return how each label is shown: unchanged if it is one word, otherwise as a number."""
    distinct = list(dict.fromkeys(labels))
    return {
        label: label if PLAIN_LABEL.fullmatch(label) else f"{kind} {number}"
        for number, label in enumerate(distinct, 1)
    }


def redact_label(label: str) -> str:
    """Return a label if it is one word: a longer one could be a text."""
    return label if PLAIN_LABEL.fullmatch(label) else LEFT_OUT


def redact_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec without strings that could contain a text."""
    plain = {**spec, "out": LEFT_OUT}
    plain["mechanisms"] = [_redact_plugin(mechanism) for mechanism in spec["mechanisms"]]
    plain["attacks"] = [_redact_plugin(attack) for attack in spec["attacks"]]
    plain["corpus"] = _redact_plugin(spec["corpus"]) if spec.get("corpus") else None
    plain["plans"] = [
        {**plan, "author": redact_label(plan["author"])} if plan.get("author") else plan
        for plan in spec.get("plans", [])
    ]
    encoder = str(spec.get("encoder", ""))
    plain["encoder"] = encoder if IDENTIFIER.fullmatch(encoder) else LEFT_OUT
    return plain


def _redact_plugin(plugin: Mapping[str, Any]) -> dict[str, Any]:
    settings = {key: value if _is_harmless(value) else LEFT_OUT for key, value in plugin.items()}
    label = str(plugin.get("label", ""))
    return {**settings, "name": plugin["name"], "label": label if PLAIN_LABEL.fullmatch(label) else ""}


def _is_harmless(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_harmless(item) for item in value)
    return isinstance(value, bool | int | float | None)
