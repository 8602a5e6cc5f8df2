"""Release the same sentence for every input: the mechanism that no attack may break.

Claim: epsilon 0, which is exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.types import Card, Claim, Draw, Rewrite


@dataclass(frozen=True)
class Constant:
    """A known answer: audits must find nothing."""

    output: str = "A message was sent."
    card: ClassVar[Card] = Card(
        name="constant", summary="Releases one fixed sentence.", claim="epsilon 0 for the whole text"
    )

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - takes no epsilon
        """Promise perfect privacy."""
        return Claim(0.0, "document")

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:  # noqa: ARG002
        """Return the only setting."""
        return (math.inf,)

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Return the sentence once per draw."""
        return [Rewrite(self.output)] * len(draws)
