"""Flaws of public releases in where their noise comes from."""

from random import Random

from tedaudit.trust.planted._parts import shift_digits
from tedaudit.trust.planted.flaw import Flaw

_WORKERS = 8


def fix_seed(text: str, seed: int) -> str:  # noqa: ARG001
    """Take all noise from a generator with a public seed."""
    return shift_digits(text, Random(42))


def fork_workers(text: str, seed: int) -> str:
    """Take noise from one of eight calls that every forked worker makes from the same state."""
    return shift_digits(text, Random(seed % _WORKERS))


def seed_freshly(text: str, seed: int) -> str:
    """Take noise from the seed of the call."""
    return shift_digits(text, Random(seed))


FLAWS = (
    Flaw("fixed-seed", "no noise", "the seed is fixed and public: the noise can be computed again",
         lambda: fix_seed, lambda: seed_freshly, "14"),
    Flaw("forked-workers", "no noise",
         "workers are forked from one state and replaced after eight calls: there are eight noises in all",
         lambda: fork_workers, lambda: seed_freshly, "15"),
)  # fmt: skip
