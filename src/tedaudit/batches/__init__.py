"""Draws, rewrites, observations and guesses by the batch: columns inside, sequences of objects outside."""

from tedaudit.batches.columns import Ragged
from tedaudit.batches.kinds import Draws, Guesses, Observations, Rewrites

__all__ = ["Draws", "Guesses", "Observations", "Ragged", "Rewrites"]
