"""Draws, rewrites, observations and guesses by the batch: columns inside, sequences of objects outside."""

from tedaudit.plugins.batches.columns import Ragged
from tedaudit.plugins.batches.guesses import Guesses, PairLosses, TextLikelihoods
from tedaudit.plugins.batches.kinds import Draws, Observations, Rewrites
from tedaudit.plugins.batches.own import OwnRewrites

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
