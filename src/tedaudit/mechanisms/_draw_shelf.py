"""Where the noise of every draw and slot lies, so that a slot's draws are found without a loop over them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws, Ragged
from tedaudit.batches.columns import Positions, compute_offsets
from tedaudit.batches.sequences import number_texts
from tedaudit.inference.sampling import UNIFORMS, noise_on
from tedaudit.inference.transfer import send

Items = Any  # a tensor of items on the device


class DrawShelf:
    """A cell for every slot of every draw, one draw after the other, and the uniforms in it.

    Noise lies on the device, where it was made. What is drawn is put down as it comes and fetched at the end,
    so that nobody waits for the device meanwhile.
    """

    noise: Any  # a tensor (cells, 4)
    offsets: Positions  # where the cells of each draw begin

    def __init__(self, draws: Draws, words: Mapping[str, Sequence[Any]], device: Any) -> None:
        """Draw the noise; texts with equally many slots share one call."""
        import torch

        names, text = number_texts(draws.texts)
        slots = np.array([len(words[name]) for name in names], dtype=np.int64)
        self.offsets = compute_offsets(slots[text])
        lengths = np.unique(slots).tolist()
        if len(lengths) == 1:
            self.noise = noise_on(device, draws.keys, lengths[0]).reshape(-1, UNIFORMS)
        else:
            shape = int(self.offsets[-1]), UNIFORMS
            self.noise = torch.empty(shape, dtype=torch.float64, device=device)
            for length in lengths:
                members = np.flatnonzero(slots[text] == length)
                cells = self.offsets[members][:, None] + np.arange(length)
                self.noise[send(cells, device)] = noise_on(device, draws.keys[members], length)
        self._number = {name: number for number, name in enumerate(names)}
        self._order = np.argsort(text, kind="stable")  # draws by text
        self._ends = compute_offsets(np.bincount(text, minlength=len(names)))
        self._drawn: list[tuple[Positions, Items]] = []

    def find(self, places: Sequence[tuple[str, int]]) -> tuple[Positions, Positions, npt.NDArray[Any]]:
        """Return the draws of some places (text and slot), their cells, and how many each place has."""
        text = np.array([self._number[name] for name, _ in places], dtype=np.int64)
        slot = np.array([slot for _, slot in places], dtype=np.int64)
        counts = np.diff(self._ends)[text]
        begins = np.repeat(self._ends[text] - (np.cumsum(counts) - counts), counts)
        numbers = self._order[begins + np.arange(len(begins))]
        return numbers, self.offsets[numbers] + np.repeat(slot, counts), counts

    def put(self, cells: Positions, items: Items) -> None:
        """Keep what was drawn for some cells."""
        self._drawn.append((cells, items))

    def fetch(self, missing: int) -> Ragged:
        """Return the items of every draw; `missing` for cells of which none was drawn."""
        found = np.full(len(self.noise), missing, dtype=np.int64)
        for cells, items in self._drawn:
            found[cells] = items.cpu().numpy()
        return Ragged(found, self.offsets)
