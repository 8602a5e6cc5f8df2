"""Guess the candidate from which the mechanism was most likely to publish this very text.

Not in the paper, whose attacks on the text do not use the mechanism. Local differential privacy is promised
against an adversary that knows the mechanism and sees what is published: this one has the text, the
candidates and the public model, and never what was drawn. Where the mechanism knows the probability of a
text, nobody who reads the text alone is right more often; where it has a score instead, somebody may be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.attacks.likelihood import IMPOSSIBLE, PAIR
from tedaudit.plugins.batches import Guesses, Observations, PairLosses, Ragged, TextLikelihoods
from tedaudit.plugins.protocols import LacksTextLikelihood, knows_texts
from tedaudit.plugins.values import Card, Observation


@dataclass
class TextLikelihood:
    """The log-likelihood of the published text, summed over all draws that are written as it."""

    card: ClassVar[Card] = Card(
        name="text-likelihood",
        summary="The likeliest source of the published text, for whoever knows the model and its settings.",
        departures=("not in the paper: the adversary knows the mechanism, and reads the text alone",),
        sees=("text",),
        score="text log-likelihood",
        knows="its model and settings",
    )
    tosses_coins: ClassVar[bool] = False
    _mechanism: Any = field(default=None, init=False, repr=False, compare=False)
    _epsilon: float = field(default=0.0, init=False, repr=False, compare=False)

    def unfit(self, mechanism: Any) -> str:
        """Return why a mechanism cannot be attacked, or ""."""
        if not knows_texts(mechanism):
            return "it needs a mechanism with `text_log_likelihood`, such as dp-mlm."
        return mechanism.lacks_text_likelihood() if isinstance(mechanism, LacksTextLikelihood) else ""

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Set the mechanism and its epsilon."""
        self._mechanism, self._epsilon = mechanism, epsilon

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by how likely the text is; for pairs, tell between which ends that is."""
        batch = Observations.of(seen)
        candidates = [observation.candidates for observation in batch]
        found: TextLikelihoods = self._mechanism.text_log_likelihood(
            batch.outputs.texts, candidates, self._epsilon
        )
        scores = Ragged.of([np.maximum(row, IMPOSSIBLE) for row in found.points], np.float64)
        usable = np.ones(len(batch), dtype=np.bool_)
        if found.is_score or not (batch.counts == PAIR).all():
            return Guesses(scores, usable)
        ends = [np.reshape(rows, (-1, PAIR)) for rows in (found.lower or [], found.upper or [])]
        return Guesses(scores, usable, losses=PairLosses.between(np.concatenate(ends, axis=1)))
