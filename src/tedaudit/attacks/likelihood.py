"""Guess the candidate from which the mechanism was most likely to produce its output.

Not in the paper. For a uniform secret no adversary that sees the same is right more often, whatever the
number of candidates: if this attack stays low, a low bound is a property of the mechanism and not of the
attack. One that sees more may do better: this attack is not shown which rewrites failed, and `resample` is.
It needs a mechanism that can compute its own probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.plugins.batches import Guesses, Observations, PairLosses
from tedaudit.plugins.protocols import HasLatent, HasLikelihood, ReleasesMore, can_compare
from tedaudit.plugins.values import UNKNOWN, Card, Floats, Guess, Observation

PAIR = 2  # candidates between which there is one loss
IMPOSSIBLE = -1e30  # instead of minus infinity: a score must be finite


@dataclass
class Likelihood:
    """The log-likelihood of the drawn tokens, or the log density of the released latent."""

    card: ClassVar[Card] = Card(
        name="likelihood",
        summary="Picks the likeliest source by the mechanism itself. No attack that sees as much is better.",
        departures=("not in the paper: the adversary knows the mechanism and computes its probabilities",),
        sees=("tokens", "latent"),
        score="log-likelihood",
        knows="its model and settings",
    )
    _mechanism: Any = field(default=None, init=False, repr=False, compare=False)
    _epsilon: float = field(default=0.0, init=False, repr=False, compare=False)

    def unfit(self, mechanism: Any) -> str:
        """Return why a mechanism cannot be attacked, or ""."""
        if not isinstance(mechanism, HasLikelihood | HasLatent):
            return (
                "it needs the mechanism's own `log_likelihood`, or a latent with `log_density`. "
                "docs/tutorial-mechanism-author.md has a worked example."
            )
        missing = mechanism.beyond_likelihood() if isinstance(mechanism, ReleasesMore) else ""
        return f"its likelihood does not cover the whole release: {missing}." if missing else ""

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Set the mechanism and its epsilon."""
        self._mechanism, self._epsilon = mechanism, epsilon

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by log-likelihood; without tokens and latent a guess is unusable."""
        batch = Observations.of(seen)
        parts = batch.outputs.tokens if isinstance(self._mechanism, HasLikelihood) else batch.outputs.latents
        usable = ~parts.missing if parts.missing is not None else np.ones(len(batch), dtype=np.bool_)
        able = list(batch[usable])
        if able and can_compare(self._mechanism) and (batch.counts == PAIR).all():
            compared, told = self._compare(able)
            scores, rows = np.zeros((len(batch), PAIR)), iter(told)
            scores[usable] = np.maximum(compared, IMPOSSIBLE)
            whole = told if usable.all() else [next(rows) if known else UNKNOWN for known in usable.tolist()]
            return Guesses(scores, usable, losses=PairLosses.of(whole))
        found = iter(self._score(able) if able else [])
        return Guesses.of(
            [
                Guess(np.maximum(next(found), IMPOSSIBLE)) if known else Guess(np.zeros(count), usable=False)
                for known, count in zip(usable.tolist(), batch.counts.tolist(), strict=True)
            ]
        )

    def _compare(self, seen: Sequence[Observation]) -> tuple[Floats, PairLosses]:
        """Return the likelihoods of both candidates and what else is known of them."""
        pairs = [(first, second) for first, second in (observation.candidates for observation in seen)]
        released = [self._get_draw(observation) for observation in seen]
        compared: tuple[Floats, PairLosses] = self._mechanism.compare(released, pairs, self._epsilon)
        return compared

    def _get_draw(self, observation: Observation) -> Any:
        output = observation.output
        return output.tokens if isinstance(self._mechanism, HasLikelihood) else output.latent

    def _score(self, seen: Sequence[Observation]) -> list[Floats]:
        if not isinstance(self._mechanism, HasLikelihood):
            return [self._compute_densities(observation) for observation in seen]
        score_batch = getattr(self._mechanism, "log_likelihoods", None)
        outputs, candidates = [self._get_draw(o) for o in seen], [o.candidates for o in seen]
        if score_batch is not None:
            scores: list[Floats] = score_batch(outputs, candidates, self._epsilon)
            return scores
        return [
            self._mechanism.log_likelihood(tokens, texts, self._epsilon)
            for tokens, texts in zip(outputs, candidates, strict=True)
        ]

    def _compute_densities(self, observation: Observation) -> Floats:
        latents = self._mechanism.encode(observation.candidates)
        density: Floats = self._mechanism.log_density(observation.output.latent, latents, self._epsilon)
        return density
