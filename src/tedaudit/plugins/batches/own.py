"""Rewrites of candidates that were made for an adversary, with keys of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.batches.kinds import Rewrites
from tedaudit.plugins.batches.sequences import check_positions, same_texts
from tedaudit.plugins.values import Rewrite


@dataclass(frozen=True, slots=True, eq=False)
class OwnRewrites:
    """Own rewrites as columns: `text` is the position in the pool of the text that each is made of.

    A text may have several, or none. They hold what the attack that asked for them may see of a rewrite.
    """

    pool: Sequence[str]
    text: npt.NDArray[np.int32]
    rewrites: Rewrites

    def __post_init__(self) -> None:
        check_positions(self.text, self.pool)
        if len(self.text) != len(self.rewrites):
            raise ValueError(f"There are {len(self.rewrites)} rewrites of {len(self.text)} texts.")

    def __len__(self) -> int:
        return len(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnRewrites) and (
            self is other
            or (
                np.array_equal(self.text, other.text)
                and same_texts(self.pool, other.pool)
                and self.rewrites == other.rewrites
            )
        )

    def __hash__(self) -> int:
        return id(self)

    def by_text(self) -> dict[str, list[Rewrite]]:
        """Return the rewrites of every text that has one."""
        found: dict[str, list[Rewrite]] = {}
        for position, rewrite in zip(self.text.tolist(), self.rewrites, strict=True):
            found.setdefault(self.pool[position], []).append(rewrite)
        return found
