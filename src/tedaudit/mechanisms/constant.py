"""Release the same sentence for every input: the mechanism that no attack may break.

Claim: epsilon 0, which is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.plugins.batches import Rewrites
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Card, Claim, Draw


@dataclass(frozen=True)
class Constant:
    """A known answer: audits must find nothing."""

    output: str = "A message was sent."
    """The sentence that is released for every text."""
    card: ClassVar[Card] = Card(
        name="constant", summary="Releases one fixed sentence.", claim="epsilon 0 for the whole text"
    )

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - takes no epsilon
        """Promise perfect privacy."""
        return Claim(0.0, "document")

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:  # noqa: ARG002
        """Return the only setting."""
        return (NO_EPSILON,)

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the sentence once per draw."""
        return Rewrites.from_texts([self.output] * len(draws))
