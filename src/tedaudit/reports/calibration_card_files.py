"""A calibration card as Markdown, and both of its files."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tedaudit.nominal import Nominal
from tedaudit.reports.models import models_section
from tedaudit.reports.section import format_number
from tedaudit.reports.writers.markdown import markdown_list, markdown_table, markdown_text
from tedaudit.store.directory import RunDirectory
from tedaudit.store.exported import check_target, write_exported
from tedaudit.store.files import make_folders

_HEADINGS = (
    "epsilon", "plan", "attack", "right / guesses", "success", "eps_emp", "point (to upper end)", "ceiling",
    "error", "verdict",
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
        _format_section("Measured", markdown_table(_HEADINGS, map(_format_row, card["results"]))),
        _format_section("Settings", _format_list(_format_settings(card))),
        models_section(card["models"]).rstrip(),
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


def _format_row(result: Mapping[str, Any]) -> tuple[str, ...]:
    point, upper = (math.inf if result[name] is None else result[name] for name in ("point", "upper"))
    unfinished = "" if result["complete"] else ", not finished"
    interval = f"{format_number(point)} (to {format_number(upper)})"
    sure = result["surest"]
    surest = "" if sure is None else f"; surest {sure['right']:,} / {sure['size']:,}"
    return (
        Nominal.of(result["epsilon"]).label, result["plan"], result["attack"],
        f"{result['correct']:,} / {result['guesses']:,}{surest}", f"{result['success']:.4f}",
        f"{result['lower']:.2f}", interval, f"{result['ceiling']:.2f}",
        f"{result['error']:g}", f"{result['verdict']}{unfinished}",
    )  # fmt: skip


def _format_settings(card: Mapping[str, Any]) -> list[str]:
    settings = card["settings"]
    corpus, errors = settings["corpus"], " or ".join(f"{error:g}" for error in settings["errors"])
    plans = [f"plan {plan['name']}: {plan['words']}" for plan in settings["plans"]]
    error = f"at most {settings['alpha'] / 2:g} for all bounds together, {errors} for each"
    if not settings["judged"]:
        error = "none is promised: these guesses were not judged, which `tedaudit report` does"
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
