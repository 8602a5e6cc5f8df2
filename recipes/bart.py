"""Train the BART of the zoo, an auto-encoder for DP-BART.

    python recipes/bart.py --variant plain --data DIR --out zoo/src/tedaudit_zoo/models/bart-plain
    python recipes/bart.py --variant pruned --data DIR --out zoo/src/tedaudit_zoo/models/bart-pruned

It learns to write a window of 20 tokens again from what the encoder makes of it, clipped to +-0.1. `plain`
(CLV) keeps all dimensions. `pruned` (PR+) drops a quarter of them at a time, those that the decoder uses
least, trains on in between, and then with noise that slowly grows. `pr` (PR) is the same without noise.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from common.options import Options
from common.saving import Card, save_model, write_card
from common.text import LICENCES, SHARES
from common.training import Plan, begin, closing_figures, compiled, device, train
from common.vocabulary import END, PAD, START, tokenizer_for
from common.windows import EPSILONS, WIDTH, picker, reconstruction, samples, shown, windows
from safetensors.torch import save_file
from transformers import BartConfig, BartForConditionalGeneration

from tedaudit.mechanisms.dp_bart import DPBart
from tedaudit.models.autoencoders.bart import PRUNED, Bart, beam_decode, encode, load_bart, prune_order
from tedaudit.models.autoencoders.bart import cut_windows as read_windows
from tedaudit.plugins.values import Draw

DIMENSIONS = 256
CLIP = 0.1
START_SCALE = 0.05  # of the encoder's output: at 1, clipping leaves next to no gradient
STAGES = {0.15: 192, 0.2: 144, 0.25: 108, 0.3: 81, 0.35: 61}  # share of training done: dimensions kept
NOISE_FROM, NOISE_FULL = 0.4, 0.9  # share of training done
TEXTS, NOISED_TEXTS = 4096, 1024  # that figures are measured on


@dataclass(frozen=True)
class Variant:
    """What sets a variant apart: whether dimensions are pruned, and the strongest noise in training."""

    about: str
    pruned: bool
    noise: float


VARIANTS = {
    "plain": Variant("all dimensions (CLV)", pruned=False, noise=0.02),
    "pruned": Variant("pruned and trained with noise (PR+)", pruned=True, noise=0.2),
    "pr": Variant("pruned (PR)", pruned=True, noise=0.0),
}


class AutoEncoder(torch.nn.Module):
    """BART as DP-BART runs it: the encoder's output is clipped, pruned and noised; the decoder sees it all.

    A row's noise is a share, drawn by chance, of the strongest: some rows have next to none.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model.eval()
        self.register_buffer("kept", torch.ones(DIMENSIONS))
        self.register_buffer("noise", torch.zeros(()))

    def train(self, mode: bool = True) -> "AutoEncoder":  # noqa: ARG002
        """Stay as it is: there is no dropout, and layers left out by chance could not be compiled."""
        return self

    def forward(self, ids: Any) -> Any:
        """Return the loss on windows of token ids."""
        bart, text = self.model.model, ids != PAD
        hidden = bart.encoder(input_ids=ids, attention_mask=text[:, None, None, :]).last_hidden_state
        scale = self.noise * torch.rand((len(ids), 1, 1), device=ids.device)
        seen = (hidden.clamp(-CLIP, CLIP) + scale * torch.randn_like(hidden)) * self.kept
        before = torch.cat([torch.full_like(ids[:, :1], END), ids[:, :-1]], dim=1)
        out = bart.decoder(input_ids=before, encoder_hidden_states=seen, use_cache=False).last_hidden_state
        logits = self.model.lm_head(out).flatten(0, 1)
        return torch.nn.functional.cross_entropy(logits, torch.where(text, ids, -100).flatten())

    def prune(self, number: int) -> None:
        """Keep this many dimensions, those that the decoder uses most."""
        kept = self.kept.cpu()
        left = [i for i in prune_order(self.model) if kept[i]]
        self.kept[left[: len(left) - number]] = 0.0

    def pruned(self) -> Any:
        """Return the numbers of the pruned dimensions; the weights that would read them become 0."""
        dropped = (self.kept == 0).nonzero()[:, 0]
        for layer in self.model.model.decoder.layers:
            for part in (layer.encoder_attn.k_proj, layer.encoder_attn.v_proj):
                part.weight.data[:, dropped] = 0.0
        return dropped.cpu()


def new_model(vocabulary: int) -> Any:
    """Return a small BART with random weights, whose encoder writes small numbers."""
    config = BartConfig(
        vocab_size=vocabulary, d_model=DIMENSIONS, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1024,
        max_position_embeddings=64, dropout=0.0, bos_token_id=START, pad_token_id=PAD, eos_token_id=END,
        decoder_start_token_id=END, forced_eos_token_id=None, attn_implementation="eager",
    )  # fmt: skip
    model = BartForConditionalGeneration(config)
    model.model.encoder.layers[-1].final_layer_norm.weight.data.fill_(START_SCALE)
    return model


def kept_at(variant: Variant, done: float) -> int:
    """Return how many dimensions are kept at this share of the training."""
    reached = [number for start, number in STAGES.items() if variant.pruned and done >= start]
    return min([DIMENSIONS, *reached])


def noise_at(variant: Variant, done: float) -> float:
    """Return the strongest noise at this share of the training: none at first, then slowly more."""
    return variant.noise * min(1.0, max(0.0, (done - NOISE_FROM) / (NOISE_FULL - NOISE_FROM)))


