"""Release the text unchanged: the mechanism that every attack must break.

Claim: none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.plugins.batches import Draws, Rewrites
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import Card, Claim, Draw


@dataclass(frozen=True)
class Identity:
    """A known answer: audits must reach their ceiling."""

    card: ClassVar[Card] = Card(name="identity", summary="Releases the text unchanged.", claim="none")

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - takes no epsilon
        """Promise nothing."""
        return None

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:  # noqa: ARG002
        """Return the only setting."""
        return (NO_EPSILON,)

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the texts unchanged."""
        return Rewrites.from_texts(Draws.of(draws).texts)
