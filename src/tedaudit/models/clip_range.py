"""Measure on public texts to which range a model's logits are clipped, and store it with the model.

The exponential mechanism draws a token with a weight of exp(epsilon (logit - low) / (2 (high - low))), with
logits clipped to [low, high]. The model reads the texts as a mechanism lets it read private ones: a masked
model sees every word masked in turn beside the original, the others follow their likeliest continuation of a
prompt. `low` is the mean over places of the logit that 1% of the tokens stay below, `high` the mean of the
largest logit plus a standard deviation: few tokens that no text needs do not widen the range.
"""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tedaudit.errors import ModelError
from tedaudit.models.catalogue import RULE
from tedaudit.models.loading import Checkpoint, Task, find_task, load_checkpoint
from tedaudit.models.places import place_clip, read_clip, resolve
from tedaudit.models.sampling.exponential import Clip, log_probabilities
from tedaudit.models.sampling.masked import MaskedRow, masked_logits
from tedaudit.models.sampling.rows import decoder_for
from tedaudit.models.triples.treebank import split_words
from tedaudit.models.zoo import PREFIX

EPSILONS = (1.0, 10.0, 100.0, 1000.0)
_STEPS = 24  # tokens followed after a prompt
_PLACES = 12_000  # at most, whose logits are measured
_PROMPTS = 128  # read at a time,
_TOKENS = 8192  # and no more tokens than these
_LONGEST = 512  # tokens of a prompt, as the mechanisms cut it
_CELLS = 1 << 25  # logits that are kept, to say what draws are like: 128 MiB
_LN_2 = 0.6931471805599453

Advance = Callable[[int, int], None]
"""Is told how many places were read, and how many there are at most."""


@dataclass(frozen=True)
class Measured:
    """A clip range, what it was measured on, and what draws are like with it at some epsilons."""

    low: float
    high: float
    texts: int
    """That were read, of those that were given."""
    places: int
    draws: dict[float, tuple[float, float]]
    """By epsilon: how likely the likeliest token is, and the entropy of a draw in bits."""

    def describe(self) -> dict[str, str]:
        """Return the figures, for people."""
        told = {
            f"a draw at epsilon {epsilon:,.0f}": f"likeliest token {best:.2%}, entropy {bits:.2f} bits"
            for epsilon, (best, bits) in self.draws.items()
        }
        return {"clip range": f"{self.low} to {self.high}", **told}


def place_range(name: str, revision: str = "") -> Path:
    """Return the file for a model's clip range."""
    if name.startswith(PREFIX):
        raise ModelError(
            f"'{name}' came with a clip range if its mechanisms use one; the files of the zoo are checked "
            "and cannot be changed. Set `low` and `high` of the mechanism, or copy the folder that `tedaudit "
            "ls models` names and measure the copy."
        )
    return place_clip(resolve(name), revision)


def clear_place(file: Path) -> None:
    """Refuse a folder that cannot be written to before minutes are spent, and remove a damaged range.

    A model cannot be loaded with such a range.
    """
    folder = next(folder for folder in file.parents if folder.exists())
    if not os.access(folder, os.W_OK):
        raise ModelError(
            f"The range would be stored in '{file}', and '{folder}' cannot be written to. Copy the model's "
            "folder and measure the copy, or name another folder of models in TEDAUDIT_MODELS."
        )
    try:
        read_clip(file)
    except ModelError:
        file.unlink()


def measure_model(
    name: str,
    texts: Sequence[str],
    prompt: str = "{text}",
    revision: str = "",
    device: str = "auto",
    advance: Advance | None = None,
) -> Measured:
    """Return the clip range of a model that predicts words; the prompt is for those that write text."""
    task = find_task(name, revision)
    if task == "body":
        raise ModelError(
            f"Model '{name}' has no head that predicts words: it is a sentence encoder, or a body alone. It "
            "draws nothing, so there is no range to measure."
        )
    checkpoint = load_checkpoint(task, name, revision, device, "float32")
    return measure(checkpoint, task, texts, prompt, advance)


