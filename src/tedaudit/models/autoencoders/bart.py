"""BART as an auto-encoder: plain or released checkpoints, encoder windows, beam decoding of any latent.

A release of DP-BART (Igamberdiev and Habernal 2023) is a torch file whose names have one more
`model.` prefix than the library's, and a tensor that lists the pruned encoder dimensions. Its output
projection was trained separately from the embeddings, so the two are not tied if they differ. A
folder of ours may list its pruned dimensions itself, in `pruned.safetensors`.
"""

import hashlib
import pickle
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.errors import ModelError
from tedaudit.models.autoencoders.beams import read_rules, search_beams
from tedaudit.models.loading import Checkpoint, load_checkpoint
from tedaudit.models.places import resolve
from tedaudit.models.sampling.noise import Tensor
from tedaudit.text.characters import replace_surrogates

PRUNED = "pruned.safetensors"
Rows = npt.NDArray[np.int64]
_SHARED = "model.shared.weight"
_TIED = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")
_WRAPPERS = ("model_state_dict", "state_dict")  # under which training scripts save the weights
_ROWS = {"cpu": 16, "cuda": 1024}


@dataclass(frozen=True, slots=True)
class Bart:
    """A checkpoint and the encoder dimensions that remain after pruning."""

    checkpoint: Checkpoint
    kept: Rows

    def kept_checksum(self) -> str:
        """Return a hash of the kept dimensions."""
        return hashlib.sha256(self.kept.astype("<i8").tobytes()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Windows:
    """Texts as the encoder reads them: token ids of equal width, and which of them are text."""

    ids: Any
    mask: Any


@lru_cache(maxsize=4)
def load_bart(
    name: str,
    weights: str = "",
    pruned: str = "",
    revision: str = "",
    device: str = "auto",
    dtype: str = "auto",
) -> Bart:
    """Return a BART model, with the weights and the pruned dimensions of a release if they are given.

    Without `pruned`, the dimensions listed in the model's own folder are pruned, unless other weights
    replace its own; "none" prunes nothing.
    """
    if weights:  # a separate copy, because its weights are replaced
        checkpoint = load_checkpoint.__wrapped__("seq2seq", name, revision, device, dtype)
        replace_weights(checkpoint.model, weights)
    else:
        checkpoint = load_checkpoint("seq2seq", name, revision, device, dtype)
    size = int(checkpoint.model.config.hidden_size)
    file = pruned or ("none" if weights else _find_pruned(name))
    dropped = np.zeros(0, dtype=np.int64) if file == "none" else read_pruned(file, size)
    return Bart(checkpoint, np.setdiff1d(np.arange(size), dropped))


def _find_pruned(name: str) -> str:
    """Return the file in which a folder lists its pruned dimensions, or "none"."""
    file = Path(resolve(name)) / PRUNED
    return str(file) if file.is_file() else "none"


def replace_weights(model: Any, path: str) -> None:
    """Load the weights of a release into a model of the same shape."""
    import torch

    state = _rename_weights(_load_tensors(path), set(model.state_dict()))
    if _SHARED in state:
        state = {**dict.fromkeys(_TIED, state[_SHARED]), **state}
    output = state.get("lm_head.weight")
    if output is not None and not torch.equal(output, state.get(_SHARED, output)):
        tied = model.lm_head.weight
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(tied), requires_grad=tied.requires_grad)
    try:
        missing, unexpected = model.load_state_dict(state, strict=False)
    except RuntimeError as error:
        reason = [line.strip() for line in str(error).splitlines()[1:2]] or [str(error)]
        raise ModelError(
            f"The weights in '{path}' do not fit the model: {reason[0]} Set `model` to the checkpoint that "
            "they were trained from, such as facebook/bart-base."
        ) from error
    if missing or unexpected:
        raise ModelError(
            f"The weights in '{path}' do not fit the model: {_list_names('missing', missing)}; "
            f"{_list_names('not of this model', unexpected)}. Set `model` to the checkpoint that they were "
            "trained from, such as facebook/bart-base."
        )


