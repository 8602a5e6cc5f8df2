"""Name the candidate from which the mechanism would most probably have drawn what it released.

Not in the paper. For a uniform secret no adversary is right more often, whatever the number of
candidates: where this attack stays low, a low bound is a property of the mechanism and not of the
attack. It needs a mechanism that knows its own probabilities.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.abilities import HasLatent, HasLikelihood
from tedaudit.types import Card, Floats, Guess, Observation

_IMPOSSIBLE = -1e30  # in the place of minus infinity: a score is a number


@dataclass
class Likelihood:
    """The log-likelihood of the drawn tokens, or the log density of the released latent."""

    card: ClassVar[Card] = Card(
        name="likelihood",
        summary="The most probable source under the mechanism itself: the strongest attack there is.",
        departures=("not in the paper: the adversary knows the mechanism and computes its probabilities",),
        sees=("tokens", "latent"),
    )
    _mechanism: Any = field(default=None, init=False, repr=False, compare=False)
    _epsilon: float = field(default=0.0, init=False, repr=False, compare=False)

    def unfit(self, mechanism: Any) -> str:
        """Return why a mechanism offers no likelihood."""
        able = isinstance(mechanism, HasLikelihood | HasLatent)
        return "" if able else "it needs a mechanism with `log_likelihood`, such as dp-mlm, or with a latent."

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Take in the mechanism and its epsilon."""
        self._mechanism, self._epsilon = mechanism, epsilon

    def guess(self, seen: Sequence[Observation]) -> list[Guess]:
        """Score candidates by log-likelihood; an output without tokens and latent names nobody."""
        usable = [self._part(observation) is not None for observation in seen]
        able = [observation for observation, one in zip(seen, usable, strict=True) if one]
        found = iter(self._scores(able) if able else [])
        nobody = (np.zeros(len(observation.candidates)) for observation in seen)
        return [
            Guess(np.maximum(next(found), _IMPOSSIBLE)) if one else Guess(zeros, usable=False)
            for one, zeros in zip(usable, nobody, strict=True)
        ]

    def _part(self, observation: Observation) -> Any:
        output = observation.output
        return output.tokens if isinstance(self._mechanism, HasLikelihood) else output.latent

    def _scores(self, seen: Sequence[Observation]) -> list[Floats]:
        if not isinstance(self._mechanism, HasLikelihood):
            return [self._densities(observation) for observation in seen]
        together = getattr(self._mechanism, "log_likelihoods", None)
        tokens, candidates = [self._part(o) for o in seen], [o.candidates for o in seen]
        if together is not None:
            scores: list[Floats] = together(tokens, candidates, self._epsilon)
            return scores
        return [
            self._mechanism.log_likelihood(some, texts, self._epsilon)
            for some, texts in zip(tokens, candidates, strict=True)
        ]

    def _densities(self, observation: Observation) -> Floats:
        latents = self._mechanism.encode(observation.candidates)
        density: Floats = self._mechanism.log_density(observation.output.latent, latents, self._epsilon)
        return density
