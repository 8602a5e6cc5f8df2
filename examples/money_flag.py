"""I have a mechanism: one noisy bit, whether a text mentions money. Run this file to audit it.

Claim: epsilon for the whole text; randomised response on one bit, so it holds for any two texts.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit import Card, Claim, Draw, Rewrite, audit, uniforms

SENTENCES = ("This message is not about money.", "This message is about money.")


@dataclass(frozen=True)
class MoneyFlag:
    """The fields of the dataclass are the whole configuration."""

    pattern: str = r"[$£€]\s?\d"
    """What counts as money: a regular expression."""
    card: ClassVar[Card] = Card(name="money-flag", summary="One noisy bit.", claim="epsilon for a text")

    def claim(self, epsilon: float) -> Claim:
        return Claim(epsilon, "document")

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Tell the truth with probability e^epsilon / (1 + e^epsilon)."""
        coins = uniforms([draw.key for draw in draws], 1)[:, 0]  # all noise comes from the draw's key
        return [self._one(draw, coin) for draw, coin in zip(draws, coins.tolist(), strict=True)]

    def _one(self, draw: Draw, coin: float) -> Rewrite:
        truth = bool(re.search(self.pattern, draw.text))
        return Rewrite(SENTENCES[truth == (coin < 1 / (1 + math.exp(-draw.epsilon)))])


if __name__ == "__main__":
    print(audit(MoneyFlag(), "demo", epsilon=1.0, trials=2000))
