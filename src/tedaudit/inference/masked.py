"""Logits at one masked position per row, in batches of one padded length; the head runs there only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.inference.loading import Checkpoint

_TOKENS = 65_536  # per forward pass on a GPU


@dataclass(frozen=True, slots=True)
class MaskedRow:
    """What the model reads, and the position of the mask in it."""

    ids: tuple[int, ...]
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
    table = np.full((len(rows), width), padding, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row.ids)] = row.ids
        mask[number, : len(row.ids)] = 1
    ids = torch.from_numpy(table).to(checkpoint.device)
    attention = torch.from_numpy(mask).to(checkpoint.device)
    positions = torch.tensor([row.position for row in rows], device=checkpoint.device)
    numbers = torch.arange(len(rows), device=checkpoint.device)
    head = getattr(model, "lm_head", None) or getattr(model, "cls", None)
    if head is None:  # an architecture whose head has another name
        return model(input_ids=ids, attention_mask=attention).logits[numbers, positions].float()
    hidden = model.base_model(input_ids=ids, attention_mask=attention).last_hidden_state
    return head(hidden[numbers, positions]).float()
