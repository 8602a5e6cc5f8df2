"""Rows of token ids put together on the device, with fixed shapes and nothing that waits for the host."""

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch

from common.text import Pair
from common.vocabulary import END, PAD, encoded

IGNORED = -100  # the label of a place that does not count


class Tables:
    """Tables with as many rows each, such as sources and targets, picked from together."""

    def __init__(self, place: torch.device, *tables: npt.NDArray[Any]) -> None:
        self._tables = [torch.from_numpy(table).to(place) for table in tables]
        self._place = place

    def pick(self, count: int) -> list[Any]:
        """Return the same rows, drawn by chance, of every table."""
        chosen = torch.randint(len(self._tables[0]), (count,), device=self._place)
        return [table[chosen].long() for table in self._tables]


def repeated(ids: Any, rows: int) -> Any:
    """Return rows that all hold the same ids, which lie on the device."""
    return ids.expand(rows, -1)


def ended(ids: Any) -> Any:
    """Return padded rows with an end token after the last one; a full row has been cut and has no end."""
    length = (ids != PAD).sum(dim=1, keepdim=True)
    longer = torch.cat([ids, torch.full_like(ids[:, :1], PAD)], dim=1)
    return longer.scatter(1, length, END)[:, :-1]


def squeezed(ids: Any, kept: Any) -> tuple[Any, Any]:
    """Return rows whose kept tokens have moved to the front, padded, and where each token has gone."""
    width = ids.shape[1]
    place = kept.cumsum(dim=1) - 1
    longer = torch.full_like(ids[:, :1], PAD).repeat(1, width + 1)
    return longer.scatter(1, torch.where(kept, place, width), ids)[:, :width], place


def labels_of(ids: Any) -> Any:
    """Return ids as labels: padding does not count."""
    return torch.where(ids == PAD, IGNORED, ids)


def pair_tables(
    tokenizer: Any, found: Sequence[Pair], widths: tuple[int, int], place: torch.device
) -> Tables:
    """Return the first and the second texts of pairs, each cut and padded to its width."""
    texts = ([pair[i] for pair in found] for i in (0, 1))
    first, second = (encoded(tokenizer, some, width) for some, width in zip(texts, widths, strict=True))
    return Tables(place, first, second)
