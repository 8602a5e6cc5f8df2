"""All planted flaws: first those of public releases, by their number, then the others."""

from tedaudit.errors import SpecError, did_you_mean
from tedaudit.trust.planted import (
    characters,
    draws_released,
    failures,
    fixed_functions,
    latents_released,
    metadata,
    noises,
    rare,
    seeds_released,
    shapes,
    states,
    word_classes,
    words_released,
)
from tedaudit.trust.planted.flaw import Flaw

_RELEASED = (
    *words_released.FLAWS, *draws_released.FLAWS, *latents_released.FLAWS, *seeds_released.FLAWS,
)  # fmt: skip
FLAWS: tuple[Flaw, ...] = (
    *sorted(_RELEASED, key=lambda flaw: int(flaw.number)),
    *fixed_functions.FLAWS, *noises.FLAWS, *characters.FLAWS, *shapes.FLAWS, *failures.FLAWS, *states.FLAWS,
    *rare.FLAWS, *word_classes.FLAWS, *metadata.FLAWS,
)  # fmt: skip


def find_flaw(name: str) -> Flaw:
    """Return a planted flaw by its name."""
    for flaw in FLAWS:
        if flaw.name == name:
            return flaw
    names = [flaw.name for flaw in FLAWS]
    raise SpecError(f"There is no planted flaw '{name}'.{did_you_mean(name, names)}")
