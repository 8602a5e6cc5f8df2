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
    units = np.zeros((len(trials), max(map(len, trials)), width))  # shorter line-ups are filled up
    absent = np.full(units.shape[:2], -np.inf)
    for row, one in enumerate(trials):
        units[row, : len(one)], absent[row, : len(one)] = _units(one, spread), 0.0
    chosen = units[np.arange(len(units)), list(secrets)].sum(axis=0)
    penalty = _PENALTY * len(units)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = units @ weights + absent
        top = scores.max(axis=1, keepdims=True)
        odds = np.exp(scores - top)
        whole = odds.sum(axis=1, keepdims=True)
        total = float((np.log(whole) + top).sum() - chosen @ weights)
        slope = np.einsum("nk,nkw->w", odds / whole, units) - chosen
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
