"""Logits at one masked position per row, in batches of one padded length; the head runs there only."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from tedaudit.inference.loading import Checkpoint
from tedaudit.inference.transfer import send

_TOKENS = 65_536  # per forward pass on a GPU


class MaskedRow(NamedTuple):
    """What the model reads, and the position of the mask in it."""

    ids: Sequence[int]
    position: int


def masked_logits(checkpoint: Checkpoint, rows: Sequence[MaskedRow]) -> Iterator[tuple[list[int], Any]]:
    """Yield row numbers and their logits (float32, on the model's device), batch by batch."""
    import torch

    step = min(16, checkpoint.padding_step)  # without a cache, larger batches gain little
    widths = np.array([-(-len(row.ids) // step) * step for row in rows], dtype=np.int64)
    for width in np.unique(widths):
        members = np.flatnonzero(widths == width).tolist()
        size = checkpoint.fixed_rows or max(1, _TOKENS // int(width))
        for start in range(0, len(members), size):
            batch = members[start : start + size]
            missing = size - len(batch) if checkpoint.fixed_rows else 0
            with torch.inference_mode():
                logits = _forward(checkpoint, [rows[i] for i in batch + batch[-1:] * missing], int(width))
            yield batch, logits[: len(batch)]


def _forward(checkpoint: Checkpoint, rows: Sequence[MaskedRow], width: int) -> Any:
    import torch

    model, padding = checkpoint.model, checkpoint.tokenizer.pad_token_id or 0
    lengths = np.array([len(row.ids) for row in rows])
    is_read = np.arange(width) < lengths[:, None]
    table = np.full((len(rows), width), padding, dtype=np.int64)
    table[is_read] = np.fromiter(chain.from_iterable(row.ids for row in rows), np.int64, int(lengths.sum()))
    ids, attention = send(table, checkpoint.device), send(is_read.astype(np.int64), checkpoint.device)
    positions = send(np.array([row.position for row in rows], dtype=np.int64), checkpoint.device)
    numbers = torch.arange(len(rows), device=checkpoint.device)
    head = getattr(model, "lm_head", None) or getattr(model, "cls", None)
    if head is None:  # an architecture whose head has another name
        return model(input_ids=ids, attention_mask=attention).logits[numbers, positions].float()
    hidden = model.base_model(input_ids=ids, attention_mask=attention).last_hidden_state
    return head(hidden[numbers, positions]).float()
