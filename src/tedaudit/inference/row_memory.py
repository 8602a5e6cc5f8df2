"""What a masked language model said last: rewriting and the likelihood attack read the same texts."""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

_CELLS = 1 << 25  # logits that are kept: 128 MiB of float32


class RowMemory:
    """Rows of logits by what the model read and where the mask was; the least recently used ones go first."""

    def __init__(self, cells: int = _CELLS) -> None:
        self._rows: OrderedDict[tuple[bytes, int], Any] = OrderedDict()
        self._cells = cells
        self._used = 0

    def find(self, ids: Sequence[int], position: int) -> Any | None:
        """Return the logits for a row if they are known."""
        key = _make_key(ids, position)
        if key in self._rows:
            self._rows.move_to_end(key)
        return self._rows.get(key)

    def keep(self, ids: Sequence[int], position: int, logits: Any) -> None:
        """Remember the logits of a row, in place of the oldest ones if there is no room."""
        key = _make_key(ids, position)
        if key in self._rows or logits.numel() > self._cells:
            return
        self._rows[key] = logits.clone()  # a part of a batch would keep the whole batch in memory
        self._used += logits.numel()
        while self._used > self._cells:
            _, oldest = self._rows.popitem(last=False)
            self._used -= oldest.numel()


def _make_key(ids: Sequence[int], position: int) -> tuple[bytes, int]:
    return np.asarray(ids, dtype=np.int32).tobytes(), position
