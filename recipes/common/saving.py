"""Writes a trained model: int8 weights, config, tokenizer, and a card with every figure that was printed."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tedaudit.models.clip_range import measure_model, store_range
from tedaudit.models.loading import WEIGHTS, save_quantised
from tedaudit.models.places import CLIP

LICENCE = "CC BY-SA 4.0"
CARD = "card.md"
_SHARE_ALIKE = (
    f"Licence of the weights: {LICENCE}, because some of the text is under share-alike licences and we treat "
    "the weights as derived from it. You may use, change and pass them on, also commercially, if you name "
    "the source and keep this licence."
)


@dataclass(frozen=True)
class Card:
    """What a reader of the model must know."""

    title: str
    summary: str
    data: list[str]
    training: list[str]
    figures: dict[str, str]
    limits: list[str]
    command: str
    notes: list[str] = field(default_factory=list)


def clip_range(folder: Path, texts: Sequence[str], prompt: str = "{text}") -> dict[str, str]:
    """Measure a model's clip range, store it beside the model, and return what draws are like."""
    found = measure_model(str(folder), texts, prompt)
    store_range(found, folder / CLIP, f"{len(texts)} held-out public sentences")
    return found.describe()


def save_model(folder: Path, model: Any, tokenizer: Any) -> None:
    """Write a model of the transformers library with its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.save_pretrained(folder)
    save_quantised(folder / WEIGHTS, model.state_dict())
    save_tokenizer(folder, tokenizer)


def save_tokenizer(folder: Path, tokenizer: Any) -> None:
    """Write a tokenizer, its file as small as can be."""
    tokenizer.save_pretrained(str(folder))
    compact(folder / "tokenizer.json")


def compact(file: Path) -> None:
    """Write a tokenizer's file again without white space, merges as one string each."""
    whole = json.loads(file.read_text(encoding="utf-8"))
    merges = whole["model"].get("merges", [])
    if merges and all(isinstance(pair, list) for pair in merges):
        whole["model"]["merges"] = [" ".join(pair) for pair in merges]
    file.write_text(json.dumps(whole, ensure_ascii=False, separators=(",", ":")), encoding="utf-8")


def write_card(folder: Path, card: Card) -> None:
    """Print the figures and write the card, with size and hash of every file."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != CARD]
    parts = [
        f"# {card.title}\n\n{card.summary}",
        "## Data\n\n" + _items(card.data),
        _SHARE_ALIKE,
        "## Training\n\n" + _items(card.training) + f"\n\n```\n{card.command}\n```",
        "## Figures, printed by the recipe\n\n" + _table(card.figures),
        "## Limits\n\n" + _items(card.limits),
        *card.notes,
        "## Files\n\n| file | bytes | sha256 |\n|---|---|---|\n"
        + "\n".join(f"| {p.relative_to(folder)} | {p.stat().st_size:,} | {sha256(p)} |" for p in files),
    ]
    for name, value in card.figures.items():
        print(f"{card.title}: {name}: {value}", flush=True)
    (folder / CARD).write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def sha256(path: Path) -> str:
    """Return the hash of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _items(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(figures: dict[str, str]) -> str:
    return "| figure | value |\n|---|---|\n" + "\n".join(f"| {a} | {b} |" for a, b in figures.items())
