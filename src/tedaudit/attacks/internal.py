"""Guess the candidate whose latent is closest to the released, noisy one (internal embedding attack).

Paper:   TeDA, "internal embedding": cosine, for ADePT and DP-BART.
Departs: `l2` is ours; for Gaussian noise it is the most powerful test.

The adversary runs the mechanism's public encoder on the candidates: their latents after clipping
and before noise. It does not matter how the decoder then turns the noise into text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tedaudit.abilities import HasLatent
from tedaudit.batches import Guesses, Observations
from tedaudit.types import Array, Card, Floats, Guess, Observation

_ROWS = 64  # outputs compared with a whole pool at a time


@dataclass
class Internal:
    """Cosine, or squared distance, of latents; the latents of a pool are computed once."""

    distance: Literal["cosine", "l2"] = "cosine"
    card: ClassVar[Card] = Card(
        name="internal",
        summary="Nearest candidate by the mechanism's own latent: what leaks before decoding.",
        paper="TeDA: Beyond Theoretical Bounds (Li et al.), section 3.1",
        departures=("distance l2 is ours: likelihood-ratio optimal for Gaussian noise",),
        sees=("latent",),
        score="latent similarity",
    )
    _mechanism: Any = field(default=None, init=False, repr=False, compare=False)
    _known: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _table: Array = field(default_factory=lambda: np.zeros((0, 0)), init=False, repr=False, compare=False)

    def unfit(self, mechanism: Any) -> str:
        """Return why a mechanism cannot be attacked, or ""."""
        return (
            "" if isinstance(mechanism, HasLatent) else "it needs a mechanism with a latent, such as dp-bart."
        )

    def meet(self, mechanism: Any, epsilon: float) -> None:  # noqa: ARG002
        """Set the mechanism; a different one invalidates the known latents."""
        if mechanism is not self._mechanism:
            self._mechanism, self._known, self._table = mechanism, {}, np.zeros((0, 0))

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score each candidate by how close its latent is to the released one."""
        batch = Observations.of(seen)
        candidates = batch.positions()
        used = [batch.pool[i] for i in np.unique(candidates.values).tolist()]
        self._learn(list(dict.fromkeys(used)))
        row_of = np.array([self._known.get(text, 0) for text in batch.pool], dtype=np.int64)
        rows = [row_of[part] for part in np.split(candidates.values, candidates.offsets[1:-1])]
        latents = [batch.outputs.latents.row(i) for i in range(len(batch))]
        return Guesses.of([self._guess_source(*pair) for pair in zip(latents, rows, strict=True)])

    def _learn(self, texts: Sequence[str]) -> None:
        """Encode the texts that are new."""
        new = [text for text in texts if text not in self._known]
        if not new:
            return
        rows = self._normalise(np.asarray(self._mechanism.encode(new)))
        self._table = rows if not len(self._table) else np.concatenate([self._table, rows])
        self._known |= {text: len(self._known) + i for i, text in enumerate(new)}

    def _guess_source(self, latent: Array | None, rows: npt.NDArray[np.int64]) -> Guess:
        if latent is None:
            return Guess(np.zeros(len(rows)), usable=False)
        released = self._normalise(latent[None])[0].astype(np.float64)
        parts = [self._score(released, rows[i : i + _ROWS]) for i in range(0, len(rows), _ROWS)]
        return Guess(np.concatenate(parts))

    def _score(self, released: Floats, rows: npt.NDArray[np.int64]) -> Floats:
        latents = self._table[rows].astype(np.float64)
        if self.distance == "cosine":
            return np.asarray((latents * released).sum(axis=1))
        return np.asarray(-((latents - released) ** 2).sum(axis=1))

    def _normalise(self, latents: Array) -> Array:
        """Return the rows ready to compare: scaled to length 1 for the cosine."""
        if self.distance == "l2":
            return latents
        norms = np.linalg.norm(latents.astype(np.float64), axis=1, keepdims=True)
        return np.asarray(latents / np.where(norms > 0, norms, 1.0), dtype=np.float32)
