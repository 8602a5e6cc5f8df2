"""Guess the candidate whose sentence embedding is closest to the output's (external embedding attack).

Paper:   TeDA, "embedding-based attribution": all-mpnet-base-v2, cosine distance.
Departs: any SentenceTransformer model or folder can be used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from tedaudit.attacks._similarity import Similarity
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.batches import Guesses
from tedaudit.plugins.values import Card, ModelUse, Observation


@dataclass
class Embedding:
    """Cosine of sentence embeddings; loads its model on first use."""

    encoder: str = zoo_or("encoder", "sentence-transformers/all-mpnet-base-v2")
    """The sentence encoder: a folder, a hub id or zoo:NAME."""
    tosses_coins: ClassVar[bool] = False  # it never reads the tie keys, which are not derived for it then
    card: ClassVar[Card] = Card(
        name="embedding",
        english=("encoder: the default model",),
        needs=("models",),
        summary="Picks the candidate with the nearest sentence embedding (external embedding attack).",
        paper="TeDA: Beyond Theoretical Bounds (Li et al.), section 3.1",
        score="cosine",
    )
    _similarity: Similarity | None = field(default=None, init=False, repr=False, compare=False)

    def prepare(self, pool: Sequence[str]) -> None:
        """Embed the candidate pool once."""
        self._load().prepare(pool)

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by cosine with the output."""
        return self._load().guess(seen)

    def models(self) -> Sequence[ModelUse]:
        """Name the encoder, if it is a trained one."""
        return [] if self.encoder == "lexical" else [ModelUse("encoder weights", self.encoder)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights."""
        return load_encoder(self.encoder, half=True).fingerprint()

    def _load(self) -> Similarity:
        if self._similarity is None:
            self._similarity = Similarity(load_encoder(self.encoder, half=True))
        return self._similarity
