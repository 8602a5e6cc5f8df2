"""All planted flaws: first those of public releases, by their number, then the others."""

from planted import draws, latents, states, words
from planted.flaw import Flaw

_RELEASED = (
    *words.RELEASED, *draws.RELEASED, *latents.RELEASED, *draws.SEEDS_RELEASED,
)  # fmt: skip
FLAWS: tuple[Flaw, ...] = (
    *sorted(_RELEASED, key=lambda flaw: int(flaw.number)),
    *states.FIXED_FUNCTIONS, *latents.NOISES, *words.CHARACTERS, *words.SHAPES, *states.FAILURES,
    *states.STATES, *words.RARE, *words.WORD_CLASSES, *states.METADATA,
)  # fmt: skip
BY_NAME = {flaw.name: flaw for flaw in FLAWS}
