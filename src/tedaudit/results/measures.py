"""What is told beside a bound: how strong the attack was, how much a rewrite resembles its source.

All of it is read from the tables of a run; no model is loaded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.estimators.likelihood_check import (
    LIKELIHOOD,
    SCORED,
    TEXT_LIKELIHOOD,
    check_guesses,
    check_text_guesses,
)
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Array, Plan
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.rewrites import RewriteTable
from tedaudit.text.plain_data import Count

_PAIR = 2  # candidates, of which being right says all
_CEILING = 0.999  # success from which on trials can tell no more
_COSINES = ("cosine", "word cosine")  # scores that say how alike two texts are, the better one first


@dataclass(frozen=True, slots=True)
class Shares:
    """What a mechanism released at one epsilon, over all its rewrites: shares of copies and empty texts."""

    copied: float
    empty: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What belongs to one finding beside its bound; None if a run does not tell."""

    attainable: float | None = None
    """The success that no attack can be expected to exceed on these trials."""
    cosine: float | None = None
    """Mean cosine of rewrite and source."""
    copied: float | None = None
    """Share of rewrites that are the source itself."""
    empty: float | None = None
    """Share of rewrites without a text."""
    first: float | None = None
    """Share of answers that name the candidate shown first."""
    own_rewrites: Count = 0
    """Rewrites that the attack made for itself."""
    median_rank: float | None = None
    """With more than two candidates: the median place of the source by score, of equals the middle one."""

    def strength(self, success: float, k: int) -> float | None:
        """Return which share of the attainable advantage over chance an attack took."""
        if self.attainable is None or self.attainable <= 1 / k:
            return None
        return (success - 1 / k) / (self.attainable - 1 / k)

    def saturated(self, success: float) -> bool:
        """Return whether attack and optimum are both at the ceiling, so that nothing can be compared."""
        return self.attainable is not None and min(success, self.attainable) >= _CEILING


def mean_posterior(log_likelihoods: Array, k: int, usable: Array | None = None) -> float | None:
    """Return how probable the best candidate is on average, given its output and a uniform secret.

    No attack can be expected to be right more often on these trials. None if not all scores are kept.
    A row without a likelihood, such as a failed rewrite, may name its source: it counts as 1.
    """
    if log_likelihoods.ndim != 2 or log_likelihoods.shape[1] != k:
        return None
    scores = np.asarray(log_likelihoods, dtype=np.float64)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    best = 1 / odds.sum(axis=1)
    return float((best if usable is None else np.where(usable, best, 1.0)).mean())


def mean_cosine(table: GuessTable, plan: Plan, k: int) -> float | None:
    """Return the mean score of the source itself, for an attack whose score is a cosine."""
    columns = table.read(["scores", "usable"])
    scores, usable = np.asarray(columns["scores"]), columns["usable"]
    if scores.ndim != 2 or scores.shape[1] != k or not usable.any():
        return None
    own = scores[np.arange(len(scores)), plan.secret[: len(scores)]]
    return float(own[usable].mean())


def median_rank(table: GuessTable, plan: Plan, k: int) -> float | None:
    """Return the median place of the source among its candidates; a guess that is unusable leaves it open."""
    if k <= _PAIR:
        return None
    columns = table.read(["scores", "usable"])
    scores, usable = np.asarray(columns["scores"]), columns["usable"]
    if scores.ndim != 2 or scores.shape[1] != k:
        return None
    own = scores[np.arange(len(scores)), plan.secret[: len(scores)]][:, None]
    places = (scores > own).sum(axis=1) + ((scores == own).sum(axis=1) + 1) / 2
    return float(np.median(np.where(usable, places, (k + 1) / 2))) if len(scores) else None


def first_place(table: GuessTable) -> float | None:
    """Return how often an attack that reads candidates in an order named the first; None for others."""
    places = table.read(["place"])["place"]
    answered = places[places >= 0]
    return float((answered == 0).mean()) if len(answered) else None


def released_shares(run: RunDirectory) -> Iterator[tuple[tuple[str, Nominal], Shares]]:
    """Yield, by mechanism and epsilon, what was released: from the counts that the tables carry."""
    for label, epsilon, folder in run.rewrite_folders():
        table = RewriteTable(folder, folder.info().key)
        counts = table.count_released()
        if counts.rewrites:
            yield (label, epsilon), Shares(counts.copied / counts.rewrites, counts.empty / counts.rewrites)


def attack_measures(table: GuessTable, score: str, plan: Plan, k: int) -> dict[str, Any]:
    """Return what a table of guesses tells beside its counts, by what its scores are."""
    told: dict[str, Any] = {"median_rank": median_rank(table, plan, k)}
    if score == LIKELIHOOD:
        columns = table.read(SCORED)
        attainable = mean_posterior(columns["scores"], k, columns["usable"])
        return told | {"attainable": attainable, "calibration": check_guesses(columns, plan.secret, k)}
    if score == TEXT_LIKELIHOOD:
        return told | {"calibration": check_text_guesses(table.read(SCORED), table.read_ends(), plan.secret)}
    if score in _COSINES:
        return told | {score: mean_cosine(table, plan, k)}
    return told | {"first": first_place(table)} if score == "ordered answers" else told


def best_cosine(measured: Mapping[str, Any]) -> float | None:
    """Return the mean cosine of rewrite and source by the best attack that has one."""
    cosines = (measured.get(score) for score in _COSINES)
    return next((cosine for cosine in cosines if cosine is not None), None)
