"""The adversary's own rewrites: the mechanism is public, so anybody can run it on texts and learn from it.

The texts are no candidates if the corpus has enough others (in its other splits), else the candidates
themselves, and the report says which. The keys are derived for this purpose alone, so that the noise of an
audited draw is never repeated.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tedaudit.models.calling import retry
from tedaudit.plugins.batches import Draws, Guesses
from tedaudit.plugins.protocols import WritesOnce
from tedaudit.plugins.registry import is_foreign
from tedaudit.plugins.values import Draw, Floats, Guess, Observation, Rewrite
from tedaudit.seeding import derive, uniforms

# --- Weights for features of candidates, learnt from trials with a known secret: a softmax over candidates.
#
# The scores are log-odds: their softmax is the probability that the model assigns to each candidate.

_PENALTY = 1e-2  # per trial, for features scaled by their own spread
_MOST_UNITS = 20.0  # differences are capped at this many spreads


@dataclass(frozen=True, slots=True)
class Weights:
    """A weight per feature, and the spread by which each feature is scaled."""

    values: Floats
    spread: Floats

    def scores(self, features: Floats) -> Floats:
        """Return the score of each candidate (rows) from its features (columns), whatever its place."""
        return np.asarray((_scale(features, self.spread) * self.values).sum(axis=1))


def fit(trials: Sequence[Floats], secrets: Sequence[int]) -> Weights:
    """Return the weights that make the secrets most probable, with a small penalty on large weights."""
    from scipy.optimize import minimize

    width = trials[0].shape[1]
    differences = np.concatenate([rows - rows[secret] for rows, secret in zip(trials, secrets, strict=True)])
    sizes = np.abs(np.where(np.abs(differences) < 1e29, differences, 0.0))
    spread = np.array([_compute_spread(sizes[:, column]) for column in range(width)])
    units = np.zeros((len(trials), max(map(len, trials)), width))  # trials with fewer candidates are padded
    absent = np.full(units.shape[:2], -np.inf)
    for trial, rows in enumerate(trials):
        units[trial, : len(rows)], absent[trial, : len(rows)] = _scale(rows, spread), 0.0
    chosen = units[np.arange(len(units)), list(secrets)].sum(axis=0)
    penalty = _PENALTY * len(units)

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = units @ weights + absent
        top = scores.max(axis=1, keepdims=True)
        odds = np.exp(scores - top)
        whole = odds.sum(axis=1, keepdims=True)
        total = float((np.log(whole) + top).sum() - chosen @ weights)
        slope = np.einsum("nk,nkw->w", odds / whole, units) - chosen
        return total + penalty * float(weights @ weights) / 2, slope + penalty * weights

    optimum: Any = minimize(loss, np.zeros(width), jac=True, method="L-BFGS-B")
    return Weights(np.asarray(optimum.x), spread)


def _compute_spread(sizes: Floats) -> float:
    positive = sizes[sizes > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def _scale(features: Floats, spread: Floats) -> Floats:
    """Return features relative to the best candidate, in units of their spread, clipped at the cap."""
    relative = (features - features.max(axis=0, keepdims=True)) / spread
    return np.asarray(np.clip(relative, -_MOST_UNITS, 0.0))


_SEED = derive(0, "practice")
_CANDIDATES = 4
_COINS = 1 << 16  # drawn at a time


@dataclass(frozen=True, slots=True)
class Exercise:
    """A trial made by the adversary, who therefore knows the secret."""

    seen: Observation
    secret: int


@dataclass(frozen=True, slots=True)
class Learnt:
    """Weights of the features, by error code: which texts fail is learnt apart from what becomes of others.

    The look of a candidate (its length, its kinds of characters) counts only if a rewrite failed in
    practice: then both a failure and its absence tell which texts are likely.
    """

    weights: Mapping[str, Weights] = field(default_factory=dict)
    looks: bool = False


@dataclass
class Practice:
    """What an attack has learnt from its own trials, once for each mechanism and epsilon."""

    features: Callable[[Sequence[Observation]], list[Floats]]  # a row per candidate, for each observation
    rewrites: int
    texts: Sequence[str] = ()
    _learnt: dict[tuple[int, float], tuple[Any, Learnt]] = field(default_factory=dict)

    def on(self, texts: Sequence[str]) -> None:
        """Forget what was learnt, and practise on other texts from now on."""
        self.texts, self._learnt = texts, {}

    def learn(self, mechanism: Any, epsilon: float) -> Learnt:
        """Return what its own trials teach of this mechanism and epsilon."""
        key = (id(mechanism), epsilon)
        if key not in self._learnt:
            exercises = make_exercises(mechanism, epsilon, self.texts, self.rewrites)
            learnt = self._fit(exercises)
            self._learnt[key] = (mechanism, learnt)  # a reference to the mechanism keeps its id unique
        return self._learnt[key][1]

    def guess(self, learnt: Learnt, seen: Sequence[Observation]) -> Guesses:
        """Return guesses by what was learnt; an outcome that never occurred in practice gets no answer."""
        guesses = []
        for observation, features in zip(seen, self._compute_features(seen, learnt.looks), strict=True):
            weights = learnt.weights.get(observation.output.error)
            usable = weights is not None
            scores = np.zeros(len(features)) if weights is None else weights.scores(features)
            guesses.append(Guess(scores, usable))
        return Guesses.of(guesses)

    def _fit(self, exercises: Sequence[Exercise]) -> Learnt:
        looks = any(exercise.seen.output.error for exercise in exercises)
        trials = self._compute_features([exercise.seen for exercise in exercises], looks)
        by_code: dict[str, list[int]] = {}
        for number, exercise in enumerate(exercises):
            by_code.setdefault(exercise.seen.output.error, []).append(number)
        weights = {
            code: fit([trials[i] for i in numbers], [exercises[i].secret for i in numbers])
            for code, numbers in by_code.items()
        }
        return Learnt(weights, looks)

    def _compute_features(self, seen: Sequence[Observation], looks: bool) -> list[Floats]:
        features = self.features(seen)
        if not looks:
            return features
        return [
            np.column_stack([rows, [_describe_look(text) for text in observation.candidates]])
            for rows, observation in zip(features, seen, strict=True)
        ]


@lru_cache(maxsize=1 << 16)
def _describe_look(text: str) -> tuple[float, ...]:
    """Return what may make a mechanism fail on a text: its length, and how many characters of each kind."""
    counts = (
        len(text),
        len(text.split()),
        sum(character.isdigit() for character in text),
        sum(character.isupper() for character in text),
        sum(not character.isalnum() and not character.isspace() for character in text),
        sum(not character.isascii() for character in text),
    )
    return tuple(np.log1p(counts).tolist())


def explain_unfit(mechanism: Any) -> str:
    """Return why this mechanism cannot be practised on, or ""."""
    if isinstance(mechanism, WritesOnce):
        return "it needs a mechanism that can make new rewrites; a table has only the ones under audit."
    return ""


def make_rewrites(
    mechanism: Any, epsilon: float, texts: Sequence[str], count: int
) -> list[tuple[str, Rewrite]]:
    """Return texts with their rewrites, failed ones too; the keys are the adversary's own."""
    picks = (uniforms([derive(_SEED, "texts")], count)[0] * len(texts)).astype(int)
    draws = [
        Draw(texts[pick], epsilon, derive(_SEED, "rewrite", texts[pick], number))
        for number, pick in enumerate(picks.tolist())
    ]
    order = list(range(count))
    if not is_foreign(mechanism):
        order.sort(key=lambda i: draws[i].text)  # draws of the same text together: cheaper
    batch = Draws.of([draws[i] for i in order])
    made = retry(partial(mechanism.rewrite, batch), mechanism.card.name)
    rewrites = dict(zip(order, made, strict=True))
    return [(draw.text, rewrites[i]) for i, draw in enumerate(draws)]


