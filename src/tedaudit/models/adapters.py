"""Adapters: small corrections, trained here, that are laid over the model of somebody else.

The folder of an adapter has `adapter.json` (the base, how many of its layers are kept, what differs in its
config, and the prefix of its weights in the new model), `adapter.safetensors` and perhaps `words.txt`.
For a matrix NAME the tensors hold NAME:down (rank x columns) and NAME:up (rows x rank), whose product is
added to it; any other tensor is new, or takes the place of the base's. Every line of `words.txt` becomes a
token of its own, whose vector begins as the mean of those of the pieces that the base has for it, or for the
text that stands behind a tab. Words with marks come last: libraries number added tokens after all others.
"""

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError

ADAPTER = "adapter.safetensors"
SETTINGS = "adapter.json"
WORDS = "words.txt"
WEIGHTS = "model.safetensors"
DOWN, UP = ":down", ":up"
_OF_ADAPTER, _OF_BASE = ("clip.json", "card.md"), ("tokenizer_config.json", "generation_config.json")
_LAYER = re.compile(r"\blayers?\.(\d+)\.")
_EMBEDDINGS = "word_embeddings.weight"

Weights = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Settings:
    """What an adapter is laid over, and how."""

    base: str
    """The name of the base, as `tedaudit models get` takes it."""
    layers: int = 0
    """How many layers of the base are kept, the first ones. 0: all."""
    prefix: str = ""
    """What stands before the names of the base's weights in the new model."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Entries of the base's config that differ in the new model."""
    dropped: Sequence[str] = ()
    """Beginnings of the names of weights that the new model does not have."""


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter, and no model."""
    return (folder / SETTINGS).is_file()


def read_settings(folder: Path) -> Settings:
    """Return the settings of an adapter."""
    file = folder / SETTINGS
    try:
        return Settings(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(f"'{file}' must hold the settings of an adapter ({error!r}).") from error


def lay_over(base: Path, adapter: Path, out: Path) -> None:
    """Write the model that an adapter makes of its base into a folder."""
    from safetensors.numpy import load_file, save_file

    settings = read_settings(adapter)
    words = read_words(adapter)
    try:
        found = load_file(base / WEIGHTS)
    except TypeError as error:  # numpy has no bfloat16
        raise ModelError(
            f"'{base / WEIGHTS}' cannot be read by numpy ({error}). An adapter is laid over weights in "
            "float32 or float16: save the base again in one of them."
        ) from error
    weights = dict(_keep(found, settings))
    out.mkdir(parents=True, exist_ok=True)
    pieces = extend_tokenizer(base, out, words)
    if pieces:
        [name] = [name for name in weights if name.endswith(_EMBEDDINGS)]
        new = np.stack([weights[name][ids].mean(axis=0) for ids in pieces])
        weights[name] = np.concatenate([weights[name], new])
    add(weights, load_file(adapter / ADAPTER))
    config = json.loads((base / "config.json").read_text(encoding="utf-8")) | dict(settings.config)
    (out / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    files = [adapter / name for name in _OF_ADAPTER] + [base / name for name in _OF_BASE]
    for file in files:
        if file.is_file():
            shutil.copyfile(file, out / file.name)
    save_file(weights, out / WEIGHTS, metadata={"format": "pt"})


def add(weights: Weights, corrections: Mapping[str, npt.NDArray[Any]]) -> None:
    """Correct weights in place, to the same bits on every machine.

    Products of two halves are multiples of 2^-48. So their sums, below 32, are exact in float64, in whatever
    order a library adds them, and each weight is rounded in one way.
    """
    for name, value in corrections.items():
        target = name.removesuffix(UP)
        if name.endswith(DOWN):
            continue
        if target == name:
            weights[name] = value.astype(np.float32)
            continue
        low_rank = value.astype(np.float64) @ corrections[target + DOWN].astype(np.float64)
        if target not in weights or weights[target].shape != low_rank.shape:
            found = weights[target].shape if target in weights else "none"
            raise ModelError(
                f"The adapter corrects a matrix '{target}' of shape {low_rank.shape}, and the base has "
                f"{found}. It was made for another base."
            )
        weights[target] = (weights[target] + low_rank).astype(np.float32)


def _keep(weights: Mapping[str, npt.NDArray[Any]], settings: Settings) -> Iterator[tuple[str, Any]]:
    """Yield the weights of the base that the new model has, under their new names."""
    for name, value in weights.items():
        layer = _LAYER.search(name)
        if settings.layers and layer and int(layer[1]) >= settings.layers:
            continue
        if not name.startswith(tuple(settings.dropped)):
            yield settings.prefix + name, value


def read_words(adapter: Path) -> list[tuple[str, str]]:
    """Return the words that become tokens, and the text of each vector; none without a list of them."""
    file = adapter / WORDS
    if not file.is_file():
        return []
    lines = (line.partition("\t") for line in file.read_text(encoding="utf-8").split("\n")[:-1])
    words = [(word, text or word) for word, _, text in lines]
    plain = [is_plain(word) for word, _ in words]
    if plain != sorted(plain, reverse=True):
        raise ModelError(f"'{file}' must have words with marks after all others.")
    return words


def is_plain(word: str) -> bool:
    """Return whether a tokenizer that cuts texts at marks leaves a word whole; or a place is left unused."""
    return word.isalnum() or word.startswith("[unused")


def extend_tokenizer(base: Path, out: Path, words: Sequence[tuple[str, str]]) -> list[list[int]]:
    """Write the base's tokenizer with more words; return the tokens that make the vector of each new one.

    Plain words join the vocabulary; one with marks is an added token, found where it stands between spaces.
    It may have a place in the vocabulary that no text reached, and needs no new one.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    numbers = tokenizer.get_vocab()
    new = [(word, text) for word, text in words if word not in numbers]
    pieces = [tokenizer.encode(text, add_special_tokens=False).ids for _, text in new]
    numbers |= {word: number for number, (word, _) in enumerate(new, len(numbers))}
    whole = json.loads(tokenizer.to_str())
    for word, _ in words:
        number = numbers[word]
        if is_plain(word):
            whole["model"]["vocab"][word] = number
        else:
            whole["added_tokens"].append(
                {
                    "id": number, "content": word, "single_word": True, "lstrip": False, "rstrip": False,
                    "normalized": True, "special": False,
                }
            )  # fmt: skip
    text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    (out / "tokenizer.json").write_text(text, encoding="utf-8")
    return pieces
