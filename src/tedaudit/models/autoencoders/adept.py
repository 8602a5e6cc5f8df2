"""The LSTM auto-encoder of ADePT, and its folder: config.json, weights and a tokenizer.

The encoder's last hidden and cell states, concatenated, are the latent; the decoder starts from it. Sizes
follow Krishna et al. 2021 and the release of Igamberdiev and Habernal 2023. Weights are in
model.safetensors, or as 8-bit integers in model.int8.safetensors.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError, join_names
from tedaudit.models.autoencoders.bart import iterate_batches
from tedaudit.models.loading import (
    WEIGHTS,
    Checkpoint,
    choose_device,
    choose_dtype,
    explain_failure,
    load_quantised,
)
from tedaudit.models.missing import refuse_missing
from tedaudit.models.places import resolve
from tedaudit.models.sampling.noise import Tensor
from tedaudit.plugins.extras import require
from tedaudit.text.characters import replace_surrogates

_ROWS = {"cpu": 64, "cuda": 2048}


@dataclass(frozen=True, slots=True)
class AdeptConfig:
    """The sizes of a model. `tied` reuses the embeddings for output.

    `padded` models read a full window; one that is `unpadded` as well reads a text alone as well as that.
    """

    vocabulary: int = 20_000
    embedding: int = 300
    hidden: int = 512
    window: int = 20
    tied: bool = False
    padded: bool = True
    unpadded: bool = False


class AdeptModel:
    """The layers as one torch module, and what they compute; recipes train `module`."""

    def __init__(self, config: AdeptConfig) -> None:
        from torch import nn

        self.config = config
        parts = {
            "embedding": nn.Embedding(config.vocabulary, config.embedding),
            "encoder": nn.LSTM(config.embedding, config.hidden, batch_first=True),
            "decoder": nn.LSTM(config.embedding, config.hidden, batch_first=True),
            "output": nn.Linear(config.hidden, config.embedding if config.tied else config.vocabulary),
        }
        self.module = nn.ModuleDict(parts)

    @property
    def dtype(self) -> Any:
        """The number format of the weights."""
        return self.module["embedding"].weight.dtype

    def parameters(self) -> Iterator[Any]:
        """Return the weights."""
        weights: Iterator[Any] = self.module.parameters()
        return weights

    def state_dict(self) -> dict[str, Any]:
        """Return the weights by name."""
        return dict(self.module.state_dict())

    def encode(self, tokens: Any, lengths: Any = None) -> Any:
        """Return the latents (rows, twice hidden) of token ids (rows, positions).

        Every position is read, or only as many of each row as the lengths say.
        """
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence

        read = self.module["embedding"](tokens)
        if lengths is not None:
            read = pack_padded_sequence(read, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, cell) = self.module["encoder"](read)
        return torch.cat([hidden[0], cell[0]], dim=1)

    def start(self, latents: Any) -> tuple[Any, Any]:
        """Return the decoder's initial state."""
        hidden, cell = latents[None].chunk(2, dim=2)
        return hidden.contiguous(), cell.contiguous()

    def step(self, tokens: Any, state: tuple[Any, Any]) -> tuple[Any, tuple[Any, Any]]:
        """Read tokens (rows, positions) and return the logits after each one, and the new state."""
        from torch.nn import functional

        out, state = self.module["decoder"](self.module["embedding"](tokens), state)
        logits = self.module["output"](out)
        if self.config.tied:
            logits = functional.linear(logits, self.module["embedding"].weight)
        return logits, state


def save_adept(folder: str | Path, model: AdeptModel, tokenizer: Any) -> None:
    """Save a model; the tokenizer must have its padding, start, end and unknown tokens set."""
    from safetensors.torch import save_file

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    (target / "config.json").write_text(json.dumps(asdict(model.config), indent=2) + "\n", encoding="utf-8")
    weights = {name: value.detach().cpu().contiguous() for name, value in model.state_dict().items()}
    save_file(weights, target / "model.safetensors")
    tokenizer.save_pretrained(str(target))


