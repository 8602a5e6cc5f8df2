"""Calibration cards: what an audit measured of one mechanism, for its author to put beside a model card.

A card leaves the machine, so it contains no text of the corpus and nothing that somebody may have typed
one into: labels of several words are replaced by numbers, and string settings are left out unless they
are identifiers such as a model's.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from tedaudit.errors import SpecError, did_you_mean, join_names
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.registry import Kind, describe_card, find_own, list_foreign
from tedaudit.reports.writers.markdown import markdown_list, markdown_text, write_section, write_table
from tedaudit.results.findings import AuditResult, Finding
from tedaudit.results.redaction import (
    IDENTIFIER,
    LEFT_OUT,
    redact_result,
    redact_spec,
    rename_labels,
    rename_plans,
)
from tedaudit.results.section import Cell, Column, Table, format_interval
from tedaudit.results.summary import NO_FINDINGS, headlines
from tedaudit.results.telling_audit import plan_words, tell_models
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.exported import check_target, write_exported
from tedaudit.runs.files import make_folders
from tedaudit.trials.candidates import SAMPLING
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
            f"'{result.folder}' has no findings for a card. {NO_FINDINGS} "
            f"{result.unfinished or 'Run the same command again to continue it'}."
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
    plugin = describe_plugins(spec, manifest.get("cards"), redact=True)["mechanisms"][0]
    return {
        "format": FORMAT,
        "kind": "tedaudit calibration card",
        "written_by": __version__,
        "mechanism": {"label": name, **{key: plugin.get(key) for key in _ABOUT}},
        "claims": _describe_claims(findings),
        "results": [_describe_finding(finding) for finding in findings],
        "violated": own.violated,
        "headline": " ".join(headlines(own)),
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
            "commands": ["tedaudit run audit.yaml", "tedaudit export RUN --format card"],
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


# --- A calibration card as Markdown, and both of its files.

_COLUMNS = (
    Column("epsilon", "figures"), Column("plan", "label"), Column("attack", "label"),
    Column("right / guesses", "figures"), Column("success", "figures"), Column("eps_emp", "bound"),
    Column("point (to upper end)"), Column("ceiling", "bound"), Column("error", "figures"),
    Column("verdict"),
)  # fmt: skip


def write_cards(
    cards: Sequence[Mapping[str, Any]], run: RunDirectory, out: Path | None = None, *, force: bool = False
) -> list[Path]:
    """Write every card as Markdown and JSON, into the run or another folder, and return the files.

    In another folder, a file that was not written from the run stays, unless there is force.
    """
    own = out is None or out.resolve() == run.cards.resolve()
    folder = run.cards if out is None or own else out
    contents: dict[Path, bytes] = {}
    for card in cards:
        name = str(card["mechanism"]["label"]).replace(" ", "-").replace(":", "-")
        data = json.dumps(card, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        contents[folder / f"{name}.card.md"] = markdown(card).encode()
        contents[folder / f"{name}.card.json"] = data.encode()
    if own:
        run.files.write(contents, redacted=True)  # cards never hold texts
        return list(contents)
    for path in contents:  # all before the first is written
        check_target(path, [run.root], force=force)
    make_folders(folder, None)
    for path, content in contents.items():
        write_exported(path, content, [run.root], force=force)
    return list(contents)


def markdown(card: Mapping[str, Any]) -> str:
    """Return the card as one page of Markdown; names are escaped, so they are shown literally."""
    mechanism = card["mechanism"]
    about = [mechanism.get("summary"), mechanism.get("paper")]
    versions = [f"{key} {value}" for key, value in card["run"]["versions"].items()]
    parts = [
        f"# Calibration card: {markdown_text(mechanism['label'])}",
        "\n".join(markdown_text(str(line)) + "  " for line in about if line),
        f"Measured by attack with tedaudit {card['written_by']}. {card['headline']}",
        _format_section("Claim", _format_list(_format_claims(card))),
        _format_section("Measured", write_table(Table(_COLUMNS, tuple(map(_list_cells, card["results"]))))),
        _format_section("Settings", _format_list(_format_settings(card))),
        "".join(map(write_section, tell_models(card["models"]))).rstrip(),
        _format_section("What a bound says", _format_list(card["says"])),
        _format_section("What it does not say", _format_list(card["says_not"])),
        _format_section("Reproduce", _format_reproduction(card["reproduce"])),
        _format_section("Versions", _format_list(versions)),
    ]
    if card["notes"]:
        parts.insert(-2, _format_section("Notes", _format_list(card["notes"])))
    return "\n\n".join(part for part in parts if part) + "\n"


def _format_section(title: str, content: str) -> str:
    return f"## {title}\n\n{content}"


def _format_list(lines: Sequence[str]) -> str:
    return markdown_list(lines) or "(none)"


def _format_claims(card: Mapping[str, Any]) -> list[str]:
    lines = []
    for claim in card["claims"]:
        nominal = Nominal.of(claim["nominal"]).phrase or "any epsilon"
        delta = f"delta {claim['total_delta']:g} in all"
        lines.append(f"{nominal}: {claim['words']}; {delta}; for {claim['neighbours']}")
    return lines or ["none"]


def _list_cells(result: Mapping[str, Any]) -> tuple[Cell, ...]:
    point, upper = (math.inf if result[name] is None else result[name] for name in ("point", "upper"))
    unfinished = "" if result["complete"] else ", not finished"
    interval = format_interval(point, upper)
    sure = result["surest"]
    surest = "" if sure is None else f"; surest {sure['right']:,} / {sure['size']:,}"
    return (
        Nominal.of(result["epsilon"]).label, result["plan"], result["attack"],
        f"{result['correct']:,} / {result['guesses']:,}{surest}", f"{result['success']:.4f}",
        result["lower"], interval, result["ceiling"], f"{result['error']:g}",
        f"{result['verdict']}{unfinished}",
    )  # fmt: skip


def _format_settings(card: Mapping[str, Any]) -> list[str]:
    settings = card["settings"]
    corpus, errors = settings["corpus"], " or ".join(f"{error:g}" for error in settings["errors"])
    plans = [f"plan {plan['name']}: {plan['words']}" for plan in settings["plans"]]
    error = f"at most {settings['alpha'] / 2:g} for all bounds together, {errors} for each"
    if not settings["judged"]:
        error = "none is promised: these guesses were not judged as they are"
    return [
        f"corpus {corpus['name']}, {corpus['texts']:,} texts, fingerprint {corpus['fingerprint']}",
        *plans,
        f"alpha {settings['alpha']:g}; error {error}",
        f"{settings['tests']} tests of claims share the run's error; look number {settings['look']}",
        f"seed {settings['seed']}; candidates by the encoder {settings['encoder']}",
    ]


def _format_reproduction(reproduction: Mapping[str, Any]) -> str:
    hint = "\n\nWhat is left out could contain a text or a path: fill in your own."
    remark = hint if reproduction["left_out"] else ""
    commands = "\n".join(reproduction["commands"])
    return f"audit.yaml:\n\n```yaml\n{reproduction['spec'].rstrip()}\n```{remark}\n\n```sh\n{commands}\n```"


# --- The cards of the plug-ins that a run used, as it keeps them: no code of a run is loaded to read it.

_KINDS: dict[str, Kind] = {"mechanisms": "mechanism", "attacks": "attack"}
_NOT_SETTINGS = {"name", "label", "epsilons"}
Told = Mapping[str, Mapping[str, Mapping[str, Any]]]  # what a run keeps of cards, by kind and name


def describe_plugins(
    spec: Mapping[str, Any], told: Told | None = None, *, redact: bool = False
) -> dict[str, list[dict[str, Any]]]:
    """Return what the mechanisms and attacks of a spec say about themselves, with the settings they had.

    `told` is what the run keeps of their cards. Redacted, only cards that are installed here are shown: any
    other may have been written for the audit.
    """
    return {
        kinds: [
            _describe(kind, plugin, (told or {}).get(kinds, {}), redact=redact)
            for plugin in spec.get(kinds, [])
        ]
        for kinds, kind in _KINDS.items()
    }


def _describe(
    kind: Kind, plugin: Mapping[str, Any], told: Mapping[str, Mapping[str, Any]], *, redact: bool
) -> dict[str, Any]:
    settings = {
        key: value
        for key, value in plugin.items()
        if key not in _NOT_SETTINGS and value not in (None, "", LEFT_OUT)
    }
    name = plugin["name"]
    description: dict[str, Any] = {
        "name": name, "label": plugin.get("label") or "",
        "settings": {key: str(value) for key, value in settings.items()},
    }  # fmt: skip
    own = _find_own(kind, name)
    card = told.get(name, own)
    if card is None or (redact and own is None and name not in list_foreign(kind)):
        return {**description, "missing": _explain_missing(kind, name)}
    shown = {part: card.get(part) for part in ("summary", "paper", "claim", "departures", "version")}
    return {**description, **shown, "sees": card["sees"] if kind == "attack" else []}


def _explain_missing(kind: Kind, name: str) -> str:
    if name.startswith("py:"):
        return "Code that the run named with py:, which a report does not load: no card is shown."
    return f"This {kind} does not come with tedaudit, or was given in Python: its card is not shown."


def _find_own(kind: Kind, name: str) -> dict[str, Any] | None:
    """Return what the card of a plug-in that comes with tedaudit says; None of any other."""
    try:
        plugin = find_own(kind, name)
    except ImportError:
        return None
    return None if plugin is None else describe_card(plugin.card)
