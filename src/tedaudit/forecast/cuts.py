"""How many texts are too long for the mechanisms of the embedded audit, which cut them at a public limit.

Tokens are counted with the tokenizers of the zoo, words as the mechanism cuts them; no model is loaded. Of
many texts a sample is counted, spread evenly over the corpus.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tedaudit.inference.zoo import PREFIX, list_folders
from tedaudit.registry import Reference, build
from tedaudit.spec.flags import embedded_audit

SAMPLE = 2_000


@dataclass(frozen=True, slots=True)
class Cut:
    """How many of so many texts a mechanism would cut, and at which limit."""

    mechanism: str
    limit: int
    unit: str
    cut: int
    of: int

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {
            "mechanism": self.mechanism,
            "limit": self.limit,
            "unit": self.unit,
            "cut": self.cut,
            "of": self.of,
        }


def count_cuts(texts: Sequence[str]) -> list[Cut]:
    """Return how many texts each mechanism of the embedded audit would cut, if it has a limit."""
    step = max(1, -(-len(texts) // SAMPLE))
    sample = texts[::step]
    cuts = []
    for settings in embedded_audit()["mechanisms"]:
        mechanism = build(Reference("mechanism", settings["name"]))
        measured = _measure(mechanism)
        if measured is not None:
            count, limit, unit = measured
            cut = sum(count(text) > limit for text in sample)
            cuts.append(Cut(mechanism.card.name, limit, unit, cut, len(sample)))
    return cuts


def _measure(mechanism: Any) -> tuple[Callable[[str], int], int, str] | None:
    """Return what counts a mechanism's units in a text, how many it reads, and what they are."""
    name = mechanism.card.name
    if name == "word-rr":
        return mechanism.count_words, mechanism.slots, "words"
    if name == "dp-mlm":
        from tedaudit.inference.treebank import split_words

        return lambda text: len(split_words(text)), mechanism.slots, "words"
    folder = list_folders().get(str(getattr(mechanism, "model", "")).removeprefix(PREFIX))
    tokenizer = None if folder is None else _load_tokenizer(folder)
    if folder is None or tokenizer is None:
        return None
    if hasattr(mechanism, "window"):
        return lambda text: len(tokenizer.encode(text).ids), mechanism.window, "tokens"
    if hasattr(mechanism, "separator") or hasattr(mechanism, "prompt"):
        return _measure_prompt(mechanism, tokenizer, folder)
    return None


def _measure_prompt(mechanism: Any, tokenizer: Any, folder: Path) -> tuple[Callable[[str], int], int, str]:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    bound = config.get("n_positions") if config.get("model_type") == "gpt2" else None
    room = min(mechanism.context, bound - mechanism.max_tokens) if bound else mechanism.context
    return lambda text: len(tokenizer.encode(mechanism.fill_prompt(text)).ids), room, "tokens with the prompt"


def _load_tokenizer(folder: Path) -> Any:
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
