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

from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.protocols import HasLatent
from tedaudit.plugins.values import Array, Card, Floats, Guess, Observation

_ROWS = 64  # outputs compared with a whole pool at a time
_FARTHEST = -1e30  # the score of a latent of another length, which cannot be the source's


@dataclass
class Internal:
    """Cosine, or squared distance, of latents; the latents of a pool are computed once."""

    distance: Literal["cosine", "l2"] = "cosine"
    """How latents are compared. cosine: as in the paper. l2: best for Gaussian noise."""
    card: ClassVar[Card] = Card(
        name="internal",
        summary="Picks the candidate nearest to the mechanism's noisy latent: what leaks before decoding.",
        paper="TeDA: Beyond Theoretical Bounds (Li et al.), section 3.1",
        departures=("distance l2 is ours: likelihood-ratio optimal for Gaussian noise",),
        sees=("latent",),
        score="latent similarity",
        knows="its model and settings",
    )
    _mechanism: Any = field(default=None, init=False, repr=False, compare=False)
    _known: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _latents: list[Array] = field(default_factory=list, init=False, repr=False, compare=False)

    def unfit(self, mechanism: Any) -> str:
        """Return why a mechanism cannot be attacked, or ""."""
        return (
            "" if isinstance(mechanism, HasLatent) else "it needs a mechanism with a latent, such as dp-bart."
        )

    def meet(self, mechanism: Any, epsilon: float) -> None:  # noqa: ARG002
        """Set the mechanism; a different one invalidates the known latents."""
        if mechanism is not self._mechanism:
            self._mechanism, self._known, self._latents = mechanism, {}, []

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
        self._latents += [self._normalise(latent) for latent in self._mechanism.encode(new)]
        self._known |= {text: len(self._known) + i for i, text in enumerate(new)}

    def _guess_source(self, latent: Array | None, rows: npt.NDArray[np.int64]) -> Guess:
        if latent is None:
            return Guess(np.zeros(len(rows)), usable=False)
        released = self._normalise(latent).astype(np.float64)
        parts = [self._score(released, rows[i : i + _ROWS]) for i in range(0, len(rows), _ROWS)]
        return Guess(np.concatenate(parts))

    def _score(self, released: Floats, rows: npt.NDArray[np.int64]) -> Floats:
        """Return how close these latents are to the released one; one of another length is farthest."""
        scores = np.full(len(rows), _FARTHEST)
        same = [i for i, row in enumerate(rows.tolist()) if self._latents[row].shape == released.shape]
        if not same:
            return scores
        latents = np.stack([self._latents[rows[i]] for i in same]).astype(np.float64)
        if self.distance == "cosine":
            scores[same] = (latents * released).sum(axis=1)
        else:
            scores[same] = -((latents - released) ** 2).sum(axis=1)
        return scores

    def _normalise(self, latent: Array) -> Array:
        """Return a latent ready to compare: scaled to length 1 for the cosine."""
        if self.distance == "l2":
            return latent
        norm = float(np.linalg.norm(latent.astype(np.float64)))
        return np.asarray(latent / (norm or 1.0), dtype=np.float32)