@lru_cache(maxsize=2)
def load_adept(name: str, device: str = "auto", dtype: str = "float32") -> Checkpoint:
    """Return a model and its tokenizer from a folder; the most recent ones stay loaded."""
    require(f"'{name}'", "torch", "transformers", "safetensors")
    import torch

    folder = Path(resolve(name))
    if not (folder / "config.json").is_file():
        raise ModelError(
            f"'{name}' is not a folder with an ADePT model (config.json, model.safetensors, tokenizer.json). "
            "The hub has none, because no weights were published: use zoo:adept (pip install tedaudit-zoo), "
            "or train a model and save it with tedaudit.models.autoencoders.adept.save_adept."
        )
    target = choose_device(device)
    with explain_failure(name):
        from safetensors.torch import load_file
        from transformers import PreTrainedTokenizerFast

        config = _read_config(folder / "config.json")
        with torch.device("meta"):  # the weights are read from the file, so skip the random initialisation
            model = AdeptModel(config)
        integers = folder / WEIGHTS
        weights = load_quantised(integers) if integers.is_file() else load_file(folder / "model.safetensors")
        refuse_missing(name, model.state_dict().keys() - weights.keys(), "an ADePT model")
        model.module.load_state_dict(weights, assign=True)
        tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
    _check_tokenizer(name, tokenizer, config)
    model.module.eval().requires_grad_(requires_grad=False)
    model.module.to(target, choose_dtype(dtype, target))
    return Checkpoint(name, model, tokenizer)


def read_tokens(
    checkpoint: Checkpoint, texts: Sequence[str], window: int, padded: bool | None = None
) -> list[tuple[int, ...]]:
    """Return start, as many tokens of each text as fit, end, and padding; by default as in training."""
    tokenizer = checkpoint.tokenizer
    if padded is None:
        padded = checkpoint.model.config.padded
    plain = list(map(replace_surrogates, texts))
    sequences = []
    for ids in tokenizer(plain, add_special_tokens=False)["input_ids"]:
        tokens = [tokenizer.bos_token_id, *ids[: window - 2], tokenizer.eos_token_id]
        padding = window - len(tokens) if padded else 0
        sequences.append(tuple(tokens + [tokenizer.pad_token_id] * padding))
    return sequences


def encode(checkpoint: Checkpoint, texts: Sequence[tuple[int, ...]]) -> npt.NDArray[np.float32]:
    """Return one latent per sequence of tokens; sequences of the same length run together."""
    return np.asarray(run_encoder(checkpoint, texts).cpu().numpy(), dtype=np.float32)


def run_encoder(checkpoint: Checkpoint, texts: Sequence[tuple[int, ...]]) -> Tensor:
    """Return the latents of `encode` where the model is."""
    import torch

    model, device = checkpoint.model, checkpoint.device
    out = torch.zeros((len(texts), 2 * model.config.hidden), device=device)
    for length in sorted({len(tokens) for tokens in texts}):
        members = np.array([i for i, tokens in enumerate(texts) if len(tokens) == length])
        for rows, count in iterate_batches(checkpoint, len(members), _ROWS):
            with torch.inference_mode():
                ids = torch.tensor([texts[i] for i in members[rows]], device=device)
                out[members[rows[:count]]] = model.encode(ids)[:count].float()
    return out


def greedy_decode(
    checkpoint: Checkpoint, latents: npt.NDArray[np.float32] | Tensor, length: int
) -> npt.NDArray[np.int64]:
    """Return the likeliest token at each of `length` steps, never stopping early, as (rows, steps).

    Latents may lie where the model is.
    """
    import torch

    model, device = checkpoint.model, checkpoint.device
    out = np.zeros((len(latents), length), dtype=np.int64)
    given = torch.as_tensor(latents)
    for rows, count in iterate_batches(checkpoint, len(latents), _ROWS):
        with torch.inference_mode():
            state = model.start(given[rows].to(device, model.dtype))
            tokens = [torch.full((len(rows), 1), checkpoint.tokenizer.bos_token_id, device=device)]
            for _ in range(length):
                logits, state = model.step(tokens[-1], state)
                tokens.append(logits[:, -1].argmax(dim=1, keepdim=True))
            if length:
                out[rows[:count]] = torch.cat(tokens[1:], 1)[:count].cpu().numpy()
    return out


def _read_config(path: Path) -> AdeptConfig:
    values = json.loads(path.read_text(encoding="utf-8"))
    try:
        return AdeptConfig(**values)
    except TypeError as error:
        raise ValueError(f"{path.name} does not describe an ADePT model ({error}).") from error


def _check_tokenizer(name: str, tokenizer: Any, config: AdeptConfig) -> None:
    special = {part: getattr(tokenizer, f"{part}_token_id") for part in ("pad", "bos", "eos")}
    missing = [part for part, token in special.items() if token is None]
    if missing or len(tokenizer) > config.vocabulary:
        raise ModelError(
            f"Model '{name}': its tokenizer has {len(tokenizer):,} tokens and lacks these special tokens: "
            f"{join_names(missing)}. The model needs pad, bos and eos, and has room for "
            f"{config.vocabulary:,} "
            "tokens. Save it again with the tokenizer that it was trained with."
        )
