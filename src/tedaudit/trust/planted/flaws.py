"""All planted flaws: first those of public releases, by their number, then the others."""

from tedaudit.errors import SpecError, did_you_mean
from tedaudit.trust.planted import draws, latents, states, words
from tedaudit.trust.planted.flaw import Flaw

_RELEASED = (
    *words.RELEASED, *draws.RELEASED, *latents.RELEASED, *draws.SEEDS_RELEASED,
)  # fmt: skip
FLAWS: tuple[Flaw, ...] = (
    *sorted(_RELEASED, key=lambda flaw: int(flaw.number)),
    *states.FIXED_FUNCTIONS, *latents.NOISES, *words.CHARACTERS, *words.SHAPES, *states.FAILURES,
    *states.STATES, *words.RARE, *words.WORD_CLASSES, *states.METADATA,
)  # fmt: skip


def find_flaw(name: str) -> Flaw:
    """Return a planted flaw by its name."""
    for flaw in FLAWS:
        if flaw.name == name:
            return flaw
    names = [flaw.name for flaw in FLAWS]
    raise SpecError(f"There is no planted flaw '{name}'.{did_you_mean(name, names)}")
