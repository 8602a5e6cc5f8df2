"""Train the ADePT of the zoo: an LSTM auto-encoder, whose sentence vector gets the noise.

    python recipes/adept.py --data DIR --out zoo/src/tedaudit_zoo/models/adept [--start FOLDER]

It learns to write a window of 20 tokens again from the encoder's last state, clipped to a norm of 5. The
encoder reads the padding of half of the windows (ADePT's variant `sound`) and not that of the others
(`published`), so that it can do both. Some of the tokens that the decoder reads are hidden, so that it
relies on that state.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from common.options import Options
from common.saving import Card, save_tokenizer, write_card
from common.text import LICENCES, SHARES
from common.training import Plan, begin, closing_figures, compiled, device, train
from common.vocabulary import MASK, PAD, tokenizer_for
from common.windows import EPSILONS, WIDTH, picker, reconstruction, samples, shown, windows
from torch.nn import functional

from tedaudit.mechanisms._noise import clip_norm
from tedaudit.mechanisms.adept import Adept
from tedaudit.models.autoencoders.adept import (
    AdeptConfig,
    AdeptModel,
    encode,
    greedy_decode,
    load_adept,
    read_tokens,
)
from tedaudit.models.loading import WEIGHTS, load_quantised, save_quantised
from tedaudit.plugins.values import Draw

CLIP = 5.0
HIDDEN_TOKENS = 0.3  # share of the decoder's tokens
TEXTS, NOISED_TEXTS = 4096, 1024  # that figures are measured on
BEFORE = (
    "began with the weights of an older version, which had been trained on the same text and read all padding"
)


class Writing(torch.nn.Module):
    """The loss of the tokens that the decoder's states stand for; apart, because LSTMs cannot be compiled."""

    def __init__(self, model: AdeptModel) -> None:
        super().__init__()
        self.output = model.module["output"]
        self.embedding = model.module["embedding"]

    def forward(self, states: Any, tokens: Any) -> Any:
        """Return the mean loss; padding counts, so that nothing is written after the end."""
        logits = functional.linear(self.output(states), self.embedding.weight)
        return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def first_model(vocabulary: int, start: Path | None) -> AdeptModel:
    """Return a small model: its LSTMs start by remembering, or it has the weights of an older version."""
    sizes = AdeptConfig(vocabulary, embedding=128, hidden=384, window=WIDTH, tied=True, unpadded=True)
    model = AdeptModel(sizes)
    for part in ("encoder", "decoder"):
        _, forget, _, _ = model.module[part].bias_ih_l0.data.chunk(4)
        forget.fill_(1.0)
    if start is not None:
        model.module.load_state_dict(load_quantised(start / WEIGHTS))
    return model


def decoder_states(model: AdeptModel, ids: Any) -> Any:
    """Return the decoder's states over windows, from latents clipped as the mechanism does."""
    parts, hidden = model.module, torch.rand(ids.shape, device=ids.device) < HIDDEN_TOKENS
    hidden[:, 0] = False
    read = torch.where(hidden, MASK, ids)[:, :-1]
    with torch.autocast(ids.device.type, enabled=False):  # in half precision small gradients would vanish
        half = len(ids) // 2
        lengths = (ids[half:] != PAD).sum(dim=1).cpu()
        latents = torch.cat([model.encode(ids[:half]), model.encode(ids[half:], lengths)])
        norms = latents.norm(dim=1, keepdim=True)
        latents = latents * (CLIP / norms.clamp(min=1e-6)).clamp(max=1.0)
        states, _ = parts["decoder"](parts["embedding"](read), model.start(latents))
    return states


def trained(model: AdeptModel, table: npt.NDArray[np.int16], chosen: Options) -> int:
    """Train a model on windows; return the number of steps."""
    place = device()
    model.module.to(place)
    writing = compiled(Writing(model))
    pick = picker(table, 16 if chosen.dry_run else rows(), chosen.seed, place)

    def loss_at(_: float) -> Any:
        ids = pick()
        return writing(decoder_states(model, ids), ids[:, 1:])

    return train(model.module, loss_at, Plan(40_000, rate=3e-3 if chosen.start is None else 1e-3), chosen)


