"""Add noise to the encoder output of BART and decode the result (DP-BART).

Paper:   Igamberdiev and Habernal 2023, Findings of ACL.
Claim:   (epsilon, delta) for the whole text, which is cut and padded to 20 tokens.
Departs: "published" scales its noise by the classical Gaussian formula, as the release's scripts do,
         which is proven for epsilon < 1 only: nominal 250 is really 1550. "sound" uses the analytic
         calibration that the paper names. The release seeds its noise with a public constant; here
         every draw has its own key. CLV, PR and PR+ differ in data: `weights` and `pruned`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.inference.bart import Bart, beam_decode, cut_windows, encode, load_bart
from tedaudit.inference.loading import Checkpoint
from tedaudit.inference.zoo import zoo_or
from tedaudit.mechanisms._latent import Latent, Singles
from tedaudit.types import Array, Card, Claim


@dataclass(frozen=True)
class DPBart(Latent):
    """BART-base, or the zoo's pruned BART if installed.

    To load a release, set `weights` (a torch file) and `pruned` (a tensor of dimensions). A model
    folder may list its pruned dimensions itself; `pruned` "none" ignores the list and keeps all.
    `mask` "full" lets the decoder attend to all positions of the window; "text" only to those of the
    text, which reveals its length without noise. `noised_for_clip` plants a flaw: the noise is scaled
    for values clipped to that bound, whatever the actual clipping; 0 scales it for the actual clipping.
    """

    model: str = zoo_or("bart-pruned", "facebook/bart-base")
    revision: str = ""
    weights: str = ""
    pruned: str = ""
    clip: float = 0.1
    clipping: Literal["value", "norm"] = "value"
    noised_for_clip: float = 0.0
    mask: Literal["full", "text"] = "full"
    beams: int = 3
    card: ClassVar[Card] = Card(
        name="dp-bart",
        needs=("models",),
        summary="Noise on the clipped encoder output of BART, decoded by beam search.",
        paper="Igamberdiev and Habernal 2023 (Findings of ACL)",
        claim="epsilon and delta for the whole text",
        departures=(
            "sound: noise by the analytic Gaussian calibration, so that the claim holds at every epsilon",
            "published: the classical Gaussian formula; the claim's actual epsilon says what it really gives",
            "the noise of every draw has its own key; the release seeds it with a public constant",
        ),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"noise": "analytic_gaussian", "mask": "full"},
        "published": {"noise": "gaussian", "mask": "full"},
    }

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.beams < 1:
            raise SpecError(f"'dp-bart': beams is {self.beams}; it must be 1 or more.")
        if not 0 <= self.noised_for_clip < math.inf:
            raise SpecError(f"'dp-bart': noised_for_clip is {self.noised_for_clip}; it must be 0 or more.")

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon for the whole text; a mask that shows the text's length has no finite epsilon."""
        claim = super().claim(epsilon)
        return replace(claim, actual=math.inf) if claim is not None and self.mask == "text" else claim

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of the weights and of the kept dimensions, and the number format."""
        return {**super().fingerprint(), "kept dimensions": self._load_bart().kept_checksum()}

    def _compute_excess(self) -> float:
        if not self.noised_for_clip:
            return 1.0
        root = 1.0 if self.clipping == "value" else math.sqrt(self._count_components())
        return self.clip / (self.noised_for_clip * root)

    def _count_components(self) -> int:
        return self.window * len(self._load_bart().kept)

    def _run_encoder(self, texts: Sequence[str]) -> Array:
        checkpoint = self._load_checkpoint()
        hidden = encode(checkpoint, cut_windows(checkpoint, texts, self.window))
        return hidden[:, :, self._load_bart().kept].reshape(len(texts), -1)

    def _read_text(self, text: str) -> Sequence[int]:
        window = cut_windows(self._load_checkpoint(), [text], self.window)
        return [int(token) for token in window.ids[0][window.mask[0].bool()]]

    def _run_decoder(self, latents: Singles, texts: Sequence[str]) -> list[tuple[int, ...]]:
        import torch

        checkpoint, kept = self._load_checkpoint(), self._load_bart().kept
        shape = (len(latents), self.window, checkpoint.model.config.hidden_size)
        hidden = np.zeros(shape, dtype=np.float32)
        hidden[:, :, kept] = latents.reshape(len(latents), self.window, len(kept))
        mask = torch.ones(shape[:2], dtype=torch.long)
        if self.mask == "text":
            mask = cut_windows(checkpoint, texts, self.window).mask
        return beam_decode(checkpoint, hidden, mask, self.beams, self.max_tokens)

    def _load_checkpoint(self) -> Checkpoint:
        return self._load_bart().checkpoint

    def _load_bart(self) -> Bart:
        return load_bart(self.model, self.weights, self.pruned, self.revision, self.device, self.dtype)