def make_exercises(mechanism: Any, epsilon: float, texts: Sequence[str], count: int) -> list[Exercise]:
    """Return trials on the adversary's own texts: a source and random distractors."""
    pool = list(dict.fromkeys(texts))
    k = min(_CANDIDATES, len(pool))
    keys = [derive(_SEED, "exercise", number) for number in range(count)]
    coins = uniforms([derive(key, "secret") for key in keys], 1)[:, 0].tolist()
    trials = []
    made = make_rewrites(mechanism, epsilon, pool, count)
    for (source, rewrite), key, coin, near in zip(made, keys, coins, _pick(keys, len(pool), k), strict=True):
        others = [pool[i] for i in near if pool[i] != source][: k - 1]
        secret = int(coin * (len(others) + 1))
        candidates = (*others[:secret], source, *others[secret:])
        trials.append(Exercise(Observation(rewrite, candidates, key), secret))
    return trials


def _pick(keys: Sequence[int], texts: int, number: int) -> Iterator[list[int]]:
    """Yield for each key so many texts and one more, in an order drawn at random; many keys at a time."""
    together = max(1, _COINS // texts)
    for start in range(0, len(keys), together):
        coins = uniforms(keys[start : start + together], texts)
        yield from np.argsort(coins, axis=1, kind="stable")[:, : number + 1].tolist()
