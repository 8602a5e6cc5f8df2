"""Where the noise of every draw and slot lies, so that a slot's draws are found without a loop over them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws
from tedaudit.batches.columns import Positions, compute_offsets
from tedaudit.batches.sequences import number_texts
from tedaudit.inference.sampling import UNIFORMS, noise_for
from tedaudit.types import Floats


class DrawShelf:
    """A cell for every slot of every draw, one draw after the other, and the uniforms in it."""

    noise: Floats  # (cells, 4)
    offsets: Positions  # where the cells of each draw begin

    def __init__(self, draws: Draws, words: Mapping[str, Sequence[Any]]) -> None:
        """Draw the noise; texts with equally many slots share one call."""
        names, text = number_texts(draws.texts)
        slots = np.array([len(words[name]) for name in names], dtype=np.int64)
        self.offsets = compute_offsets(slots[text])
        self.noise = np.empty((int(self.offsets[-1]), UNIFORMS))
        for length in np.unique(slots).tolist():
            members = np.flatnonzero(slots[text] == length)
            cells = self.offsets[members][:, None] + np.arange(length)
            self.noise[cells] = noise_for(draws.keys[members], length)
        self._number = {name: number for number, name in enumerate(names)}
        self._order = np.argsort(text, kind="stable")  # draws by text
        self._ends = compute_offsets(np.bincount(text, minlength=len(names)))

    def find(self, places: Sequence[tuple[str, int]]) -> tuple[Positions, Positions, npt.NDArray[Any]]:
        """Return the draws of some places (text and slot), their cells, and how many each place has."""
        text = np.array([self._number[name] for name, _ in places], dtype=np.int64)
        slot = np.array([slot for _, slot in places], dtype=np.int64)
        counts = np.diff(self._ends)[text]
        begins = np.repeat(self._ends[text] - (np.cumsum(counts) - counts), counts)
        numbers = self._order[begins + np.arange(len(begins))]
        return numbers, self.offsets[numbers] + np.repeat(slot, counts), counts
