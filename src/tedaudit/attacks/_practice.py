"""The adversary's own rewrites: the mechanism is public, so anybody can run it on texts and learn from it.

The texts differ from the audited ones if the corpus has others (its other splits), and the keys are
derived for this purpose alone, so that the noise of an audited draw is never repeated.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tedaudit.abilities import WritesOnce
from tedaudit.attacks._fitting import Weights, fit
from tedaudit.batches import Draws, Guesses
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Draw, Floats, Guess, Observation, Rewrite

_SEED = derive(0, "practice")
_CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class Exercise:
    """A trial made by the adversary, who therefore knows the secret."""

    seen: Observation
    secret: int


@dataclass
class Practice:
    """What an attack has learnt from its own trials, once for each mechanism and epsilon."""

    features: Callable[[Sequence[Observation]], list[Floats]]  # a row per candidate, for each observation
    rewrites: int
    texts: Sequence[str] = ()
    _learnt: dict[tuple[int, float], tuple[Any, Weights | None]] = field(default_factory=dict)

    def on(self, texts: Sequence[str]) -> None:
        """Forget what was learnt, and practise on other texts from now on."""
        self.texts, self._learnt = texts, {}

    def weights(self, mechanism: Any, epsilon: float) -> Weights | None:
        """Return the weights of the features; None if every rewrite failed."""
        key = (id(mechanism), epsilon)
        if key not in self._learnt:
            tasks = make_exercises(mechanism, epsilon, self.texts, self.rewrites)
            weights = None
            if tasks:
                trials = self.features([exercise.seen for exercise in tasks])
                weights = fit(trials, [exercise.secret for exercise in tasks])
            self._learnt[key] = (mechanism, weights)  # a reference to the mechanism keeps its id unique
        return self._learnt[key][1]


def guess_with_weights(weights: Weights | None, trials: Sequence[Floats]) -> Guesses:
    """Return guesses by weights; without weights they are unusable."""
    if weights is None:
        return Guesses.unusable([len(features) for features in trials])
    return Guesses.of([Guess(weights.scores(features)) for features in trials])


def explain_unfit(mechanism: Any) -> str:
    """Return why this mechanism cannot be practised on, or ""."""
    if isinstance(mechanism, WritesOnce):
        return "it needs a mechanism that makes new rewrites: those of a table are the audited ones."
    return ""


def make_rewrites(
    mechanism: Any, epsilon: float, texts: Sequence[str], count: int
) -> list[tuple[str, Rewrite]]:
    """Return texts with their rewrites, without failed ones; the keys are the adversary's own."""
    picks = (uniforms([derive(_SEED, "texts")], count)[0] * len(texts)).astype(int)
    draws = [
        Draw(texts[pick], epsilon, derive(_SEED, "rewrite", texts[pick], number))
        for number, pick in enumerate(picks.tolist())
    ]
    order = sorted(range(count), key=lambda i: draws[i].text)  # draws of the same text together: cheaper
    rewrites: list[Rewrite | None] = [None] * count
    for i, rewrite in zip(order, mechanism.rewrite(Draws.of([draws[i] for i in order])), strict=True):
        rewrites[i] = rewrite
    pairs = zip(draws, rewrites, strict=True)
    return [(draw.text, rewrite) for draw, rewrite in pairs if rewrite is not None and not rewrite.error]


def make_exercises(mechanism: Any, epsilon: float, texts: Sequence[str], count: int) -> list[Exercise]:
    """Return trials on the adversary's own texts: a source and random distractors."""
    pool = list(dict.fromkeys(texts))
    k = min(_CANDIDATES, len(pool))
    trials = []
    for number, (source, rewrite) in enumerate(make_rewrites(mechanism, epsilon, pool, count)):
        key = derive(_SEED, "exercise", number)
        order = np.argsort(uniforms([key], len(pool))[0], kind="stable")
        others = [pool[i] for i in order[: k + 1].tolist() if pool[i] != source][: k - 1]
        secret = int(uniforms([derive(key, "secret")], 1)[0, 0] * (len(others) + 1))
        candidates = (*others[:secret], source, *others[secret:])
        trials.append(Exercise(Observation(rewrite, candidates, key), secret))
    return trials
