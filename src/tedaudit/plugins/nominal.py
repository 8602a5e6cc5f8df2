"""The nominal epsilon: the number that a mechanism is asked for, or none if it takes none."""

import math
from collections.abc import Iterable


class Nominal(float):
    """A nominal epsilon: a float that mechanisms compute with, which knows how it is written.

    A mechanism that takes no epsilon has `NO_EPSILON`, which is infinite and compares above every
    other; nobody else spells that out. A measured epsilon is called eps_emp and is never a `Nominal`.
    """

    __slots__ = ()

    @classmethod
    def of(cls, value: float | str | None) -> "Nominal":
        """Return the epsilon that a number, a name of a folder or a value of JSON stands for."""
        if value is None or value == _NONE_NAME:
            return NO_EPSILON
        return cls(value)

    @property
    def is_given(self) -> bool:
        """Whether there is an epsilon at all."""
        return not math.isinf(self)

    @property
    def name(self) -> str:
        """How folders and filters call it."""
        return f"{self:.12g}" if self.is_given else _NONE_NAME

    @property
    def label(self) -> str:
        """How tables show it."""
        return f"{self:g}" if self.is_given else _NONE_NAME

    @property
    def phrase(self) -> str:
        """How sentences name it; empty if the mechanism takes none."""
        return f"epsilon {self:g}" if self.is_given else ""

    @property
    def json(self) -> float | None:
        """How JSON holds it: null if the mechanism takes none."""
        return float(self) if self.is_given else None

    def covers(self, other: float) -> bool:
        """Return whether results at this epsilon also stand at another: those without one stand at all."""
        return self == other or not self.is_given


_NONE_NAME = "any"
NO_EPSILON = Nominal(math.inf)


def distinct_epsilons(epsilons: Iterable[float]) -> list[Nominal]:
    """Return the given ones in order, each once; `NO_EPSILON` alone if none of them is given."""
    given = sorted({Nominal(epsilon) for epsilon in epsilons if Nominal(epsilon).is_given})
    return given or [NO_EPSILON]
