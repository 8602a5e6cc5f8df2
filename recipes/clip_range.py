"""Measure on public text to which range a model's logits are clipped, and write it beside the model.

    python recipes/clip_range.py --data DIR --out FOLDER_OF_THE_MODEL
    python recipes/clip_range.py --data DIR --out FOLDER_OF_THE_MODEL --first MODEL  # DP-Pivot's second one

The exponential mechanism draws a token with a weight of exp(epsilon (logit - low) / (2 (high - low))), logits
clipped to [low, high]. The model reads held-out public sentences as the mechanism lets it read private ones:
a masked model sees every word masked in turn beside the original, the others follow their likeliest
continuation. `low` is the mean over places of the logit that 1% of the tokens stay below, `high` the mean of
the largest logit plus a standard deviation: few tokens that no text needs do not widen the range.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from common.edits import spaced
from common.options import options
from common.text import mix
from transformers import AutoConfig

from tedaudit.inference.loading import CLIP, Checkpoint, Task, load_checkpoint
from tedaudit.inference.masked import MaskedRow, masked_logits
from tedaudit.inference.rows import decoder_for
from tedaudit.inference.sampling import Clip, log_probabilities
from tedaudit.mechanisms.dp_paraphrase import DPParaphrase
from tedaudit.mechanisms.dp_pivot import DPPivot
from tedaudit.mechanisms.dp_prompt import DPPrompt

EPSILONS = (1.0, 10.0, 100.0, 1000.0)
TEXTS = 1000
_STEPS = 24  # tokens followed after a prompt
_PLACES = 12_000  # at most, that logits are kept of
_BATCH = 128
_RULE = (
    "low: mean of the logit that 1% of the tokens stay below; high: mean of the largest plus one deviation"
)


def clip_range(folder: Path, texts: Sequence[str], first: str = "") -> dict[str, str]:
    """Measure the range, write it, and return what draws are like at several epsilons.

    If there is a first model, the other reads what that one makes of the texts, as in DP-Pivot.
    """
    task = task_of(folder)
    checkpoint = load_checkpoint(task, str(folder), dtype="float32")
    if task == "masked":
        met = _masked(checkpoint, texts)
    else:
        read = _pivoted(folder, first, texts) if first else [prompt(checkpoint, text) for text in texts]
        met = _continued(checkpoint, read)
    logits = torch.cat(list(met))[:_PLACES]
    largest = logits.amax(dim=1)
    lowest = logits.kthvalue(max(1, logits.shape[1] // 100), dim=1).values
    low, high = round(float(lowest.mean()), 3), round(float(largest.mean() + largest.std()), 3)
    about = {
        "low": low,
        "high": high,
        "measured_on": f"{len(texts)} held-out public sentences, {len(logits)} places",
        "rule": _RULE,
    }
    (folder / CLIP).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    load_checkpoint.cache_clear()
    found = {"clip range": f"{low} to {high}"}
    return found | {f"a draw at epsilon {e:,.0f}": _shown(Clip(low, high), logits, e) for e in EPSILONS}


def task_of(folder: Path) -> Task:
    """Return the task of a model: GPT-2 writes on, other models without a decoder fill in masks."""
    config = AutoConfig.from_pretrained(folder)
    if config.is_encoder_decoder:
        return "seq2seq"
    return "causal" if config.model_type == "gpt2" else "masked"


def sample_of(texts: Sequence[str], seed: int, count: int = TEXTS) -> list[str]:
    """Return some texts of two to thirty words by chance, a third of them in lower case without marks."""
    rng = random.Random(seed)
    able = [text for text in texts if 2 <= len(text.split()) <= 30]
    some = rng.sample(able, min(count, len(able)))
    return [text.lower().rstrip(".?! ") if i % 3 == 0 else text for i, text in enumerate(some)]


def masked_rows(checkpoint: Checkpoint, text: str, *, hidden: bool) -> list[tuple[MaskedRow, int]]:
    """Return what DP-MLM lets the model read for each word of a text, and the word's first token.

    Hidden: the word is masked in the original too.
    """
    words, tokenizer = spaced(text).split(), checkpoint.tokenizer
    found = []
    for i, word in enumerate(words):
        masked = " ".join([*words[:i], tokenizer.mask_token, *words[i + 1 :]])
        ids = tokenizer(masked if hidden else " ".join(words), masked)["input_ids"]
        place = max(j for j, token in enumerate(ids) if token == tokenizer.mask_token_id)
        found.append(
            (MaskedRow(tuple(ids), place), tokenizer(word, add_special_tokens=False)["input_ids"][0])
        )
    return found


def _masked(checkpoint: Checkpoint, texts: Sequence[str]) -> Iterator[Any]:
    """Yield the logits at every word masked in turn."""
    rows = [row for text in texts for row, _ in masked_rows(checkpoint, text, hidden=False)]
    yield from (logits for _, logits in masked_logits(checkpoint, rows[:_PLACES]))


def _continued(checkpoint: Checkpoint, prompts: Sequence[tuple[int, ...]]) -> Iterator[Any]:
    """Yield the logits along the likeliest continuation of each prompt, up to its end."""
    decoder, end = decoder_for(checkpoint), checkpoint.tokenizer.eos_token_id
    for start in range(0, len(prompts), _BATCH):
        some = prompts[start : start + _BATCH]
        logits = decoder.start(some, max(len(one) for one in some))
        for _ in range(_STEPS):
            yield logits
            tokens = logits.argmax(dim=1)
            going = (tokens != end).nonzero()[:, 0]
            if not len(going):
                break
            logits = decoder.step(going, tokens[going])


def prompt(checkpoint: Checkpoint, text: str) -> tuple[int, ...]:
    """Return what DP-Prompt or DP-Paraphrase lets the model read for a text."""
    if checkpoint.model.config.is_encoder_decoder:
        return tuple(checkpoint.tokenizer(DPPrompt().prompt.replace("{text}", text))["input_ids"])
    return tuple(checkpoint.tokenizer(text + DPParaphrase().separator)["input_ids"])


def _pivoted(folder: Path, first: str, texts: Sequence[str]) -> list[tuple[int, ...]]:
    """Return what DP-Pivot lets its second model read for some texts."""
    mechanism = DPPivot(model=str(folder), first=first)
    return [ids for ids in mechanism._encode_prompts(texts).values() if ids is not None]  # noqa: SLF001


def _shown(clip: Clip, logits: Any, epsilon: float) -> str:
    """Return how likely the likeliest token is, and how many tokens a draw is as good as spread over."""
    best, entropy = [], []
    for some in logits.split(1024):
        logs = log_probabilities(clip, some, epsilon)
        best.append(logs.exp().amax(dim=1))
        entropy.append(-(logs.exp() * logs).sum(dim=1))
    bits = float(torch.cat(entropy).mean()) / 0.6931471805599453
    return f"likeliest token {float(torch.cat(best).mean()):.2%}, entropy {bits:.2f} bits"


def main() -> None:
    """Measure the model of a folder."""
    chosen = options(__doc__, pivots=True)
    _, held_out = mix(chosen.data, chosen.seed)
    for name, value in clip_range(chosen.out, sample_of(held_out, chosen.seed), chosen.first).items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
