"""What DP-ST knows of some texts before the noise, and its draws from a public table."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tedaudit.batches import Draws
from tedaudit.inference.triples.drawing import ClusterChoice, Slots, draw_noise, draw_triples
from tedaudit.inference.triples.table import TripleTable
from tedaudit.types import Floats


@dataclass(frozen=True)
class TripleQueries:
    """The vectors of all triples of some texts, and which of them each text has in its slots."""

    vectors: Floats
    slots: Mapping[str, tuple[int, ...]]

    def draw(
        self, draws: Draws, table: TripleTable, choice: ClusterChoice, *, overflows: bool
    ) -> list[tuple[int, ...]]:
        """Return the triples drawn for each draw; the noise of a slot depends on the key and its position."""
        slots = [self.slots[text] for text in draws.texts]
        counts = np.array([len(rows) for rows in slots], dtype=np.int64)
        if not counts.any():
            return [()] * len(draws)
        noise = draw_noise(draws.keys, counts)
        epsilons = draws.epsilons / np.maximum(counts, 1)
        rows = np.concatenate([np.asarray(indices, dtype=np.int64) for indices in slots])
        asked = Slots(self.vectors, rows, np.repeat(epsilons, counts), noise)
        drawn = draw_triples(table, choice, asked, overflows=overflows)
        return [tuple(part.tolist()) for part in np.split(drawn, np.cumsum(counts)[:-1])]
