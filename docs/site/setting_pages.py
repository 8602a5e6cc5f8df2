"""Writes the tables of settings: of every plug-in, and of a spec."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from tedaudit.estimators import estimator_names, find_estimator
from tedaudit.plugins.extras import install
from tedaudit.plugins.registry import find, names, variants
from tedaudit.plugins.settings import list_settings
from tedaudit.runs.spec.engine import EngineSpec
from tedaudit.runs.spec.model import AuditSpec, MechanismSpec, PlanSpec, PluginSpec

KINDS = {"mechanisms": "mechanism", "attacks": "attack", "corpora": "corpus"}
INTRODUCTIONS = {
    "mechanisms": "What rewrites texts. In a spec `mechanisms: [{name: word-rr, slots: 8}]`, on the command "
    "line `-m word-rr --set word-rr.slots=8`.",
    "attacks": "What names the source of a rewrite. In a spec `attacks: [{name: resample, rewrites: 4}]`, on "
    "the command line `-a resample --set resample.rewrites=4`.",
    "corpora": "Where texts come from. In a spec `corpus: {name: demo, size: 500}`, on the command line "
    "`-c demo --set corpus.size=500`.",
}
SPECS: dict[str, tuple[type[BaseModel], str]] = {
    "An audit": (AuditSpec, "The keys of a spec, and the arguments of `tedaudit.audit`."),
    "A plan": (PlanSpec, "How candidates are drawn: an entry of `plans`."),
    "A mechanism": (MechanismSpec, "An entry of `mechanisms`, beside the mechanism's own settings."),
    "An attack or a corpus": (PluginSpec, "An entry of `attacks`, or `corpus`, beside settings of its own."),
    "An engine": (EngineSpec, "The key `engine`."),
}


def write_setting_pages(folder: Path) -> None:
    """Write one page for each kind of plug-in, and one for specs."""
    folder.mkdir(parents=True, exist_ok=True)
    for title, kind in KINDS.items():
        (folder / f"{title}.md").write_text("\n".join(_describe_kind(title, kind)), encoding="utf-8")
    (folder / "spec.md").write_text("\n".join(_describe_specs()), encoding="utf-8")


def _describe_kind(title: str, kind: Any) -> Iterable[str]:
    yield f"# {title.capitalize()}\n\n{INTRODUCTIONS[title]}\n"
    yield f"`tedaudit ls {title} NAME` shows the same in a terminal.\n"
    for name in names(kind):
        plugin = find(kind, name)
        card = plugin.card
        yield f"## {name}\n\n{card.summary}\n"
        if card.needs:
            yield f"Needs: `{install(card.needs)}`\n"
        for label, told in (("Paper", card.paper), ("Claim", card.claim)):
            if told:
                yield f"{label}: {told}\n"
        yield from (f"- {departure}" for departure in card.departures)
        settings = list_settings(plugin)
        rows = [
            (f"`{s.name}`", f"{s.meaning} *{s.type}*", code(s.default) or "must be given") for s in settings
        ]
        yield from _write_table(("setting", "meaning and *type*", "default"), rows)
        for variant, values in variants(plugin).items():
            told = ", ".join(f"{key}={value}" for key, value in values.items())
            yield f"- `variant: {variant}` sets {code(told)}"
        yield ""


def _describe_specs() -> Iterable[str]:
    yield "# A spec\n\nA YAML file (`tedaudit init` writes one), or the arguments of `tedaudit.audit`.\n"
    for title, (model, introduction) in SPECS.items():
        yield f"## {title}\n\n{introduction}\n"
        rows = [
            (
                f"`{part.alias or key}`", part.description or "",
                code(_describe_default(part)) or "must be given",
            )
            for key, part in model.model_fields.items()
            if not part.exclude
        ]  # fmt: skip
        yield from _write_table(("key", "meaning", "default"), rows)
    yield "## Estimators\n\nWhat `estimator` of a plan may be:\n"
    found = [(f"`{name}`", find_estimator(name).title) for name in estimator_names()]
    yield from _write_table(("name", "what it is"), found)


def _describe_default(part: Any) -> str:
    if part.default is not PydanticUndefined:
        return '""' if part.default == "" else "null" if part.default is None else str(part.default)
    if part.default_factory is None:
        return ""
    made = part.default_factory()
    if isinstance(made, BaseModel):
        return str(getattr(made, "name", made))
    return (
        f"[{', '.join(str(getattr(item, 'name', item)) for item in made)}]"
        if isinstance(made, list)
        else str(made)
    )


def code(text: str) -> str:
    """Return a text as code that a table can hold."""
    return f"`{text.replace('|', '&#124;')}`" if text and "|" not in text else text.replace("|", "&#124;")


def _write_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterable[str]:
    if not rows:
        yield "\nNo settings.\n"
        return
    yield f"\n| {' | '.join(headings)} |\n|{'---|' * len(headings)}"
    yield from (f"| {' | '.join(cell.replace(chr(10), ' ') for cell in row)} |" for row in rows)
    yield ""
