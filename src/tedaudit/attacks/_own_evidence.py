"""Weighs an output against own rewrites of texts: each kind of evidence, and how much each is worth.

Every kind is a log-ratio: how likely the output is, given a text's own rewrites, against all own rewrites.
What every text's rewrites share counts for nothing. The kinds overlap, so that their sum would boast. How
much each is worth is therefore learnt from rewrites that are held out, whose source is known: a mechanism
whose n-grams tell nothing gets no weight for them, and its scores stay near 0.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tedaudit.attacks._own_grams import KINDS as GRAMS
from tedaudit.attacks._own_grams import Hashes, OwnGrams, Rows, find_features
from tedaudit.plugins.values import Floats
from tedaudit.seeding import derive, uniforms

# --- What can be said of an output in one value: the whole of it, its length, its capitals, its code.
#
# Values are compared for equality: how likely is this one, given those of a text's own rewrites? Numbers
# are also compared by size, since a length may be kept roughly.

_MARKS = re.compile(r"[\w\s]+")
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d")
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_WHITE = re.compile(r"\s+")
VALUES, NUMBERS = 9, 6
_RAREST, _FARTHEST = 1e-4, 4.0
_SMALLEST = 1e-4  # variance of a number within a text

Summary = tuple[tuple[object, ...], tuple[float, ...]]


def summarise(text: str, error: str) -> Summary:
    """Return the values and the numbers of an output: a failed one has its code and no numbers."""
    in_order = text.split()
    words, digits, foreign = len(in_order), "".join(_DIGITS.findall(text)), _FOREIGN.findall(text)
    values = (
        (text, error),
        error,
        len(text),
        words,
        _MARKS.sub("", text),
        (text[:1].isspace(), text[-1:].isspace(), *(run for run in _WHITE.findall(text) if run != " ")),
        digits,
        "".join(character for character in foreign if not character.isprintable()),  # of no width, say
        tuple(word[:1].isupper() + 2 * word[1:].isupper() for word in _LETTERS.findall(text)),
    )
    if error:
        return values, (np.nan,) * NUMBERS
    sizes = (len(text), words, sum(map(str.isupper, text)), len(digits), len(foreign))
    rising = sum(first < second for first, second in pairwise(in_order)) / max(1, words - 1)  # sorted words
    return values, (*np.log1p(sizes).tolist(), rising)


class OwnValues:
    """How often each value came up, by text and in all."""

    def __init__(self, source: Rows, values: Sequence[object], texts: int) -> None:
        self._codes: dict[object, int] = {}
        codes = np.array(
            [self._codes.setdefault(value, len(self._codes)) for value in values], dtype=np.int64
        )
        self._number = np.bincount(source, minlength=texts)
        self._general = np.bincount(codes, minlength=1) / max(1, len(codes))
        self._keys, self._counts = np.unique((source << 32) | codes, return_counts=True)
        single = np.bincount(self._keys[self._counts == 1] >> 32, minlength=texts)
        several = self._number > 1
        # as often as a text's rewrite is unlike its others, so often a new one will be unlike all of them
        usual = (single[several].sum() + 0.5) / (self._number[several].sum() + 1)
        self._new = np.maximum(_RAREST, (single + usual) / (self._number + 1))

    def encode(self, values: Sequence[object]) -> Rows:
        """Return the code of each value; -1 if no own rewrite has it."""
        return np.array([self._codes.get(value, -1) for value in values], dtype=np.int64)

    def compare(self, codes: Rows, texts: Rows) -> Floats:
        """Return, for each value and text, the log-ratio of its chance there and in general."""
        wanted = (texts << 32) | np.maximum(codes, 0)
        place = np.minimum(np.searchsorted(self._keys, wanted), len(self._keys) - 1)
        counts = np.where((self._keys[place] == wanted) & (codes >= 0), self._counts[place], 0)
        number, new = self._number[texts], self._new[texts]
        share = counts / np.maximum(number, 1) / self._general[np.maximum(codes, 0)]
        return np.where(number > 0, np.log(new + (1 - new) * share), 0.0)


class OwnNumbers:
    """Where a number lies for each text: a normal law around a mean that is drawn towards that of all."""

    def __init__(self, source: Rows, numbers: Floats, texts: int) -> None:
        there = np.isfinite(numbers)
        source, numbers = source[there], numbers[there]
        self._count = np.bincount(source, minlength=texts)
        inside, known = self._count > 0, np.maximum(self._count, 1)
        means = np.bincount(source, numbers, minlength=texts) / known
        self._centre = float(numbers.mean()) if len(numbers) else 0.0
        freedom = int((known - 1).sum())
        rest = float(((numbers - means[source]) ** 2).sum())
        spread = float(numbers.var()) if len(numbers) else 0.0
        self._within = max(_SMALLEST, rest / freedom if freedom else spread / 2)
        chance = self._within * float((1 / known[inside]).mean()) if inside.any() else 0.0
        self._between = max(0.0, float(means[inside].var()) - chance) if inside.any() else 0.0
        pull = self._between / (self._between + self._within / known)
        self._means = self._centre + pull * (means - self._centre)
        self._variances = self._within + self._between * (1 - pull)

    def compare(self, numbers: Floats, texts: Rows) -> Floats:
        """Return, for each number and text, the log-ratio of its density there and in general."""
        usable = np.isfinite(numbers) & (self._count[texts] > 0)
        number, general = np.where(usable, numbers, self._centre), self._within + self._between
        variances = self._variances[texts]
        own = (number - self._means[texts]) ** 2 / variances + np.log(variances)
        ratio = ((number - self._centre) ** 2 / general + np.log(general) - own) / 2
        return np.where(usable, np.clip(ratio, -_FARTHEST, _FARTHEST), 0.0)


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
            scores[part] = _weigh(self.compare(coded, rows[part], texts[part]), weights)
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
            scores[some] = _weigh(evidence, weights).reshape(len(some), self._texts)
        return scores

    def _combine(self, coded: _Coded, rows: Rows, texts: Rows, grams: Floats) -> Floats:
        values = [
            table.compare(codes[rows], texts) for table, codes in zip(self._values, coded.codes, strict=True)
        ]
        numbers = [
            table.compare(coded.numbers[rows, kind], texts) for kind, table in enumerate(self._numbers)
        ]
        return np.column_stack([*values, *numbers, grams])


def _weigh(evidence: Floats, weights: Floats) -> Floats:
    """Return weighted sums of rows; a matrix product would round a row by its place among the others."""
    return np.asarray((evidence * weights).sum(axis=1))


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