def read_pruned(path: str, size: int) -> Rows:
    """Return the pruned dimensions in a file: numbers, or one Boolean per dimension."""
    tensors = list(_load_tensors(path).values())
    if len(tensors) != 1:
        raise ModelError(f"'{path}' has {len(tensors)} tensors; it must have one, the pruned dimensions.")
    values = np.asarray(tensors[0])
    if values.dtype == np.bool_ and values.shape == (size,):
        values = np.flatnonzero(values)
    is_integer = values.ndim == 1 and np.issubdtype(values.dtype, np.integer)
    if not is_integer or not ((values >= 0) & (values < size)).all() or len(np.unique(values)) >= size:
        raise ModelError(
            f"'{path}' has {values.dtype} numbers of shape {values.shape}; it must list the pruned "
            f"dimensions of an encoder of {size}: numbers from 0 to {size - 1}, or {size} Booleans, with at "
            "least one dimension not pruned."
        )
    return np.unique(values).astype(np.int64)


def prune_order(model: Any) -> list[int]:
    """Return the encoder's dimensions from least to most used by the decoder.

    Usage is the sum of absolute weights in the key projection of the decoder's first cross-attention.
    """
    usage = model.model.decoder.layers[0].encoder_attn.k_proj.weight.detach().float().abs().sum(dim=0)
    return [int(i) for i in usage.argsort(stable=True)]


def cut_windows(checkpoint: Checkpoint, texts: Sequence[str], width: int) -> Windows:
    """Return texts truncated and padded to a width; an unpaired surrogate is read as a question mark."""
    import torch

    plain = list(map(replace_surrogates, texts))
    tokens = checkpoint.tokenizer(plain, truncation=True, max_length=width, padding="max_length")
    mask = torch.tensor(tokens["attention_mask"])
    mask[:, 0] = 1  # the encoder needs something to attend to even in a text without tokens
    return Windows(torch.tensor(tokens["input_ids"]), mask)


def encode(checkpoint: Checkpoint, read: Windows) -> npt.NDArray[np.float32]:
    """Return the encoder's output (texts, positions, dimensions)."""
    return np.asarray(run_encoder(checkpoint, read).cpu().numpy(), dtype=np.float32)


def run_encoder(checkpoint: Checkpoint, read: Windows) -> Tensor:
    """Return the encoder's output (texts, positions, dimensions) as float32, where the model is."""
    import torch

    device, parts = checkpoint.device, []
    with torch.inference_mode():
        for rows, count in iterate_batches(checkpoint, len(read.ids), _ROWS):
            out = checkpoint.model.get_encoder()(
                input_ids=read.ids[rows].to(device), attention_mask=read.mask[rows].to(device)
            )
            parts.append(out.last_hidden_state[:count].float())
        return torch.cat(parts)


def encode_whole(
    checkpoint: Checkpoint, texts: Sequence[str], limit: int
) -> Iterator[tuple[list[str], Tensor]]:
    """Yield texts of one length, cut at the limit, and the encoder's output for them, without padding."""
    windows = {text: cut_windows(checkpoint, [text], limit) for text in texts}
    counts = {text: int(window.mask.sum()) for text, window in windows.items()}
    for count in sorted(set(counts.values())):
        same = [text for text in texts if counts[text] == count]
        yield same, run_encoder(checkpoint, _stack([windows[text] for text in same], count))


def _stack(rows: Sequence[Windows], width: int) -> Windows:
    import torch

    return Windows(
        torch.cat([row.ids[:, :width] for row in rows]), torch.cat([row.mask[:, :width] for row in rows])
    )