def measure(
    checkpoint: Checkpoint, task: Task, texts: Sequence[str], prompt: str = "{text}",
    advance: Advance | None = None,
) -> Measured:  # fmt: skip
    """Return the clip range of a loaded model; little more is in memory than the logits of a batch.

    The places may suffice before the texts end, so texts are taken from all of a file, which may be sorted.
    """
    import torch

    texts = [texts[i] for i in np.random.default_rng(0).permutation(len(texts))]
    logits = _masked(checkpoint, texts) if task == "masked" else (
        _continued(checkpoint, [prompt.replace("{text}", text) for text in texts])
    )  # fmt: skip
    largest, lowest, kept = [], [], []
    places = 0
    read: set[int] = set()
    for numbers, block in logits:
        some = block[: _PLACES - places]
        read.update(numbers[: len(some)])
        largest.append(some.amax(dim=1))
        lowest.append(some.kthvalue(max(1, some.shape[1] // 100), dim=1).values)
        share = max(1, -(-_PLACES * some.shape[1] // _CELLS))  # one row in so many is kept
        kept.append(some[-places % share :: share].cpu())
        places += len(some)
        if advance is not None:
            advance(places, _PLACES)
        if places >= _PLACES:
            break
    if places < 2:
        raise ModelError(
            f"The texts have {places} places at which '{checkpoint.name}' predicts a word; 2 are needed, and "
            "thousands are better. Name a file with more texts."
        )
    highest, least = torch.cat(largest), torch.cat(lowest)
    low, high = round(float(least.mean()), 3), round(float(highest.mean() + highest.std()), 3)
    sample = torch.cat(kept)
    draws = {epsilon: _describe_draw(Clip(low, high), sample, epsilon) for epsilon in EPSILONS}
    return Measured(low=low, high=high, texts=len(read), places=places, draws=draws)


def store_range(found: Measured, file: Path, measured_on: str) -> None:
    """Write a clip range where the model is found with it."""
    about = {
        "low": found.low,
        "high": found.high,
        "measured_on": f"{measured_on}, {found.places} places",
        "rule": RULE,
    }
    file.parent.mkdir(parents=True, exist_ok=True)  # a hub id has no folder of its own
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    partial.replace(file)
    load_checkpoint.cache_clear()


def mask_words(checkpoint: Checkpoint, text: str, *, hidden: bool = False) -> list[MaskedRow]:
    """Return what DP-MLM lets a model read for each word of a text: the original, and a copy with a mask.

    Hidden: the word is masked in the original too.
    """
    words, tokenizer = split_words(text), checkpoint.tokenizer
    if tokenizer.mask_token is None:
        raise ModelError(f"The tokenizer of '{checkpoint.name}' has no mask token, which its model needs.")
    found = []
    for i in range(len(words)):
        masked = " ".join([*words[:i], tokenizer.mask_token, *words[i + 1 :]])
        ids = tokenizer(masked if hidden else " ".join(words), masked)["input_ids"]
        found.append(
            MaskedRow(tuple(ids), max(j for j, token in enumerate(ids) if token == tokenizer.mask_token_id))
        )
    return found


def _masked(checkpoint: Checkpoint, texts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
    """Yield numbers of texts, and the logits at every word masked in turn; too long texts are left out."""
    most = checkpoint.positions
    rows: list[MaskedRow] = []
    owners: list[int] = []
    for number, text in enumerate(texts):
        rows += [row for row in mask_words(checkpoint, text) if most is None or len(row.ids) <= most]
        owners += [number] * (len(rows) - len(owners))
        if len(rows) >= _PLACES:
            break
    for numbers, logits in masked_logits(checkpoint, rows[:_PLACES]):
        yield [owners[i] for i in numbers], logits


def _continued(checkpoint: Checkpoint, prompts: Sequence[str]) -> Iterator[tuple[list[int], Any]]:
    """Yield numbers of prompts, and the logits along the likeliest continuation of each, up to its end."""
    decoder, ends = decoder_for(checkpoint), _find_ends(checkpoint)
    room = _LONGEST if checkpoint.positions is None else min(_LONGEST, checkpoint.positions - _STEPS)
    if room < 1:
        raise ModelError(f"'{checkpoint.name}' reads {checkpoint.positions} tokens, too few to follow it.")
    tokens = [read_prompt(checkpoint, prompt, room) for prompt in prompts]
    size = max(1, min(_PROMPTS, _TOKENS // (max(map(len, tokens), default=0) + _STEPS)))
    for start in range(0, len(tokens), size):
        batch = tokens[start : start + size]
        logits = decoder.start(batch, max(len(one) for one in batch))
        for _ in range(_STEPS):
            yield list(range(start, start + len(batch))), logits
            chosen = logits.argmax(dim=1)
            going = (~_is_any(chosen, ends)).nonzero()[:, 0]
            if not len(going):
                break
            logits = decoder.step(going, chosen[going])


def read_prompt(checkpoint: Checkpoint, prompt: str, room: int = _LONGEST) -> tuple[int, ...]:
    """Return the tokens that a model reads for a prompt; of a long one, the last ones."""
    ids = checkpoint.tokenizer(prompt)["input_ids"]
    return tuple(ids[-room:])


def _find_ends(checkpoint: Checkpoint) -> list[int]:
    """Return the tokens that end a text; chat models have several."""
    own = getattr(checkpoint.model.generation_config, "eos_token_id", None)
    found = checkpoint.tokenizer.eos_token_id if own is None else own
    return [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


def _is_any(tokens: Any, ends: Sequence[int]) -> Any:
    import torch

    return torch.isin(tokens, torch.tensor(ends, dtype=tokens.dtype, device=tokens.device))


def _describe_draw(clip: Clip, logits: Any, epsilon: float) -> tuple[float, float]:
    """Return how likely the likeliest token is, and how many bits a draw has."""
    import torch

    best, entropy = [], []
    for some in logits.split(256):
        logs = log_probabilities(clip, some, epsilon)
        best.append(logs.exp().amax(dim=1))
        entropy.append(-(logs.exp() * logs).sum(dim=1))
    return float(torch.cat(best).mean()), float(torch.cat(entropy).mean()) / _LN_2
