"""What is known of a planted flaw."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tedaudit.mechanisms.function import Function
from tedaudit.types import Claim

Kind = Literal[
    "kept words", "kept shape", "cut support", "wrong constant", "fixed function", "no noise",
    "raw characters", "length", "case", "order", "errors", "state", "rare leak", "word class", "metadata",
]  # fmt: skip
Rewriter = Callable[..., str | list[str]]
"""A function f(text, seed), f(text, seed, epsilon), or f(texts), which has noise of its own."""
CLAIM = Claim(0.5, "document")
"""What most of them promise: in reach of two thousand trials."""
TRIALS = 2_000
"""The trials at which a flaw should be found unless it says how many it needs."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """A mechanism that breaks its claim, and how.

    `build` returns the rewriter, a new one each time: some remember their calls. `repaired` returns the same
    without the flaw, of which nothing must be said. `number` is that in the list of flaws in public releases,
    if it is one of them. `needs` is the number of trials at which it is found, None if no sample shows it;
    `why` then says what does.
    """

    name: str
    kind: Kind
    wrong: str
    build: Callable[[], Rewriter]
    repaired: Callable[[], Rewriter] | None = None
    number: str = ""
    claim: Claim = CLAIM
    needs: int | None = TRIALS
    why: str = ""

    def mechanism(self) -> Function:
        """Return the flawed rewriter as a mechanism with its claim's unit and delta."""
        return self._wrap(self.build())

    def twin(self) -> Function | None:
        """Return the repaired rewriter as a mechanism, or None if there is none."""
        return None if self.repaired is None else self._wrap(self.repaired())

    def _wrap(self, rewriter: Rewriter) -> Function:
        return Function(rewriter, unit=self.claim.unit, delta=self.claim.delta)
