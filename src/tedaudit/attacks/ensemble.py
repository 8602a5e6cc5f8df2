"""Add up the scores of several attacks, each weighted by its worth on this mechanism.

Not in the paper. The weights are fitted on the adversary's own trials, whose rewrites are none of the
audited ones, so that the sum is calibrated: its softmax is a probability. Their texts are no candidates if
the corpus has others, else the candidates themselves; the report says which.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from tedaudit.attacks._practice import Learnt, Practice, explain_unfit
from tedaudit.errors import SpecError
from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.protocols import KnowsMechanism, Practises, Prepares
from tedaudit.plugins.registry import Reference, build, determinants, model_uses
from tedaudit.plugins.values import Card, Floats, ModelUse, Observation


@dataclass
class Ensemble:
    """A calibrated sum of other attacks, given as in a spec: by name, or as a mapping with fields."""

    members: tuple[Any, ...] = ("embedding", "lexical")
    """At least two attacks: each a name, or a mapping with a name and settings."""
    rewrites: int = 400
    """How many rewrites it makes at each epsilon to weigh its members; at least 20."""
    card: ClassVar[Card] = Card(
        name="ensemble",
        english=("members: the default encoder",),
        needs=("models",),
        summary="Adds up the scores of several attacks, each weighted by how well it does on this mechanism.",
        departures=(
            "not in the paper: weights are fitted on the adversary's own rewrites",
            "of texts of other splits, or if there are too few, of the candidates, with keys of its own",
        ),
        sees=("text", "tokens", "latent", "error"),
        knows="can call it",
        version=2,
    )
    _built: list[Any] = field(default_factory=list, init=False, repr=False, compare=False)
    _practice: Practice = field(init=False, repr=False, compare=False)
    _learnt: Learnt = field(default_factory=Learnt, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.members) < 2:
            raise SpecError("An ensemble needs at least two members, such as [embedding, lexical].")
        if self.rewrites < 20:
            raise SpecError(f"rewrites is {self.rewrites}; an ensemble needs 20 or more.")
        self._built = [_build_member(member) for member in self.members]
        self._practice = Practice(self._score, self.rewrites)

    @property
    def parts(self) -> Sequence[Any]:
        """Its members: it knows and sees what they do."""
        return self._built

    @property
    def own_rewrites(self) -> int:
        """How many rewrites are made for each mechanism and epsilon, including those of the members."""
        return self.rewrites + sum(m.own_rewrites for m in self._built if isinstance(m, Practises))

    def prepare(self, pool: Sequence[str]) -> None:
        """Prepare every member that uses the pool."""
        for member in self._built:
            if isinstance(member, Prepares):
                member.prepare(pool)

    def practise_on(self, texts: Sequence[str]) -> None:
        """Set the texts to rewrite in practice."""
        self._practice.on(texts)
        for member in self._built:
            if isinstance(member, Practises):
                member.practise_on(texts)

    def unfit(self, mechanism: Any) -> str:
        """Return why a member cannot attack the mechanism, or why it cannot be practised on; or ""."""
        reasons = [m.unfit(mechanism) for m in self._built if isinstance(m, KnowsMechanism)]
        return next((reason for reason in [explain_unfit(mechanism), *reasons] if reason), "")

    def meet(self, mechanism: Any, epsilon: float) -> None:
        """Let the members meet the mechanism, and fit their weights on the adversary's own trials."""
        for member in self._built:
            if isinstance(member, KnowsMechanism):
                member.meet(mechanism, epsilon)
        self._learnt = self._practice.learn(mechanism, epsilon)

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Return the weighted sum of the members' scores."""
        return self._practice.guess(self._learnt, seen)

    def models(self) -> Sequence[ModelUse]:
        """Name the models of the members."""
        return [
            ModelUse(f"{member.card.name}: {use['part']}", use["model"], use["checksum"])
            for member in self._built
            for use in model_uses("", member, determinants(member))
        ]

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the members' scores."""
        members = [determinants(member) for member in self._built]
        return {"members": json.dumps(members, sort_keys=True, default=str)}

    def _score(self, seen: Sequence[Observation]) -> list[Floats]:
        """Return a column of scores per member, for each observation."""
        batch = Observations.of(seen)
        by_member = [_score_with(member, batch) for member in self._built]
        return [np.column_stack(columns) for columns in zip(*by_member, strict=True)]


def _score_with(member: Any, batch: Observations) -> list[Floats]:
    """Return a member's scores for each observation; zeros if it is not given it or has no answer."""
    scores = [np.zeros(count) for count in batch.counts.tolist()]
    sees = member.card.sees
    given = np.flatnonzero(~batch.outputs.failed) if "error" not in sees else np.arange(len(batch))
    if len(given):
        shown = replace(batch[given], outputs=batch.outputs[given].reveal(sees))
        for row, guess in zip(given.tolist(), member.guess(shown), strict=True):
            if guess.usable:
                scores[row] = guess.scores
    return scores


def _build_member(given: Any) -> Any:
    fields = dict(given) if isinstance(given, Mapping) else {"name": given}
    name = str(fields.pop("name", ""))
    if name == Ensemble.card.name:
        raise SpecError("An ensemble cannot be a member of an ensemble.")
    return build(Reference("attack", name, fields))
