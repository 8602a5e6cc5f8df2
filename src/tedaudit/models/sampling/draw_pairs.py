"""Draws that share a row of logits and an epsilon share one distribution, which is computed once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.models.loading import send
from tedaudit.plugins.values import Floats

Tensor = Any  # torch is imported where it is used
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class DrawPairs:
    """Distinct pairs of row and epsilon, in order of rows, and the pair of every draw.

    `host` is the pair of every draw once more, if it is known without asking the device: then nothing here
    waits for the device.
    """

    rows: Tensor
    epsilons: Tensor
    of: Tensor
    host: Integers | None = None

    @classmethod
    def find(cls, rows: Tensor, epsilons: Tensor) -> "DrawPairs":
        """Return the pairs of tensors that lie on the device."""
        import torch

        levels, level = torch.unique(epsilons, return_inverse=True)
        pairs, pair_of = torch.unique(rows * len(levels) + level, return_inverse=True)
        return cls(pairs // len(levels), levels[pairs % len(levels)], pair_of)

    @classmethod
    def send(cls, rows: Integers, epsilons: Floats, count: int, device: Any) -> "DrawPairs":
        """Return the pairs of arrays with rows below `count`, on a device."""
        levels, level = np.unique(epsilons, return_inverse=True)
        pair = rows * len(levels) + level
        is_used = np.bincount(pair, minlength=count * len(levels)) > 0
        used = np.flatnonzero(is_used)
        host = (np.cumsum(is_used) - 1)[pair]
        own, epsilon = used // max(1, len(levels)), levels[used % max(1, len(levels))]
        return cls(rows=send(own, device), epsilons=send(epsilon, device), of=send(host, device), host=host)

    def __len__(self) -> int:
        return len(self.rows)

    def cut(self, step: int) -> Iterator[tuple[slice, Tensor]]:
        """Yield so many pairs at a time, and the numbers of their draws; None if those are all of them."""
        import torch

        if len(self) <= step:
            yield slice(0, len(self)), None
            return
        starts = np.arange(0, len(self) + step, step)
        if self.host is None:
            order = torch.argsort(self.of, stable=True)
            ends = torch.searchsorted(self.of[order], torch.from_numpy(starts).to(order.device)).tolist()
        else:
            by_pair = np.argsort(self.host, kind="stable")
            ends = np.searchsorted(self.host[by_pair], starts).tolist()
            order = send(by_pair, self.of.device)
        for number, start in enumerate(starts[:-1].tolist()):
            yield slice(start, min(start + step, len(self))), order[ends[number] : ends[number + 1]]