def rows() -> int:
    """Return how many windows a step has."""
    return 1024 if device().type == "cuda" else 64


def save(folder: Path, model: AdeptModel, tokenizer: Any) -> None:
    """Write the model, its weights as integers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(asdict(model.config), indent=2) + "\n", encoding="utf-8")
    save_quantised(folder / WEIGHTS, model.state_dict())
    save_tokenizer(folder, tokenizer)


def measured(folder: Path, data: Path, held_out: list[str], seed: int) -> dict[str, str]:
    """Return the figures of a saved model."""
    checkpoint = load_adept(str(folder))
    texts, modern = samples(data, held_out, TEXTS, seed)
    found = {}
    readings = (
        (padded, *some) for padded in (True, False) for some in (("", texts), (", EWT and SNIPS", modern))
    )
    for padded, source, some in readings:
        name = f"{source}{'' if padded else ', padding not read'}"
        latents = encode(checkpoint, read_tokens(checkpoint, some, WIDTH, padded))
        clean = clip_norm(latents.astype(np.float64), CLIP).astype(np.float32)
        written = greedy_decode(checkpoint, clean, WIDTH).tolist()
        found[f"without noise{name}"] = shown(reconstruction(checkpoint.tokenizer, some, written))
        found[f"mean norm before clipping{name}"] = f"{np.linalg.norm(latents, axis=1).mean():.2f}"
    return found | noised(folder, texts[:NOISED_TEXTS])


def noised(folder: Path, texts: list[str]) -> dict[str, str]:
    """Return how much of the texts ADePT itself brings back."""
    tokenizer, found = load_adept(str(folder)).tokenizer, {}
    for name, settings in Adept.variants.items():
        mechanism = Adept(model=str(folder), **settings)
        for epsilon in EPSILONS:
            rewrites = mechanism.rewrite([Draw(text, epsilon, key) for key, text in enumerate(texts)])
            written = [rewrite.tokens or () for rewrite in rewrites]
            scale = f"{name}, epsilon {epsilon:,.0f}, noise {mechanism.noise_scale(epsilon):.3f}"
            found[scale] = shown(reconstruction(tokenizer, texts, written))
    return found


def main() -> None:
    """Train, save, load what was saved and measure that."""
    start = begin(__doc__, goes_on=True)
    chosen, tokenizer = start.chosen, tokenizer_for("adept")
    table = windows(tokenizer, start.texts)
    model = first_model(len(tokenizer), chosen.start)
    start.say(len(table), "windows")
    steps = trained(model, table, chosen)
    save(chosen.out, model, tokenizer)
    torch.set_float32_matmul_precision("highest")
    figures = measured(chosen.out, chosen.data, start.held_out, chosen.seed)
    figures |= closing_figures(model, steps, start)
    write_card(chosen.out, card(chosen, figures, len(table)))


def card(chosen: Options, figures: dict[str, str], count: int) -> Card:
    """Return the card."""
    return Card(
        title="adept",
        summary="The LSTM auto-encoder of ADePT, small: one layer of 384 on either side, embeddings of 128 "
        "that also write. It writes again what it reads.",
        data=[LICENCES[source] for source in SHARES],
        training=[
            *([] if chosen.start is None else [BEFORE]),
            f"{count:,} windows of {WIDTH} tokens, {rows():,} a step, AdamW, seed {chosen.seed}",
            f"latent clipped to an L2 norm of {CLIP:g} in training too, no noise",
            "the encoder reads the padding of half of the windows, and stops at the end token of the others",
            f"{HIDDEN_TOKENS:.0%} of the tokens that the decoder reads are hidden",
        ],
        figures=figures,
        limits=[
            f"English, windows of {WIDTH} tokens, padding read or not. It was not trained with noise.",
            "Figures are of held-out sentences of the training mix.",
            "`sound` and `published` are ADePT's own draws; epsilon is for the whole text, with delta 1e-5.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command("adept.py"),
    )


if __name__ == "__main__":
    main()
