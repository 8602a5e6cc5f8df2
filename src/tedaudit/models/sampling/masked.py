"""Logits at one masked position per row, in batches of one padded length; the head runs there only."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tedaudit.models.loading import PADDING, Checkpoint, send, settle_logits

_TOKENS = 262_144  # per forward pass on a GPU
_KNOWN = 64  # rows that are looked up at a time
_PADDING = 16  # the multiple that lengths are padded to on a GPU: fewer, larger batches
_READS_WHOLE = frozenset({"bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta"})


class MaskedRow(NamedTuple):
    """What the model reads, and the position of the mask in it."""

    ids: Sequence[int]
    position: int


def masked_logits(checkpoint: Checkpoint, rows: Sequence[MaskedRow]) -> Iterator[tuple[list[int], Any]]:
    """Yield row numbers and their logits (float32, on the model's device), batch by batch.

    On a CPU, where a row is slow and does not depend on others, rows that were run lately are not run again.
    """
    import torch

    if not checkpoint.fixed_rows:
        yield from _run(checkpoint, rows, range(len(rows)))
        return
    unknown = []
    for start in range(0, len(rows), _KNOWN):
        numbers = range(start, min(start + _KNOWN, len(rows)))
        found = {i: checkpoint.row_memory.find(*rows[i]) for i in numbers}
        known = [i for i, logits in found.items() if logits is not None]
        unknown += [i for i, logits in found.items() if logits is None]
        if known:
            yield known, torch.stack([found[i] for i in known])
    for batch, fresh in _run(checkpoint, rows, unknown):
        for number, logits in zip(batch, fresh, strict=True):
            checkpoint.row_memory.keep(*rows[number], logits)
        yield batch, fresh


def _run(
    checkpoint: Checkpoint, rows: Sequence[MaskedRow], numbers: Sequence[int]
) -> Iterator[tuple[list[int], Any]]:
    """Yield some rows' numbers and their logits, in batches of one padded length."""
    import torch

    step = PADDING if checkpoint.fixed_rows else _PADDING
    lengths = np.array([len(rows[i].ids) for i in numbers], dtype=np.int64)
    most = checkpoint.positions
    widths = -(-lengths // step) * step
    widths = widths if most is None else np.maximum(lengths, np.minimum(widths, most))
    for width in np.unique(widths):
        members = [numbers[i] for i in np.flatnonzero(widths == width).tolist()]
        size = checkpoint.fixed_rows or max(1, _TOKENS // int(width))
        for start in range(0, len(members), size):
            batch = members[start : start + size]
            missing = size - len(batch) if checkpoint.fixed_rows else 0
            with torch.inference_mode(), _plain_kernels(checkpoint.device):
                logits = _forward(checkpoint, [rows[i] for i in batch + batch[-1:] * missing], int(width))
            yield batch, logits[: len(batch)]


def _plain_kernels(device: Any) -> AbstractContextManager[Any]:
    """Leave out cuDNN's attention on a GPU: it prepares itself for every new shape, 40 ms each."""
    if device.type != "cuda":
        return nullcontext()
    from torch.nn.attention import SDPBackend, sdpa_kernel

    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    found: AbstractContextManager[Any] = sdpa_kernel(kernels)
    return found


def _make_mask(checkpoint: Checkpoint, is_read: npt.NDArray[np.bool_]) -> Any:
    """Return which tokens the model reads, as fused attention takes it if the library has chosen that.

    From a plain table the library would find out whether it hides anything, and wait for a GPU to tell. A
    model some of whose layers see a part of the text must make its own masks, so only known ones are given.
    """
    config = checkpoint.model.config
    if config.model_type in _READS_WHOLE and getattr(config, "_attn_implementation", "") == "sdpa":
        return send(is_read[:, None, None, :], checkpoint.device)
    return send(is_read.astype(np.int64), checkpoint.device)


def _forward(checkpoint: Checkpoint, rows: Sequence[MaskedRow], width: int) -> Any:
    import torch

    model, padding = checkpoint.model, checkpoint.tokenizer.pad_token_id or 0
    lengths = np.array([len(row.ids) for row in rows])
    is_read = np.arange(width) < lengths[:, None]
    table = np.full((len(rows), width), padding, dtype=np.int64)
    table[is_read] = np.fromiter(chain.from_iterable(row.ids for row in rows), np.int64, int(lengths.sum()))
    ids = send(table, checkpoint.device)
    attention = _make_mask(checkpoint, is_read)
    positions = send(np.array([row.position for row in rows], dtype=np.int64), checkpoint.device)
    numbers = torch.arange(len(rows), device=checkpoint.device)
    head = getattr(model, "lm_head", None) or getattr(model, "cls", None)
    if head is None:  # an architecture whose head has another name
        logits = model(input_ids=ids, attention_mask=attention).logits[numbers, positions]
        return settle_logits(logits.float())
    hidden = model.base_model(input_ids=ids, attention_mask=attention).last_hidden_state
    return settle_logits(head(hidden[numbers, positions]).float())