def beam_decode(
    checkpoint: Checkpoint,
    hidden: npt.NDArray[np.float32] | Tensor,
    mask: Any,
    beams: int | None,
    length: int,
    *,
    few: bool = False,
) -> list[tuple[int, ...]]:
    """Return the best beam per row, without the start token, up to the end token if there is one.

    Latents may lie where the model is. Lengths count the start token, as the library does; other settings are
    the checkpoint's own, and so are beams and early stopping if no number is given. Where they are all known
    the search is ours, which has the library's answers; `few` suits it to a few latents.
    """
    import torch
    from transformers.modeling_outputs import BaseModelOutput

    rules = read_rules(checkpoint.model, beams, length)
    if rules is not None:
        return search_beams(checkpoint.model, rules, hidden, mask, few=few)
    device, dtype = checkpoint.device, checkpoint.model.dtype
    search: dict[str, Any] = {} if beams is None else {"num_beams": beams, "early_stopping": True}
    outputs: list[tuple[int, ...]] = []
    for rows, count in iterate_batches(checkpoint, len(hidden), _ROWS):
        encoded = BaseModelOutput(last_hidden_state=torch.as_tensor(hidden)[rows].to(device, dtype))
        with torch.inference_mode():
            tokens = checkpoint.model.generate(
                encoder_outputs=encoded, attention_mask=mask[rows].to(device), **search,
                max_length=length, do_sample=False, num_return_sequences=1,
            )  # fmt: skip
        outputs += [_trim(row, checkpoint.model.generation_config) for row in tokens[:count].tolist()]
    return outputs


def iterate_batches(
    checkpoint: Checkpoint, count: int, sizes: Mapping[str, int]
) -> Iterator[tuple[Rows, int]]:
    """Yield row numbers in batches of the device's size, and how many of them are not repeats.

    On a CPU the last row is repeated to fill the batch: passes of the same shape sum in the same order,
    so that no row depends on the rest of its batch.
    """
    device = checkpoint.device.type
    size = sizes.get(device, sizes["cpu"])
    for start in range(0, count, size):
        rows = np.arange(start, min(start + size, count))
        missing = size - len(rows) if device == "cpu" else 0
        yield np.concatenate([rows, np.repeat(rows[-1:], missing)]), len(rows)


def _trim(tokens: list[int], config: Any) -> tuple[int, ...]:
    """Return tokens without the start token and without the padding after the end token."""
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    rest = tokens[1:]
    stop = next((i + 1 for i, token in enumerate(rest) if token in ends), len(rest))
    return tuple(rest[:stop])


def _load_tensors(path: str) -> dict[str, Any]:
    """Return the tensors in a torch, safetensors or numpy file; no code in the file is run."""
    import torch

    file = Path(path).expanduser()
    with _explain_read(path):
        if path.endswith(".npy"):
            content: Any = torch.from_numpy(np.load(file))
        elif path.endswith(".safetensors"):
            from safetensors.torch import load_file

            content = load_file(file)
        else:
            content = torch.load(file, map_location="cpu", weights_only=True)
    for name in _WRAPPERS:
        content = content[name] if isinstance(content, Mapping) and name in content else content
    return dict(content) if isinstance(content, Mapping) else {"": content}


@contextmanager
def _explain_read(path: str) -> Iterator[None]:
    """Turn a failure to read a file of tensors into an error that says what the file must be."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ModelError(
            f"'{path}' could not be read: {reason.rstrip('.')}. It must be a torch file (.pt, .bin), "
            ".safetensors or .npy, and contain only tensors."
        ) from error


def _rename_weights(state: Mapping[str, Any], wanted: Set[str]) -> dict[str, Any]:
    """Strip the `model.` prefix that a release puts before every name, if the rest fits better."""
    bare = {name.removeprefix("model."): value for name, value in state.items()}
    return bare if len(wanted & bare.keys()) > len(wanted & state.keys()) else dict(state)


def _list_names(label: str, names: Sequence[str]) -> str:
    shown = ", ".join(sorted(names)[:3]) + (", ..." if len(names) > 3 else "")
    return f"{len(names)} {label}" + (f" ({shown})" if names else "")
