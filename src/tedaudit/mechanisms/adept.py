"""Add noise to the sentence vector of an LSTM auto-encoder and decode the result (ADePT).

Paper:   Krishna, Gupta and Dupuy 2021, EACL; its error: Habernal 2021, EMNLP.
Claim:   (epsilon, delta) for the whole text, which is cut and padded to 20 tokens.
Departs: follows the release of Igamberdiev and Habernal 2023, which fixes the sensitivity. "published"
         scales its noise by the classical Gaussian formula as that release's scripts do (nominal 250
         is really 1550), reads no padding, keeps words after the end token and writes UNK for an empty
         text; "sound" uses the analytic calibration. No weights are published: a model is trained by
         recipe or comes with the zoo, with its own tokenizer instead of spaCy's.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from tedaudit.errors import ModelError
from tedaudit.mechanisms._latent import Latent
from tedaudit.models.autoencoders.adept import greedy_decode, load_adept, read_tokens, run_encoder
from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling.noise import Tensor
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.values import Card


@dataclass(frozen=True)
class Adept(Latent):
    """The latent is the encoder's last hidden and cell state, clipped by its L2 norm.

    `laplace_sensitivity` "l2" is the error of 2021: Laplace noise for 2 C, although the L1 distance
    of two latents with n components can reach 2 C sqrt(n).
    """

    model: str = zoo_or("adept", "zoo:adept")
    """The auto-encoder: a folder of a recipe, or zoo:adept."""
    clip: float = 5.0
    """Bound on the L2 norm of the sentence vector, or on every component (clipping value)."""
    laplace_sensitivity: Literal["l1", "l2"] = "l1"
    """For Laplace noise. l1 is right. l2 is the error in the 2021 paper: too little noise."""
    after_end: Literal["cut", "keep"] = "cut"
    """Words decoded after the end token. cut: dropped. keep: released."""
    empty_text: str = ""
    """What is released instead of an empty rewrite."""
    padded: bool | None = None
    """Whether the encoder reads the padding of a short text. Null: as the model was trained."""
    _right_scale: ClassVar[str] = "laplace_sensitivity=l1"
    card: ClassVar[Card] = Card(
        name="adept",
        english=("model: the default model",),
        needs=("models",),
        summary="Noise on the clipped sentence vector of an LSTM auto-encoder, decoded greedily.",
        paper="Krishna, Gupta and Dupuy 2021 (EACL); as in trusthlt/dp-bart-private-rewriting e31c972",
        claim="epsilon and delta for the whole text",
        departures=(
            "sound: noise by the analytic Gaussian calibration, so that the claim holds at every epsilon",
            "published: the classical Gaussian formula; the claim's actual epsilon says what the noise gives",
            "published: always 19 tokens, words after the end token kept, UNK for an empty text",
            "published: padding is not read; the noise of every draw has its own key, not a public seed",
            "weights, sizes and tokenizer are ours or yours: none are published",
        ),
        version=2,
        not_leaks=(
            ("noise", "too little noise rather than none: `arithmetic` gives the actual epsilon"),
            ("max_tokens", "one public number or another"),
            ("after_end", "comes after the noise"),
            ("empty_text", "comes after the noise"),
            ("padded", "the encoder comes before the noise, which is scaled for any two vectors"),
        ),
        slope=(100, 400, 1600),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {
            "noise": "analytic_gaussian", "max_tokens": 20, "after_end": "cut", "empty_text": "",
            "padded": None,
        },
        "published": {
            "noise": "gaussian", "max_tokens": 19, "after_end": "keep", "empty_text": "UNK", "padded": False,
        },
    }  # fmt: skip

    def fingerprint(self) -> Mapping[str, str]:
        """Return checksums of the weights and of the tokenizer, and the number format."""
        tokenizer = self._load_checkpoint().tokenizer.backend_tokenizer.to_str()
        return {**super().fingerprint(), "tokenizer": hashlib.sha256(tokenizer.encode()).hexdigest()[:16]}

    def _compute_excess(self) -> float:
        wrong = self.noise == "laplace" and self.laplace_sensitivity == "l2"
        return math.sqrt(self._count_components()) if wrong else 1.0

    def _count_components(self) -> int:
        return 2 * int(self._load_checkpoint().model.config.hidden)

    def _run_encoder(self, texts: Sequence[str]) -> Tensor:
        return run_encoder(self._load_checkpoint(), self._read_tokens(texts))

    def _read_text(self, text: str) -> Sequence[int]:
        checkpoint = self._load_checkpoint()
        padding = checkpoint.tokenizer.pad_token_id
        return [token for token in self._read_tokens([text])[0] if token != padding]

    def _read_tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        return read_tokens(self._load_checkpoint(), texts, self.window, self.padded)

    def _run_decoder(self, latents: Tensor, texts: Sequence[str]) -> list[tuple[int, ...]]:  # noqa: ARG002
        checkpoint = self._load_checkpoint()
        end = checkpoint.tokenizer.eos_token_id
        outputs = []
        for tokens in greedy_decode(checkpoint, latents, self.max_tokens).tolist():
            cut = end in tokens and self.after_end == "cut"
            outputs.append(tuple(tokens[: tokens.index(end) + 1] if cut else tokens))
        return outputs

    def _write(self, decoded: str) -> str:
        return super()._write(decoded) or self.empty_text

    def _load_checkpoint(self) -> Checkpoint:
        checkpoint = load_adept(self.model, self.device, self.dtype)
        config = checkpoint.model.config
        if self.window > config.window:
            raise ModelError(
                f"'adept': window is {self.window}, but '{self.model}' was trained on {config.window} "
                f"tokens; set window to {config.window} or less, or name another model."
            )
        if self.padded not in (None, config.padded) and not (config.padded and config.unpadded):
            trained = "with padding" if config.padded else "without padding"
            raise ModelError(
                f"'adept': padded is {self.padded}, but '{self.model}' was trained {trained} only; set "
                f"padded to {config.padded}, or name a model that reads texts either way, such as zoo:adept."
            )
        return checkpoint