def trained(model: Any, table: npt.NDArray[np.int16], chosen: Options) -> tuple[AutoEncoder, int]:
    """Train a model on windows; return it, and the number of steps."""
    variant, place = VARIANTS[chosen.variant], device()
    whole = AutoEncoder(model).to(place)
    fast, pick = compiled(whole), picker(table, 16 if chosen.dry_run else 2048, chosen.seed, place)
    left = DIMENSIONS

    def loss_at(done: float) -> Any:
        nonlocal left
        if kept_at(variant, done) < left:
            left = kept_at(variant, done)
            whole.prune(left)
        whole.noise.fill_(noise_at(variant, done))
        return fast(pick())

    return whole, train(whole, loss_at, Plan(12_000, rate=1.5e-3), chosen)


def latents(bart: Bart, texts: list[str]) -> npt.NDArray[np.float32]:
    """Return what the decoder sees of each text without noise: clipped, pruned dimensions 0."""
    found = encode(bart.checkpoint, read_windows(bart.checkpoint, texts, WIDTH))
    seen = np.zeros_like(found)
    seen[:, :, bart.kept] = np.clip(found, -CLIP, CLIP)[:, :, bart.kept]
    return seen


def measured(folder: Path, data: Path, held_out: list[str], seed: int) -> dict[str, str]:
    """Return the figures of a saved model."""
    bart = load_bart(str(folder), dtype="float32")
    tokenizer = bart.checkpoint.tokenizer
    texts, modern = samples(data, held_out, TEXTS, seed)
    found = {"dimensions kept": f"{len(bart.kept)} of {DIMENSIONS}"}
    for name, some, beams in (("", texts, 1), (", beam of 3", texts, 3), (", EWT and SNIPS", modern, 1)):
        seen = latents(bart, some)
        written = beam_decode(bart.checkpoint, seen, torch.ones(seen.shape[:2]).long(), beams, WIDTH)
        found[f"without noise{name}"] = shown(reconstruction(tokenizer, some, written))
    norms = np.linalg.norm(latents(bart, texts).reshape(len(texts), -1), axis=1)
    found["mean norm after clipping"] = f"{norms.mean():.2f}"
    return found | noised(folder, texts[:NOISED_TEXTS])


def noised(folder: Path, texts: list[str]) -> dict[str, str]:
    """Return how much of the texts DP-BART itself brings back, decoding greedily."""
    tokenizer = load_bart(str(folder), dtype="float32").checkpoint.tokenizer
    found = {}
    for name in ("sound", "published"):
        mechanism = DPBart(model=str(folder), beams=1, **DPBart.variants[name])
        draws = [Draw(text, epsilon, key) for epsilon in EPSILONS for key, text in enumerate(texts)]
        written = [rewrite.tokens or () for rewrite in mechanism.rewrite(draws)]
        for i, epsilon in enumerate(EPSILONS):
            some = written[i * len(texts) : (i + 1) * len(texts)]
            scale = f"{name}, epsilon {epsilon:,.0f}, noise {mechanism.noise_scale(epsilon):.3f}"
            found[scale] = shown(reconstruction(tokenizer, texts, some))
    return found


def main() -> None:
    """Train, save, load what was saved and measure that."""
    start = begin(__doc__, variants=list(VARIANTS))
    chosen, tokenizer = start.chosen, tokenizer_for("bart")
    table = windows(tokenizer, start.texts)
    model = new_model(len(tokenizer))
    start.say(len(table), "windows")
    whole, steps = trained(model, table, chosen)
    dropped = whole.pruned()
    save_model(chosen.out, model, tokenizer)
    if VARIANTS[chosen.variant].pruned:
        save_file({"pruned": dropped.to(torch.int16)}, chosen.out / PRUNED)
    torch.set_float32_matmul_precision("highest")
    figures = measured(chosen.out, chosen.data, start.held_out, chosen.seed)
    figures |= closing_figures(model, steps, start)
    write_card(chosen.out, card(chosen, figures, len(table)))


def card(chosen: Options, figures: dict[str, str], count: int) -> Card:
    """Return the card."""
    variant = VARIANTS[chosen.variant]
    stages = ", ".join(f"{number} after {done:.0%}" for done, number in STAGES.items())
    training = [
        f"{count:,} windows of {WIDTH} tokens, 2,048 a step, AdamW, seed {chosen.seed}",
        f"encoder output clipped to +-{CLIP} in training too; its last layer norm starts at {START_SCALE}",
    ]
    if variant.pruned:
        training.append(f"dimensions kept, by weight in the first cross-attention's keys: {stages}")
    if variant.noise:
        training.append(
            f"noise of up to {variant.noise} on the encoder output, a share of it by chance for each row, "
            f"growing from {NOISE_FROM:.0%} to {NOISE_FULL:.0%} of the training"
        )
    return Card(
        title=f"bart-{chosen.variant}",
        summary=f"A small BART for DP-BART, {variant.about}: 2 + 2 layers, {DIMENSIONS} dimensions. "
        "An auto-encoder: it writes again what it reads.",
        data=[LICENCES[source] for source in SHARES],
        training=training,
        figures=figures,
        limits=[
            f"English, windows of {WIDTH} tokens; it is no language model and no summariser.",
            "Figures are of held-out sentences of the training mix.",
            "`sound` and `published` are DP-BART's own draws, decoded greedily.",
            "Epsilon is for the whole text, with delta 1e-5.",
            "SNIPS (training split) is in the mix: audits on SNIPS see text that the model was trained on.",
        ],
        command=chosen.command(f"bart.py --variant {chosen.variant}"),
    )


if __name__ == "__main__":
    main()
