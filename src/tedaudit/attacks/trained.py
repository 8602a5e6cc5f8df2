"""Learn from rewrites of its own how this mechanism changes a text, then score candidates by it.

Not in the paper. The mechanism is public, so the adversary rewrites texts at the audited epsilon, with keys
of its own, and fits a pair scorer on them: similarity of embeddings and of words, and lengths. The texts are
no candidates if the corpus has others, else the candidates themselves; the report says which. If a rewrite
failed, it also learns which texts fail.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.attacks._practice import Learnt, Practice, explain_unfit
from tedaudit.attacks._similarity import Similarity
from tedaudit.errors import SpecError
from tedaudit.models.encoders.lexical import LexicalEncoder
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.batches import Guesses
from tedaudit.plugins.values import Card, Floats, ModelUse, Observation

_WORD = re.compile(r"\w+")


@dataclass
class Trained:
    """A pair scorer over embedding, lexical and length features; one per mechanism and epsilon."""

    encoder: str = zoo_or("encoder", "lexical")
    """The sentence encoder: a folder, a hub id or zoo:NAME. lexical: words alone, no model."""
    rewrites: int = 500
    """How many rewrites it makes at each epsilon to learn from; at least 20."""
    card: ClassVar[Card] = Card(
        name="trained",
        english=("encoder: the default model",),
        summary="Learns to score pairs on the adversary's own rewrites, then picks the best candidate.",
        departures=(
            "not in the paper: the adversary practises on the mechanism before it guesses",
            "on texts of other splits, or if there are too few, on the candidates, with keys of its own",
        ),
        sees=("text", "error"),
        knows="can call it",
        version=2,
    )
    _similarities: tuple[Similarity, ...] = field(default=(), init=False, repr=False, compare=False)
    _practice: Practice = field(init=False, repr=False, compare=False)
    _learnt: Learnt = field(default_factory=Learnt, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.rewrites < 20:
            raise SpecError(f"rewrites is {self.rewrites}; the attack needs 20 or more to learn from.")
        self._practice = Practice(self._compute_features, self.rewrites)

    @property
    def own_rewrites(self) -> int:
        """How many rewrites the attack makes itself for each mechanism and epsilon."""
        return self.rewrites

    def prepare(self, pool: Sequence[str]) -> None:
        """Encode the pool once."""
        encoders = [LexicalEncoder()] if self.encoder == "lexical" else [
            load_encoder(self.encoder, half=True), LexicalEncoder()
        ]  # fmt: skip
        self._similarities = tuple(Similarity(encoder) for encoder in encoders)
        for similarity in self._similarities:
            similarity.prepare(pool)

    def practise_on(self, texts: Sequence[str]) -> None:
        """Set the texts to rewrite in practice."""
        self._practice.on(texts)

    def unfit(self, mechanism: Any) -> str:
        """Return why this mechanism cannot be practised on, or ""."""
        return explain_unfit(mechanism)

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Rewrite texts at this epsilon and learn from them, once."""
        self._learnt = self._practice.learn(mechanism, epsilon)

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by what was learnt."""
        return self._practice.guess(self._learnt, seen)

    def models(self) -> Sequence[ModelUse]:
        """Name the encoder, if it is a trained one."""
        return [] if self.encoder == "lexical" else [ModelUse("encoder weights", self.encoder)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the encoder's weights."""
        return {} if self.encoder == "lexical" else load_encoder(self.encoder, half=True).fingerprint()

    def _compute_features(self, seen: Sequence[Observation]) -> list[Floats]:
        """Return a row of features per candidate, for each observation."""
        cosines = [similarity.guess(seen) for similarity in self._similarities]
        return [
            np.column_stack(
                [*(guesses[i].scores for guesses in cosines), _compare_texts(observation)]
            )
            for i, observation in enumerate(seen)
        ]  # fmt: skip


def _compare_texts(observation: Observation) -> Floats:
    """Return the ratio of lengths, the shares of common words, and whether the text is unchanged."""
    text = observation.output.text
    words = set(_WORD.findall(text.lower()))
    rows = []
    for candidate in observation.candidates:
        own = set(_WORD.findall(candidate.lower()))
        ratio = np.log((1 + len(text)) / (1 + len(candidate)))
        shared = len(words & own)
        rows.append([ratio, -(ratio**2), shared / max(1, len(words | own)), shared / max(1, len(own)),
                     float(text == candidate)])  # fmt: skip
    return np.asarray(rows)
