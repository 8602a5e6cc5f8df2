"""Draws, rewrites, observations and guesses by the batch: columns inside, sequences of objects outside."""

from tedaudit.batches.columns import Ragged
from tedaudit.batches.guesses import Guesses, PairLosses, TextLikelihoods
from tedaudit.batches.kinds import Draws, Observations, Rewrites
from tedaudit.batches.own import OwnRewrites

__all__ = [
    "Draws",
    "Guesses",
    "Observations",
    "OwnRewrites",
    "PairLosses",
    "Ragged",
    "Rewrites",
    "TextLikelihoods",
]
