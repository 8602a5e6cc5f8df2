"""Which latents a table of rewrites keeps: they may be far larger than the texts."""

from collections.abc import Mapping
from dataclasses import dataclass

from tedaudit.batches import Ragged

KEPT_BYTES = 256 * 1024 * 1024  # latents of one table; if the rows of a plan would take more, none are kept
_VALUE = 4  # bytes of a number as a table holds it
_ROWS, _BYTES = "latents_not_kept", "latent_bytes"  # notes of a part that has left out its latents


@dataclass(frozen=True, slots=True)
class LeftOut:
    """How many latents are not in a table, and the bytes that they had."""

    rows: int = 0
    size: int = 0

    def __add__(self, other: "LeftOut") -> "LeftOut":
        return LeftOut(self.rows + other.rows, self.size + other.size)

    @property
    def notes(self) -> dict[str, str]:
        """What a part says of it; nothing if its mechanism showed no latent."""
        return {_ROWS: str(self.rows), _BYTES: str(self.size)} if self.rows else {}


def is_too_large(latents: Ragged, rows: int, limit: int) -> bool:
    """Return whether latents like these would take more bytes than a limit, for so many rows."""
    return latents.values.size * _VALUE * rows > limit * len(latents)


def measure_latents(latents: Ragged) -> LeftOut:
    """Return how many rows have a latent, and what they would take."""
    missing = 0 if latents.missing is None else int(latents.missing.sum())
    return LeftOut(len(latents) - missing, latents.values.size * _VALUE)


def read_left_out(notes: Mapping[str, str]) -> LeftOut:
    """Return what a part says that it has left out."""
    return LeftOut(int(notes.get(_ROWS, 0)), int(notes.get(_BYTES, 0)))
