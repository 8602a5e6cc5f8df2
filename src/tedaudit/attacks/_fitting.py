"""Weights for features of candidates, learnt from trials whose secret is known: a softmax over candidates.

The scores are log-odds: their softmax is the probability that the model gives to each candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.types import Floats

_PENALTY = 1e-2  # per trial, on weights of features in units of their own spread
_MOST_UNITS = 20.0  # a difference of more spreads than this says no more


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight per feature, and the spread that each feature is measured in."""

    values: Floats
    spread: Floats

    def scores(self, features: Floats) -> Floats:
        """Return the score of each candidate (rows) from its features (columns)."""
        return np.asarray(_units(features, self.spread) @ self.values)


def fit(trials: Sequence[Floats], secrets: Sequence[int]) -> Weights:
    """Return the weights that make the secrets most probable, slightly drawn towards zero."""
    from scipy.optimize import minimize

    width = trials[0].shape[1]
    differences = np.concatenate([one - one[secret] for one, secret in zip(trials, secrets, strict=True)])
    moved = np.abs(np.where(np.abs(differences) < 1e29, differences, 0.0))
    spread = np.array([_typical(moved[:, column]) for column in range(width)])
    units = [_units(one, spread) for one in trials]
    chosen = np.stack([one[secret] for one, secret in zip(units, secrets, strict=True)])

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, slope = 0.0, np.zeros(width)
        for one, own in zip(units, chosen, strict=True):
            scores = one @ weights
            top = scores.max()
            odds = np.exp(scores - top)
            total += float(np.log(odds.sum()) + top - own @ weights)
            slope += (odds / odds.sum()) @ one - own
        penalty = _PENALTY * len(units)
        return total + penalty * float(weights @ weights) / 2, slope + penalty * weights

    found: Any = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B")
    return Weights(np.asarray(found.x), spread)


def _typical(values: Floats) -> float:
    moved = values[values > 0]
    return float(np.median(moved)) if len(moved) else 1.0


def _units(features: Floats, spread: Floats) -> Floats:
    """Return features relative to the best candidate's, in units of their spread, cut where they run away."""
    relative = (features - features.max(axis=0, keepdims=True)) / spread
    return np.asarray(np.clip(relative, -_MOST_UNITS, 0.0))
