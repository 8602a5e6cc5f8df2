"""The adversary's own rewrites: the mechanism is public, so anybody can try it on texts and see.

The texts are other ones than those audited wherever the corpus has any (its other splits), and the
keys have a purpose of their own, so that no noise of an audited draw is ever drawn again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.seeding import derive, uniforms
from tedaudit.types import Draw, Observation, Rewrite, WritesOnce

_SEED = derive(0, "practice")
_CANDIDATES = 4


@dataclass(frozen=True, slots=True)
class Exercise:
    """A trial of the adversary's own making, of which it knows the secret."""

    seen: Observation
    secret: int


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
