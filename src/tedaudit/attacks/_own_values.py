"""What can be said of an output in one value: the whole of it, its length, its capitals, its code.

Values are compared for equality: how likely is this one, given those of a text's own rewrites? Numbers are
also compared by size, since a length may be kept roughly.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tedaudit.attacks._raw_grams import Rows
from tedaudit.types import Floats

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
