"""Calibration cards: what an audit measured of one mechanism, for its author to put beside a model card.

A card leaves the machine, so it contains no text of the corpus and nothing that somebody may have typed
one into: labels of several words are replaced by numbers, and string settings are left out unless they
are identifiers such as a model's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.plans.candidates import SAMPLING
from tedaudit.reports.chart import plan_words
from tedaudit.reports.headline import headlines
from tedaudit.reports.plugin_cards import describe_plugins
from tedaudit.reports.redaction import (
    IDENTIFIER,
    LEFT_OUT,
    redact_result,
    redact_spec,
    rename_labels,
    rename_plans,
)
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.version import __version__

FORMAT = 2
_KEPT = ("variant", "model", "revision")
SAYS = (
    (
        "eps_emp is a lower bound: for some pair of texts the mechanism leaks at least this much, and the "
        "statement is wrong with probability at most the error given with it."
    ),
    (
        "A claim is violated if guesses were right more often than its total allows. All tests and looks of "
        "the run share one error."
    ),
)
SAYS_NOT = (
    (
        "A low eps_emp does not prove privacy: another attack may do better, and the ceiling limits what "
        "this many trials can show."
    ),
    "The point and upper end describe these attacks' success, not the mechanism.",
    (
        "The numbers are valid for this corpus, these candidates and these settings; nominal epsilons "
        "of different units cannot be compared."
    ),
)
_ABOUT = ("name", "summary", "paper", "departures", "version")


def calibration_cards(result: AuditResult, only: str | None = None) -> list[dict[str, Any]]:
    """Return one card per mechanism as plain data, from the tables alone."""
    manifest = result.run.manifest()
    labels = list(dict.fromkeys(finding.label for finding in result))
    if not labels:
        raise SpecError(
            f"'{result.folder}' has no findings for a card: no attack has finished a block yet. Run the "
            "same command again to continue it."
        )
    if only is not None and only not in labels:
        raise SpecError(
            f"The run has no mechanism '{only}'.{did_you_mean(only, labels)} It has: {join_names(labels)}."
        )
    names = rename_labels("mechanism", labels)
    clean = redact_result(result, manifest)
    manifest = rename_plans(result, clean, manifest)
    return [
        _build_card(clean, manifest, names[label], _select_spec(manifest["spec"], label, result))
        for label in labels
        if only is None or label == only
    ]


def _build_card(
    result: AuditResult, manifest: Mapping[str, Any], name: str, spec: Mapping[str, Any]
) -> dict[str, Any]:
    findings = [finding for finding in result if finding.label == name]
    own = replace(result, findings=tuple(findings))
    corpus, machine = manifest["corpus"], manifest.get("machine", {})
    plugin = describe_plugins(spec)["mechanisms"][0]
    return {
        "format": FORMAT,
        "kind": "tedaudit calibration card",
        "written_by": __version__,
        "mechanism": {"label": name, **{key: plugin.get(key) for key in _ABOUT}},
        "claims": _describe_claims(findings),
        "results": [_describe_finding(finding) for finding in findings],
        "violated": own.violated,
        "headline": " ".join(headline.text for headline in headlines(own)),
        "judged_claims": [claim.to_dict() for claim in own.claims],
        "models": _select_models(result, name),
        "settings": {
            "corpus": {key: corpus[key] for key in ("name", "texts", "fingerprint")},
            "plans": [_describe_plan(plan, manifest) for plan in dict.fromkeys(f.plan for f in findings)],
            "alpha": result.alpha, "errors": sorted({finding.bound.error for finding in findings}),
            "tests": sum(finding.verdict.has_claim for finding in result),
            "look": result.family.look.number, "judged": result.family.look.noted,
            "seed": manifest["spec"].get("seed"), "encoder": spec["encoder"],
        },
        "run": {"written": manifest.get("written", ""), "versions": machine.get("versions", {}),
                "device": machine.get("device", "")},
        "reproduce": {
            "spec": yaml.safe_dump(dict(spec), sort_keys=False, allow_unicode=True),
            "commands": ["tedaudit run audit.yaml", "tedaudit card RUN"],
            "left_out": LEFT_OUT in str(spec),
        },
        "notes": _select_notes(result),
        "says": list(SAYS), "says_not": list(SAYS_NOT),
    }  # fmt: skip


def _select_models(result: AuditResult, name: str) -> list[dict[str, str]]:
    """Return the models of this mechanism, of the attacks on it and of the candidate sampling."""
    users = {name, SAMPLING, *(finding.attack for finding in result if finding.label == name)}
    return [dict(model) for model in result.models if model["used_by"] in users]


def _select_notes(result: AuditResult) -> list[str]:
    """Return the notes but those on plans that belong to a single mechanism, whose label they bear."""
    own = {finding.plan for finding in result if finding.plan != finding.plan_base}
    return [note for note in result.notes if not note.startswith(tuple(f"plan {plan}:" for plan in own))]


def _describe_claims(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return the claim at each epsilon; an empty list if nothing is claimed."""
    claims = {finding.epsilon: finding.claim for finding in findings if finding.claim is not None}
    return [
        {"nominal": epsilon.json, "words": str(claim), **claim.to_dict()}
        for epsilon, claim in sorted(claims.items())
    ]


def _describe_finding(finding: Finding) -> dict[str, Any]:
    values = replace(finding, plan=finding.plan_base).to_dict()
    del values["mechanism"], values["claim"]
    return {**values, "complete": finding.complete}


def _describe_plan(name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan: how its candidates were drawn, and who reads its trials."""
    info = manifest["plans"][name]
    fields = ("k", "estimator", "strategy", "lambda", "top")
    return {
        "name": info["base"],
        "words": plan_words(name, manifest),
        **{field: info[field] for field in fields},
    }


def _select_spec(spec: Mapping[str, Any], label: str, result: AuditResult) -> dict[str, Any]:
    """Return the spec of this mechanism and its attacks; settings that cannot be shown are marked so."""
    attacks = {finding.attack for finding in result if finding.label == label}
    plugins = {
        "mechanisms": [m for m in spec["mechanisms"] if _get_title(m) == label] or [{"name": LEFT_OUT}],
        "attacks": [a for a in spec["attacks"] if _get_title(a) in attacks] or [{"name": LEFT_OUT}],
    }  # left out if the last call of the run did not name it
    plain = redact_spec({**spec, **plugins})
    for kind, originals in plugins.items():
        plain[kind] = [_restore_identifiers(*pair) for pair in zip(originals, plain[kind], strict=True)]
    if plain["corpus"]:
        plain["corpus"] = _restore_identifiers({}, plain["corpus"])
    return {key: value for key, value in plain.items() if value not in (None, "", []) and key != "out"}


def _restore_identifiers(plugin: Mapping[str, Any], shown: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plug-in's settings with its identifiers restored, and without settings that were never set."""
    identifiers = {key: plugin[key] for key in _KEPT if IDENTIFIER.fullmatch(str(plugin.get(key, " ")))}
    return {key: value for key, value in {**shown, **identifiers}.items() if value not in (None, "", [])}


def _get_title(plugin: Mapping[str, Any]) -> str:
    return str(plugin.get("label") or str(plugin["name"]).removeprefix("py:").rpartition(":")[2])
