"""Try the mechanism on the candidates themselves, then name the one whose own rewrites explain the output.

Not in the paper. The mechanism is public, so the adversary rewrites every candidate with keys of its own and
compares: whole outputs, raw characters, lengths, error codes. It needs no model, no tokens, no likelihood,
and nothing that candidates and outputs have in common.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from tedaudit.attacks._own_evidence import Described, Evidence, Output, learn_weights
from tedaudit.attacks._own_grams import Rows, count_features
from tedaudit.attacks._practice import explain_unfit
from tedaudit.errors import SpecError
from tedaudit.plugins.batches import Guesses, Observations, OwnRewrites, Ragged, Rewrites
from tedaudit.plugins.values import Card, Floats, Observation

_FEATURES = 30_000_000  # of all own rewrites together: if there are more, a fixed part of them is used
_DENSE = 64  # candidates of a trial from which on outputs are compared with all texts at once


@dataclass
class Resample:
    """Naive Bayes on own rewrites of the candidates; its scores are log-ratios against all own rewrites.

    With `limit` the attack at most doubles the cost. If there is then not even one own rewrite for each
    candidate, some, chosen by coin, have none.
    """

    rewrites: int = 8
    """How many rewrites it makes of each candidate."""
    limit: bool = True
    """Never make more own rewrites than there are audited ones. Candidates may then get fewer, or none."""
    card: ClassVar[Card] = Card(
        name="resample",
        summary="Rewrites the candidates itself; picks the one whose rewrites fit the output best. No model.",
        departures=(
            "not in the paper: the adversary tries the mechanism on the candidates, with keys of its own",
            "own rewrites are at most as many as audited ones, unless `limit` is off",
            "if there is not one more for each candidate, some, by coin, get it; others may have none",
        ),
        sees=("text", "error"),
        knows="can call it",
    )
    _numbers: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    _evidence: Evidence | None = field(default=None, init=False, repr=False, compare=False)
    _weights: Floats = field(default_factory=lambda: np.zeros(0), init=False, repr=False, compare=False)
    _share: float = field(default=1.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.rewrites < 1:
            raise SpecError(f"rewrites is {self.rewrites}; the attack needs 1 or more of each candidate.")

    @property
    def rewrites_each(self) -> int:
        """How many rewrites of each candidate the attack asks for."""
        return self.rewrites

    @property
    def is_limited(self) -> bool:
        """Whether it makes do with as many as there are audited ones."""
        return self.limit

    def unfit(self, mechanism: Any) -> str:
        """Return why this mechanism cannot be tried, or ""."""
        return explain_unfit(mechanism)

    def learn(self, own: OwnRewrites) -> None:
        """Take in the own rewrites: tables of evidence, and what each kind is worth."""
        used, source = np.unique(own.text, return_inverse=True)
        self._numbers = {own.pool[i]: number for number, i in enumerate(used.tolist())}
        self._evidence = None
        if not len(used):
            return
        order = np.argsort(source, kind="stable")
        source = source[order].astype(np.int64)
        texts, errors = own.rewrites.texts, own.rewrites.errors
        self._share = min(1.0, _FEATURES / max(1, count_features(texts)))
        described = Described.of([(texts[i], errors[i]) for i in order.tolist()], self._share)
        self._evidence = Evidence(source, described, len(used))
        self._weights = learn_weights(source, described, len(used))

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Score candidates by how well their own rewrites explain the output; 0 for one that has none."""
        batch = Observations.of(seen)
        candidates = batch.positions()
        numbers = np.array([self._numbers.get(text, -1) for text in batch.pool], dtype=np.int64)
        texts = numbers[candidates.values]
        known = np.flatnonzero(texts >= 0)
        scores = np.zeros(len(texts))
        if self._evidence is not None and len(known):
            outputs, row = _deduplicate(batch.outputs)
            coded = self._evidence.encode(Described.of(outputs, self._share))
            rows = np.repeat(row, candidates.lengths)[known]
            if len(texts) >= _DENSE * len(batch):
                scores[known] = self._evidence.score_all(coded, self._weights)[rows, texts[known]]
            else:
                scores[known] = self._evidence.score(coded, rows, texts[known], self._weights)
        return Guesses(Ragged(scores, candidates.offsets), np.ones(len(batch), dtype=np.bool_))


def _deduplicate(outputs: Rewrites) -> tuple[list[Output], Rows]:
    """Return the distinct outputs, and the place among them of each."""
    place: dict[Output, int] = {}
    pairs = zip(outputs.texts, outputs.errors, strict=True)
    rows = [place.setdefault(pair, len(place)) for pair in pairs]
    return list(place), np.array(rows, dtype=np.int64)
