"""Weights for features of candidates, learnt from trials with a known secret: a softmax over candidates.

The scores are log-odds: their softmax is the probability that the model assigns to each candidate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.types import Floats

_PENALTY = 1e-2  # per trial, for features scaled by their own spread
_MOST_UNITS = 20.0  # differences are capped at this many spreads


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight per feature, and the spread by which each feature is scaled."""

    values: Floats
    spread: Floats

    def scores(self, features: Floats) -> Floats:
        """Return the score of each candidate (rows) from its features (columns)."""
        return np.asarray(_scale(features, self.spread) @ self.values)


def fit(trials: Sequence[Floats], secrets: Sequence[int]) -> Weights:
    """Return the weights that make the secrets most probable, with a small penalty on large weights."""
    from scipy.optimize import minimize

    width = trials[0].shape[1]
    differences = np.concatenate([rows - rows[secret] for rows, secret in zip(trials, secrets, strict=True)])
    sizes = np.abs(np.where(np.abs(differences) < 1e29, differences, 0.0))
    spread = np.array([_compute_spread(sizes[:, column]) for column in range(width)])
    units = np.zeros((len(trials), max(map(len, trials)), width))  # trials with fewer candidates are padded
    absent = np.full(units.shape[:2], -np.inf)
    for trial, rows in enumerate(trials):
        units[trial, : len(rows)], absent[trial, : len(rows)] = _scale(rows, spread), 0.0
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

    optimum: Any = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B")
    return Weights(np.asarray(optimum.x), spread)


def _compute_spread(sizes: Floats) -> float:
    positive = sizes[sizes > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _scale(features: Floats, spread: Floats) -> Floats:
    """Return features relative to the best candidate, in units of their spread, clipped at the cap."""
    relative = (features - features.max(axis=0, keepdims=True)) / spread
    return np.asarray(np.clip(relative, -_MOST_UNITS, 0.0))
