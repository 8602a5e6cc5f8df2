"""Pieces of model work that can travel.

A chunk names its plug-in by a reference and carries everything else that the work needs, so that
it can run in this process, in another one or on another machine with the same result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tedaudit.batches import Draws, Observations, OwnRewrites
from tedaudit.nominal import NO_EPSILON, Nominal
from tedaudit.registry import Reference
from tedaudit.types import Draw, Observation


@dataclass(frozen=True)
class RewriteChunk:
    """Draws for one mechanism: by text, so that it can do the noise-free work once, or shuffled.

    `repeats` says that all of it has been done before, and is done again to be compared; `own` that it is
    done for an adversary by code that must be told so (`CallsUserCode`).
    """

    plugin: Reference
    draws: Draws
    repeats: bool = False
    own: bool = False

    @property
    def references(self) -> tuple[Reference, ...]:
        """The plug-ins that it needs."""
        return (self.plugin,)

    def __len__(self) -> int:
        return len(self.draws)

    def batch(self, start: int, stop: int) -> Sequence[Draw]:
        """Return what the mechanism is given of a run of rows."""
        return self.draws[start:stop]


@dataclass(frozen=True)
class GuessChunk:
    """Outputs with their candidates, for one attack.

    `mechanism` and `epsilon` say what made the outputs, for attacks that use it; `practice` holds texts
    for those that try it themselves, and `own` rewrites of the candidates for those that ask for them.
    """

    plugin: Reference
    observations: Observations
    mechanism: Reference | None = None
    epsilon: Nominal = NO_EPSILON
    practice: Sequence[str] = ()
    own: OwnRewrites | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        """The plug-ins that it needs."""
        return (self.plugin,) if self.mechanism is None else (self.plugin, self.mechanism)

    def __len__(self) -> int:
        return len(self.observations)

    def batch(self, start: int, stop: int) -> Sequence[Observation]:
        """Return what the attack sees of a run of rows."""
        return self.observations[start:stop]


Chunk = RewriteChunk | GuessChunk
