"""Add noise to the encoder output of BART and decode the result (DP-BART).

Paper:   Igamberdiev and Habernal 2023, Findings of ACL.
Claim:   (epsilon, delta) for the whole text, which is cut and padded to 20 tokens.
Departs: "published" scales its noise by the classical Gaussian formula, as the release's scripts do,
         which is proven for epsilon < 1 only: nominal 250 is really 1550. "sound" uses the analytic
         calibration that the paper names. "port" is what ships beside DP-MLM under the same name. The
         releases seed their noise publicly or globally; here every draw has its own key. CLV, PR and PR+
         differ in data: `weights` and `pruned`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.mechanisms._latent import Latent, Singles
from tedaudit.models.autoencoders.bart import (
    Bart,
    beam_decode,
    cut_windows,
    encode_whole,
    load_bart,
    run_encoder,
)
from tedaudit.models.autoencoders.beams import describe_search
from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling.noise import Tensor
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.values import Array, Card, Claim, Floats, InputLimit, Leak


@dataclass(frozen=True)
class DPBart(Latent):
    """BART-base, or the zoo's pruned BART if installed.

    To load a release, set `weights` (a torch file) and `pruned` (a tensor of dimensions), which the
    folder of a model may also list itself. `positions` "text" has no window: the latent has one position for
    each token of the text, all of them get the same noise, and the rewrite has at most as many new tokens.
    Decoding comes after the noise: `decoder_dtype` "bfloat16" changes outputs and speed, not privacy.
    """

    model: str = zoo_or("bart-pruned", "facebook/bart-base")
    revision: str = ""
    """Branch, tag or commit of a model on the hub. Empty: the newest."""
    weights: str = ""
    """A torch file of released weights to load into the model. Empty: the model's own weights."""
    pruned: str = ""
    """File of dimensions to prune. none: keep all. Empty: the model's own list, unless `weights` is set."""
    clip: float = 0.1
    """Clip bound: on every component of the encoder output, or on its L2 norm (clipping norm)."""
    clip_low: float | None = None
    """Lower end of the clip range for components. Null: -clip."""
    clipping: Literal["value", "norm"] = "value"
    noised_for_clip: float = 0.0
    """A planted flaw: scale the noise as if values were clipped to this. 0: as they are clipped."""
    positions: Literal["window", "text"] = "window"
    """window: a fixed number. text: one per token, all with the same noise, which reveals length and more."""
    context: int = 512
    """How many tokens of a text are read at most, if positions is text."""
    mask: Literal["full", "text"] = "full"
    """What the decoder attends to. full: the whole window. text: the text alone, which reveals its length."""
    beams: int | None = 3
    """Beams in the search that decodes. 1: greedy. Null: the model's own setting."""
    decoder_dtype: str = field(default="", metadata={"incidental": True})  # in the fingerprint, if given
    """Number format of the decoder, which comes after the noise. Empty: the encoder's."""
    _right_scale: ClassVar[str] = "noised_for_clip=0"
    card: ClassVar[Card] = Card(
        name="dp-bart",
        english=("model: the default model",),
        needs=("models",),
        summary="Noise on the clipped encoder output of BART, decoded by beam search.",
        paper="Igamberdiev and Habernal 2023 (Findings of ACL); trusthlt/dp-bart-private-rewriting e31c972",
        claim="epsilon and delta for the whole text",
        departures=(
            "sound: noise by the analytic Gaussian calibration, so that the claim holds at every epsilon",
            "published: the classical Gaussian formula; the claim's actual epsilon says what the noise gives",
            "published: the noise of every draw has its own key; the release seeds it with a public constant",
            "port: the DP-BART beside DP-MLM (sjmeis/DPMLM 3ce9390, LLMDP.py), not the release of the paper",
            "port: values clipped to [-0.2, 0.1] with noise for +-0.1, one noise vector for all positions",
            "port: no window, as many new tokens as the text has; no epsilon covers what that reveals",
            "port: the model's own search (bart-base: 4 beams; the zoo's: greedy), never a random one",
            "port: dimensions that the model's folder prunes stay pruned",
        ),
        version=2,
        leaks=(
            Leak(
                field="positions",
                value="text",
                instead="window",
                says="the latent has as many positions as the text has tokens",
                shows=("length",),
                rule="length rule",
            ),
            Leak(
                field="positions",
                value="text",
                instead="window",
                says="one noise vector is added to every position: "
                "the differences between positions carry no noise",
                rule="shared noise",
            ),
            Leak(
                field="mask",
                value="text",
                instead="full",
                says="the decoder attends to as many positions as the text has",
                shows=("length",),
                rule="length rule",
            ),
        ),
        not_leaks=(("noise", "too little noise rather than none: `arithmetic` gives the actual epsilon"),),
        slope=(100, 400, 1600),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {"noise": "analytic_gaussian", "mask": "full", "positions": "window"},
        "published": {"noise": "gaussian", "mask": "full", "positions": "window"},
        "port": {
            "noise": "gaussian", "mask": "full", "positions": "text", "clip": 0.1, "clip_low": -0.2,
            "noised_for_clip": 0.1, "beams": None,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.beams is not None and self.beams < 1) or self.context < 3:
            raise SpecError(
                f"'dp-bart': beams is {self.beams} and context is {self.context}; there must be 1 beam or "
                "more and a context of 3 tokens or more."
            )
        if not 0 <= self.noised_for_clip < math.inf:
            raise SpecError(f"'dp-bart': noised_for_clip is {self.noised_for_clip}; it must be 0 or more.")
        if self.clip_low is not None and not -math.inf < self.clip_low < self.clip:
            raise SpecError(f"'dp-bart': clip_low is {self.clip_low}; it must be below clip, {self.clip}.")
        if self.clipping == "norm" and (self.clip_low is not None or self.positions == "text"):
            raise SpecError("'dp-bart': clipping is 'norm'; clip_low and positions 'text' need 'value'.")

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon for the whole text; if its length shows, no finite epsilon holds."""
        claim = super().claim(epsilon)
        reveals_length = self.mask == "text" or self.positions == "text"
        return replace(claim, actual=math.inf) if claim is not None and reveals_length else claim

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of weights and kept dimensions, the number formats, and the model's own search."""
        known = {**super().fingerprint(), "kept dimensions": self._load_bart().kept_checksum()}
        if self.beams is None:
            known["search"] = describe_search(self._load_decoder().model)
        written = str(self._load_decoder().model.dtype)
        return known if written == known["number format"] else {**known, "decoder number format": written}

    def input_limit(self) -> InputLimit | None:
        """Return the window, if there is one."""
        return super().input_limit() if self.positions == "window" else None

    def beyond_likelihood(self) -> str:
        """Return what a release tells beside its latent: with mask "text" the length of the text."""
        shows = self.mask == "text" and self.positions == "window"
        return "the decoder sees the length of the text, which the latent does not contain" if shows else ""

    def sensitivity(self) -> float:
        """Return the largest distance between two latents, of one position each if positions are "text"."""
        if self.clipping == "norm":
            return super().sensitivity()
        size = self._count_components()
        return (self.clip - self._find_low()) * (size if self.noise == "laplace" else math.sqrt(size))

    def largest_norm(self) -> float:
        """Return the L2 norm that no clipped latent exceeds."""
        if self.clipping == "norm":
            return super().largest_norm()
        return max(self.clip, -self._find_low()) * math.sqrt(self._count_components())

    def encode(self, texts: Sequence[str]) -> Sequence[Singles] | Singles:
        """Return the latent of each text after clipping and before noise, flat like a released one."""
        if self.positions == "window":
            return super().encode(texts)
        clean: dict[str, Singles] = {}
        for same, latents in self._encode_alike(list(dict.fromkeys(texts))):
            clean |= zip(same, latents.cpu().numpy(), strict=True)
        return [clean[text] for text in texts]

    def _encode_alike(self, texts: Sequence[str]) -> Iterator[tuple[Sequence[str], Tensor]]:
        if self.positions == "window":
            yield from super()._encode_alike(texts)
            return
        for same, hidden in encode_whole(self._load_checkpoint(), texts, self._compute_room()):
            yield same, self._clip(self._keep(hidden))

    def log_density(self, latent: Array, latents: Sequence[Array] | Array, epsilon: float) -> Floats:
        """Return the log density of a released latent around each of these; -inf if it cannot be."""
        if self.positions == "window":
            return super().log_density(latent, latents, epsilon)
        size = self._count_components()
        scores = np.full(len(latents), -math.inf)
        for i, clean in enumerate(latents):
            if clean.shape != latent.shape:
                continue
            noise = (np.asarray(latent, np.float64) - np.asarray(clean, np.float64)).reshape(-1, size)
            mean = noise.mean(axis=0)
            if np.abs(noise - mean).max() <= _ROUNDING * (np.abs(latent).max() + 1.0):
                scores[i] = super().log_density(mean, np.zeros((1, size)), epsilon)[0]
        return scores

    def _compare_read(self, read: Singles, latents: Sequence[Singles], epsilon: float) -> Floats:
        """Return the log density of the noise between each latent and the one read in a published text.

        If positions are the text's own, one that a latent does not have is a row of zeros: texts of unlike
        lengths are far apart, and not impossible, because the rewrite may end before its text does.
        """
        longest = max((len(latent) for latent in latents), default=0)
        width = max(len(read), longest)
        padded = [np.pad(latent, (0, width - len(latent))) for latent in (read, *latents)]
        return super().log_density(padded[0], padded[1:], epsilon)

    def _find_gap(self, first: Singles, second: Singles) -> Floats | None:
        """Return the difference of two latents; noise that every position repeats hides no other one."""
        if self.positions == "window":
            return super()._find_gap(first, second)
        if first.shape != second.shape:
            return None
        gaps = (np.asarray(first, np.float64) - np.asarray(second, np.float64)).reshape(
            -1, self._count_components()
        )
        return gaps[0] if (gaps == gaps[0]).all() else None

    def _clip_rows(self, hidden: Tensor) -> Tensor:
        if self.clipping == "norm":
            return super()._clip_rows(hidden)
        return hidden.clamp(self._find_low(), self.clip)

    def _find_low(self) -> float:
        return -self.clip if self.clip_low is None else self.clip_low

    def _compute_excess(self) -> float:
        if not self.noised_for_clip:
            return 1.0
        if self.clipping == "value":
            return (self.clip - self._find_low()) / (2 * self.noised_for_clip)
        return self.clip / (self.noised_for_clip * math.sqrt(self._count_components()))

    def _count_components(self) -> int:
        return (self.window if self.positions == "window" else 1) * len(self._load_bart().kept)

    def _run_encoder(self, texts: Sequence[str]) -> Tensor:
        checkpoint = self._load_checkpoint()
        return self._keep(run_encoder(checkpoint, cut_windows(checkpoint, texts, self.window)))

    def _keep(self, hidden: Tensor) -> Tensor:
        """Return encoder outputs flat, without pruned dimensions."""
        kept = self._load_bart().kept
        return (hidden if len(kept) == hidden.shape[2] else hidden[:, :, kept]).flatten(1)

    def _read_text(self, text: str) -> Sequence[int]:
        width = self.window if self.positions == "window" else self._compute_room()
        window = cut_windows(self._load_checkpoint(), [text], width)
        return [int(token) for token in window.ids[0][window.mask[0].bool()]]

    def _run_decoder(self, latents: Tensor, texts: Sequence[str]) -> list[tuple[int, ...]]:
        import torch

        checkpoint, kept = self._load_decoder(), self._load_bart().kept
        hidden = latents.unflatten(1, (-1, len(kept)))
        count, size = hidden.shape[1], checkpoint.model.config.hidden_size
        if len(kept) < size:
            hidden = latents.new_zeros((len(latents), count, size))
            hidden[:, :, kept] = latents.unflatten(1, (-1, len(kept)))
        mask = torch.ones(hidden.shape[:2], dtype=torch.long)
        if self.mask == "text" and self.positions == "window":
            mask = cut_windows(checkpoint, texts, self.window).mask
        length = self.max_tokens if self.positions == "window" else count + 1
        few = self.positions == "text"  # latents of one length are decoded together
        return beam_decode(checkpoint, hidden, mask, self.beams, length, few=few)

    def _compute_room(self) -> int:
        bound = self._load_checkpoint().positions
        return self.context if bound is None else min(self.context, bound)

    def _load_checkpoint(self) -> Checkpoint:
        return self._load_bart().checkpoint

    def _load_decoder(self) -> Checkpoint:
        return self._load_bart(self.decoder_dtype).checkpoint

    def _load_bart(self, dtype: str = "") -> Bart:
        chosen = dtype or self.dtype
        return load_bart(self.model, self.weights, self.pruned, self.revision, self.device, chosen)


_ROUNDING = 2.0**-21  # of a released number, with a margin: it is the only difference between positions
