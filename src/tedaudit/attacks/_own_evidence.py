"""Weighs an output against own rewrites of texts: each kind of evidence, and how much each is worth.

Every kind is a log-ratio: how likely the output is, given a text's own rewrites, against all own rewrites.
What every text's rewrites share counts for nothing. The kinds overlap, so that their sum would boast. How
much each is worth is therefore learnt from rewrites that are held out, whose source is known: a mechanism
whose n-grams tell nothing gets no weight for them, and its scores stay near 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.attacks._own_grams import KINDS as GRAMS
from tedaudit.attacks._own_grams import OwnGrams
from tedaudit.attacks._own_values import NUMBERS, VALUES, OwnNumbers, OwnValues, Summary, summarise
from tedaudit.attacks._raw_grams import Hashes, Rows, find_features
from tedaudit.seeding import derive, uniforms
from tedaudit.types import Floats

Output = tuple[str, str]  # text and error code
KINDS = VALUES + NUMBERS + GRAMS
_WHOLE = 0  # the kind that compares whole outputs: it is never worth less than what it says
_UNTRIED = np.array([1.0] + [0.25] * (VALUES - 1) + [0.25] * NUMBERS + [0.1] * GRAMS)
_EXPECTED = np.array([1.0] + [0.0] * (KINDS - 1))
_PENALTY, _HIGHEST = 2.0, 4.0
_EXERCISES, _MOST = 400, 2000  # rewrites that are held out: enough of them, and the most of one round
_ROUNDS, _DISTRACTORS = 4, 3
_PAIRS = 1 << 16  # compared at a time
_SEED = derive(0, "own evidence")


@dataclass(frozen=True, slots=True)
class Described:
    """Outputs as the tables of evidence read them."""

    summaries: Sequence[Summary]
    rows: Rows  # of the features
    features: Hashes

    @classmethod
    def of(cls, outputs: Sequence[Output], share: float) -> "Described":
        """Describe outputs, by this share of their features."""
        return cls([summarise(*output) for output in outputs], *find_features([o[0] for o in outputs], share))

    def __len__(self) -> int:
        return len(self.summaries)

    def take(self, chosen: Rows) -> "Described":
        """Return some of them, in rising order."""
        place = np.full(len(self), -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        inside = place[self.rows] >= 0
        summaries = [self.summaries[i] for i in chosen.tolist()]
        return Described(summaries, place[self.rows[inside]], self.features[inside])

    def values(self, kind: int) -> list[object]:
        """Return one value of each output."""
        return [values[kind] for values, _ in self.summaries]

    @property
    def numbers(self) -> Floats:
        """The numbers of each output."""
        rows = [numbers for _, numbers in self.summaries]
        return np.asarray(rows, dtype=np.float64).reshape(len(self), NUMBERS)


@dataclass(frozen=True, slots=True)
class _Coded:
    """Outputs in the terms of some own rewrites."""

    codes: list[Rows]
    numbers: Floats
    grams: Any


class Evidence:
    """What own rewrites say of each text; texts are numbered, and `source` is the text of each rewrite."""

    def __init__(self, source: Rows, own: Described, texts: int) -> None:
        self._values = [OwnValues(source, own.values(kind), texts) for kind in range(VALUES)]
        numbers = own.numbers
        self._numbers = [OwnNumbers(source, numbers[:, kind], texts) for kind in range(NUMBERS)]
        self._grams = OwnGrams(source, (own.rows, own.features), texts)
        self._texts = texts

    def encode(self, outputs: Described) -> _Coded:
        """Return outputs in the form in which they are compared."""
        codes = [table.encode(outputs.values(kind)) for kind, table in enumerate(self._values)]
        grams = self._grams.find((outputs.rows, outputs.features), len(outputs))
        return _Coded(codes, outputs.numbers, grams)

    def compare(self, coded: _Coded, rows: Rows, texts: Rows) -> Floats:
        """Return every kind of evidence for each pair of an output and a text."""
        return self._combine(coded, rows, texts, self._grams.compare(coded.grams, rows, texts))

    def score(self, coded: _Coded, rows: Rows, texts: Rows, weights: Floats) -> Floats:
        """Return the weighted evidence for each pair, few pairs in memory at a time."""
        scores = np.zeros(len(rows))
        for start in range(0, len(rows), _PAIRS):
            part = slice(start, start + _PAIRS)
            scores[part] = self.compare(coded, rows[part], texts[part]) @ weights
        return scores

    def score_all(self, coded: _Coded, weights: Floats) -> Floats:
        """Return the weighted evidence for every output and every text."""
        outputs = coded.grams.shape[0]
        scores = np.zeros((outputs, self._texts))
        step = max(1, _PAIRS // self._texts)
        for start in range(0, outputs, step):
            some = np.arange(start, min(start + step, outputs))
            rows, texts = np.repeat(some, self._texts), np.tile(np.arange(self._texts), len(some))
            evidence = self._combine(coded, rows, texts, self._grams.compare_all(coded.grams[some]))
            scores[some] = (evidence @ weights).reshape(len(some), self._texts)
        return scores

    def _combine(self, coded: _Coded, rows: Rows, texts: Rows, grams: Floats) -> Floats:
        values = [
            table.compare(codes[rows], texts) for table, codes in zip(self._values, coded.codes, strict=True)
        ]
        numbers = [
            table.compare(coded.numbers[rows, kind], texts) for kind, table in enumerate(self._numbers)
        ]
        return np.column_stack([*values, *numbers, grams])


def learn_weights(source: Rows, own: Described, texts: int) -> Floats:
    """Return what each kind of evidence is worth, from rewrites held out; a guess if no text has two.

    `source` rises: the rewrites of a text stand together.
    """
    found: list[Floats] = []
    for number in range(_ROUNDS):
        if sum(map(len, found)) < _EXERCISES * _DISTRACTORS:
            found.append(_hold_out(source, own, texts, number))
    differences = np.concatenate(found)
    return _fit(differences) if len(differences) else _UNTRIED


def _hold_out(source: Rows, own: Described, texts: int, turn: int) -> Floats:
    """Return how much more evidence there is for the source than for others, of one rewrite of each text."""
    number = np.bincount(source, minlength=texts)[source]
    place = np.arange(len(source)) - np.searchsorted(source, source)  # among the rewrites of its text
    held = np.flatnonzero((number > 1) & (place == number - 1 - turn))
    if not len(held) or texts < 2:
        return np.zeros((0, KINDS))
    kept = np.setdiff1d(np.arange(len(source)), held)
    evidence = Evidence(source[kept], own.take(kept), texts)
    coins = uniforms([derive(_SEED, turn)], len(held))[0]
    chosen = np.sort(held[np.argsort(coins, kind="stable")[:_MOST]])
    coded, truth = evidence.encode(own.take(chosen)), source[chosen]
    rows = np.repeat(np.arange(len(chosen)), _DISTRACTORS)
    steps = uniforms([derive(_SEED, turn, "others")], len(rows))[0]
    others = (truth[rows] + 1 + (steps * (texts - 1)).astype(np.int64)) % texts
    supported = evidence.compare(coded, np.arange(len(chosen)), truth)
    return np.asarray(supported[rows] - evidence.compare(coded, rows, others))


def _fit(differences: Floats) -> Floats:
    """Return the weights, none below 0, under which the sources of held-out rewrites are likeliest."""
    from scipy.optimize import minimize
    from scipy.special import expit

    share = 1 / _DISTRACTORS  # comparisons of one rewrite with several others are not independent

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins, pull = differences @ weights, weights - _EXPECTED
        total = share * float(np.logaddexp(0, -margins).sum()) + _PENALTY * float(pull @ pull) / 2
        return total, _PENALTY * pull - share * (expit(-margins) @ differences)

    bounds = [(1.0 if kind == _WHOLE else 0.0, _HIGHEST) for kind in range(KINDS)]
    found: Any = minimize(loss, _EXPECTED, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)
