"""The adversary's own rewrites: the mechanism is public, so anybody can try it on texts and see.

The texts are other ones than those audited wherever the corpus has any (its other splits), and the
keys have a purpose of their own, so that no noise of an audited draw is ever drawn again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tedaudit.abilities import WritesOnce
from tedaudit.attacks._fitting import Weights, fit
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Draw, Floats, Guess, Observation, Rewrite

_SEED = derive(0, "practice")
_CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class Exercise:
    """A trial of the adversary's own making, of which it knows the secret."""

    seen: Observation
    secret: int


@dataclass
class Practice:
    """What an attack has learnt from trials of its own, once for each mechanism and epsilon."""

    features: Callable[[Sequence[Observation]], list[Floats]]  # a row per candidate, for each observation
    rewrites: int
    texts: Sequence[str] = ()
    _learnt: dict[tuple[int, float], tuple[Any, Weights | None]] = field(default_factory=dict)

    def on(self, texts: Sequence[str]) -> None:
        """Forget what was learnt, and take in other texts to rewrite."""
        self.texts, self._learnt = texts, {}

    def weights(self, mechanism: Any, epsilon: float) -> Weights | None:
        """Return what the features are worth; None where no rewrite succeeded."""
        known = (id(mechanism), epsilon)
        if known not in self._learnt:
            own = exercises(mechanism, epsilon, self.texts, self.rewrites)
            learnt = None
            if own:
                trials = self.features([exercise.seen for exercise in own])
                learnt = fit(trials, [exercise.secret for exercise in own])
            self._learnt[known] = (mechanism, learnt)  # the mechanism is kept, so that its id stays its own
        return self._learnt[known][1]


def weighed(weights: Weights | None, trials: Sequence[Floats]) -> list[Guess]:
    """Return guesses by weights; who has learnt nothing has no answer."""
    if weights is None:
        return [Guess(np.zeros(len(features)), usable=False) for features in trials]
    return [Guess(weights.scores(features)) for features in trials]


def unfit_for_practice(mechanism: Any) -> str:
    """Return why nothing can be learnt from trying this mechanism."""
    if isinstance(mechanism, WritesOnce):
        return "it needs a mechanism that rewrites anew, since a table's rewrites are the audited ones."
    return ""


def own_rewrites(
    mechanism: Any, epsilon: float, texts: Sequence[str], count: int
) -> list[tuple[str, Rewrite]]:
    """Return texts with a rewrite of each that did not fail, by keys of the adversary's own."""
    picks = (uniforms([derive(_SEED, "texts")], count)[0] * len(texts)).astype(int)
    draws = [
        Draw(texts[pick], epsilon, derive(_SEED, "rewrite", texts[pick], number))
        for number, pick in enumerate(picks.tolist())
    ]
    order = sorted(range(count), key=lambda i: draws[i].text)  # a text's draws together: cheaper
    rewrites: list[Rewrite | None] = [None] * count
    for i, rewrite in zip(order, mechanism.rewrite([draws[i] for i in order]), strict=True):
        rewrites[i] = rewrite
    pairs = zip(draws, rewrites, strict=True)
    return [(draw.text, rewrite) for draw, rewrite in pairs if rewrite is not None and not rewrite.error]


def exercises(mechanism: Any, epsilon: float, texts: Sequence[str], count: int) -> list[Exercise]:
    """Return trials on texts of the adversary's own: a source and distractors at random."""
    pool = list(dict.fromkeys(texts))
    k = min(_CANDIDATES, len(pool))
    made = []
    for number, (source, rewrite) in enumerate(own_rewrites(mechanism, epsilon, pool, count)):
        key = derive(_SEED, "exercise", number)
        order = np.argsort(uniforms([key], len(pool))[0], kind="stable")
        others = [pool[i] for i in order[: k + 1].tolist() if pool[i] != source][: k - 1]
        secret = int(uniforms([derive(key, "secret")], 1)[0, 0] * (len(others) + 1))
        candidates = (*others[:secret], source, *others[secret:])
        made.append(Exercise(Observation(rewrite, candidates, key), secret))
    return made
