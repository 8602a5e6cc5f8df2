"""What is told beside a bound: how strong the attack was, how much a rewrite resembles its source.

All of it is read from the tables of a run; no model is loaded.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.store.directory import RunDirectory, table_info
from tedaudit.store.tables import GuessTable, RewriteTable
from tedaudit.types import Array, Plan

_CEILING = 0.999  # success from which on trials can tell no more
SIMILARITIES = ("embedding", "lexical")  # attacks whose score is a cosine, the better one first


@dataclass(frozen=True, slots=True)
class Outputs:
    """What a mechanism released at one epsilon, over all its rewrites: shares of copies and of nothing."""

    copied: float
    empty: float


@dataclass(frozen=True, slots=True)
class Measures:
    """What belongs to one finding beside its bound; None where a run does not tell."""

    attainable: float | None = None  # the success that no attack can be expected to exceed on these trials
    cosine: float | None = None  # of rewrite and source, on average
    copied: float | None = None  # share of rewrites that are the source itself
    empty: float | None = None  # share of rewrites without a text
    first: float | None = None  # share of answers that name the candidate shown first
    own_rewrites: int = 0  # that the attack made for itself

    def strength(self, success: float, k: int) -> float | None:
        """Return which share of the attainable advantage over chance an attack took."""
        if self.attainable is None or self.attainable <= 1 / k:
            return None
        return (success - 1 / k) / (self.attainable - 1 / k)

    def saturated(self, success: float) -> bool:
        """Return whether attack and optimum are both at the ceiling, so that nothing can be compared."""
        return self.attainable is not None and min(success, self.attainable) >= _CEILING


def mean_posterior(log_likelihoods: Array, k: int) -> float | None:
    """Return how probable the best candidate is on average, given its output and a uniform secret.

    No attack can be expected to be right more often on these trials. None where not all scores are kept.
    """
    if log_likelihoods.ndim != 2 or log_likelihoods.shape[1] != k:
        return None
    scores = np.asarray(log_likelihoods, dtype=np.float64)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return float((1 / odds.sum(axis=1)).mean())


def mean_cosine(table: GuessTable, plan: Plan, k: int) -> float | None:
    """Return the mean score of the source itself, for an attack whose score is a cosine."""
    columns = table.read(["scores", "usable"])
    scores, usable = np.asarray(columns["scores"]), columns["usable"]
    if scores.ndim != 2 or scores.shape[1] != k or not usable.any():
        return None
    own = scores[np.arange(len(scores)), plan.secret[: len(scores)]]
    return float(own[usable].mean())


def first_place(table: GuessTable) -> float | None:
    """Return how often an attack that reads candidates in an order named the first; None for others."""
    places = table.read(["place"])["place"]
    answered = places[places >= 0]
    return float((answered == 0).mean()) if len(answered) else None


def released(run: RunDirectory) -> Iterator[tuple[tuple[str, str], Outputs]]:
    """Yield, by label and name of the epsilon, what was released: read once, part by part."""
    texts = np.asarray(run.corpus().texts, dtype=object)
    for folder in sorted((run.root / "rewrites").glob("*/*")):
        if not (folder / "table.json").is_file():
            continue
        copied = empty = total = 0
        for positions, outputs in RewriteTable(folder, table_info(folder)["key"]).released():
            copied += sum(out == source for out, source in zip(outputs, texts[positions], strict=True))
            empty += sum(not out.strip() for out in outputs)
            total += len(outputs)
        if total:
            yield (folder.parent.name, folder.name), Outputs(copied / total, empty / total)


def attack_measures(table: GuessTable, kind: str, plan: Plan, k: int) -> dict[str, Any]:
    """Return what a table of guesses tells beside its counts, by which attack they are of."""
    if kind == "likelihood":
        return {"attainable": mean_posterior(table.read(["scores"])["scores"], k)}
    if kind in SIMILARITIES:
        return {f"cosine by {kind}": mean_cosine(table, plan, k)}
    return {"first": first_place(table)} if kind == "llm" else {}
