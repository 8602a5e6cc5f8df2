"""What can be seen of an output, view by view, and a learner that finds out which view tells two texts apart.

A view is one way to look at outputs: their words, their places, their length and so on. The learner is given
rows with the coins that chose their texts. It tries every view on rows that it has not counted, keeps for
each pair of texts the one that tells most, and is then frozen. Rows that it guesses afterwards are none of
those: so whatever it learnt, a guess is right with probability 1/2 if the outputs do not depend on the text.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import numpy.typing as npt

from tedaudit.plugins.values import DIGEST, Rewrite
from tedaudit.text.words import is_mark, split_words

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Trait = tuple[str, str]
"""What kind of trait, and its value."""
Seen = Mapping[str, Sequence[Trait]]
"""The traits of a row, by view."""

_LONGEST = 1500  # characters of an output that are looked at
_PIECES = 300  # characters from the beginning that are looked at one by one, and in twos and threes
_PLACES = 8  # words from the beginning whose places and order are looked at
_MODULI = (2, 3, 4, 5, 7, 8, 10)
_NUMBER = re.compile(r"\d+")


def list_views(output: Rewrite) -> Seen:
    """Return what every view sees of an output; of a failed one there is only the error."""
    code, _, digest = output.error.partition(DIGEST)
    if output.error:
        return {"error": [("error", code), ("message of the error", digest)]}
    text = output.text[:_LONGEST]
    words = split_words(text)
    folded = [word.casefold() for word in words]
    sizes = {"characters": len(output.text), "words": len(words), "lines": text.count("\n") + 1}
    return {
        "error": [("error", "none")],
        "kind of nothing": [("kind of nothing", "" if text.strip() else repr(text[:3]))],
        "whole output": [("whole output", output.text)],
        "words": [("word", word) for word in set(folded)],
        "numbers": _list_numbers(text),
        "shape of words": _list_shapes(words, text),
        "place of words": _list_places(folded, text),
        "order of words": _list_order(folded[:_PLACES]),
        "pairs of words": [("pair of words", " ".join(pair)) for pair in set(pairwise(folded))],
        "characters": [("characters", piece) for piece in {*text[:_PIECES], *_cut(text)}],
        "length": [
            *((f"number of {unit}", str(size)) for unit, size in sizes.items()),
            ("rough length", str(round(3 * math.log2(1 + len(output.text))))),
        ],
        "remainder of the length": [
            (f"number of {unit} modulo {modulus}", str(size % modulus))
            for unit, size in sizes.items()
            for modulus in _MODULI
        ],
    }  # fmt: skip


def _list_numbers(text: str) -> list[Trait]:
    numbers = _NUMBER.findall(text)
    found = [("number of numbers", str(len(numbers)))]
    for place, number in enumerate(numbers[:4], 1):
        last = number[-1]
        found += [(f"digits of number {place}", str(len(number))), (f"last digit of number {place}", last)]
        found += [(f"parity of number {place}", str(int(last) % 2))]
    return found


def _list_shapes(words: Sequence[str], text: str) -> list[Trait]:
    shapes = [_name_shape(word) for word in words]
    counts = Counter(shapes)
    found = [(f"shape of word {place}", shape) for place, shape in enumerate(shapes[: 2 * _PLACES], 1)]
    found += [(f"number of {shape} words", str(counts[shape])) for shape in ("capitalised", "upper-case")]
    found.append(("number of punctuation marks", str(sum(map(is_mark, text)))))
    return found


def _name_shape(word: str) -> str:
    if not word.isalpha() and any(character.isdigit() for character in word):
        return "with digits"
    if not word[:1].isupper():
        return "lower-case"
    return "upper-case" if word.isupper() and len(word) > 1 else "capitalised"


def _list_places(words: Sequence[str], text: str) -> list[Trait]:
    found = [(f"word {place}", word) for place, word in enumerate(words[:_PLACES], 1)]
    found += [(f"word {place} from the end", word) for place, word in enumerate(words[:-4:-1], 1)]
    return [*found, ("beginning", text[:3]), ("end", text[-3:]), ("last character", text[-1:])]


def _list_order(words: Sequence[str]) -> list[Trait]:
    """Return which of two words comes first in the alphabet, or that they are the same."""
    order = [
        (f"order of words {i + 1} and {j + 1}", "=" if a == b else "<" if a < b else ">")
        for (i, a), (j, b) in combinations(enumerate(words), 2)
    ]
    return [*order, ("repeated words", str(len(words) - len(set(words))))]


LIKENESS, RANK = "likeness", "place among the outputs"


def compare_two(first: Rewrite, second: Rewrite) -> Seen:
    """Return what two outputs have in common."""
    a, b = (split_words(output.text[:_LONGEST].casefold()) for output in (first, second))
    shared, pieces = len(set(a) & set(b)), [_cut(output.text) for output in (first, second)]
    alike = len(pieces[0] & pieces[1]) / max(1, len(pieces[0] | pieces[1]))
    return {
        LIKENESS: [
            ("equal outputs", str((first.text, first.error) == (second.text, second.error))),
            ("equal errors", str(first.error == second.error)),
            ("equal first words", str(a[:1] == b[:1])),
            ("equal last words", str(a[-1:] == b[-1:])),
            ("equal lengths", str(len(first.text) == len(second.text))),
            ("shared words", str(min(shared, 8))),
            ("share of shared characters", str(round(6 * alike))),
        ]
    }


def _cut(text: str) -> set[str]:
    """Return pieces of two and three characters of the beginning."""
    shown = text[:_PIECES]
    return {shown[i : i + n] for n in (2, 3) for i in range(max(1, len(shown) - n + 1))}


def rank_in_call(outputs: Sequence[Rewrite], row: int) -> Seen:
    """Return how an output compares with the others of its call."""
    numbers = [_NUMBER.search(output.text[:_LONGEST]) for output in outputs]  # Python reads 4,300 digits
    measures: dict[str, list[float | str]] = {
        "length": [len(output.text) for output in outputs],
        "alphabet": [output.text for output in outputs],
        "first number": [int(number.group()) if number else -1 for number in numbers],
    }
    return {
        RANK: [
            (f"place by {name}", f"{sum(one < value[row] for one in value)} of {len(outputs)}")  # type: ignore[operator]
            for name, value in measures.items()
        ]
    }


# --- The learner: naive Bayes on the traits of one view, or on a few of them.

_FEW = (1, 8, None)  # how many traits are used; None: all
_SHARES = (1, 2, 4, 16)  # of rows that are guessed: all, and the surest half, quarter and sixteenth
_LEAST = 12  # rows in the smallest share
_SLACK = 2.0  # standard deviations by which a plainer view may be worse
_TWICE = 2  # times that a trait must be seen to be learnt


@dataclass(frozen=True, slots=True)
class Lesson:
    """Rows of one pair of texts in the order of time; the first `learnt` of them are learnt from."""

    rows: Sequence[Seen]
    coins: Bools
    learnt: int


@dataclass(frozen=True, slots=True)
class Learnt:
    """What was learnt of a pair: how surely each later row speaks for the first text, and by what."""

    scores: Floats
    view: str
    telling: Mapping[Trait, float]

    @property
    def clue(self) -> Trait:
        """The view, and the most telling trait."""
        most = max(self.telling, key=lambda trait: abs(self.telling[trait]), default=None)
        return self.view, ": ".join(most or ())


def learn(lessons: Sequence[Lesson]) -> list[Learnt]:
    """Return what can be learnt from the first rows of each lesson, with scores for the rest.

    A coin that is true means the first text, for which a score is above 0.
    """
    views = list(
        dict.fromkeys(view for lesson in lessons for row in lesson.rows[: lesson.learnt] for view in row)
    )
    views.sort(key=lambda view: _ORDER.get(view, -1))
    tables = [{view: _Table(lesson, view) for view in views} for lesson in lessons]
    ways = sorted(((few, view) for few in _FEW for view in views), key=lambda way: way[1] in _SUBTLE)
    tried = [{way: own[way[1]].try_out(way[0]) for way in ways} for own in tables]
    pooled = {way: sum(one[way][0] for one in tried) / math.sqrt(len(lessons)) for way in ways}
    learnt = []
    for own, one in zip(tables, tried, strict=True):
        worth = {way: one[way][0] + pooled[way] for way in ways}
        enough = max(worth.values()) - _SLACK
        few, view = next(way for way in ways if worth[way] >= enough)
        learnt.append(own[view].learn(few, *one[few, view]))
    return learnt


_PLAIN = (
    "error", "kind of nothing", "whole output", "words", "numbers", "length", "shape of words",
    "place of words",
)  # fmt: skip
_SUBTLE = ("order of words", "pairs of words", "remainder of the length", "characters")
_ORDER = {view: place for place, view in enumerate((*_PLAIN, *_SUBTLE))}
"""Of views that tell as much, the first is the plainest to name; few traits are plainer than many."""


class _Table:
    """The traits of one view in the rows of a lesson, as numbers."""

    def __init__(self, lesson: Lesson, view: str) -> None:
        self._lesson, self._view = lesson, view
        counts = Counter(trait for row in lesson.rows[: lesson.learnt] for trait in row.get(view, ()))
        self._traits = [trait for trait, count in counts.items() if count >= _TWICE]
        known = {trait: number for number, trait in enumerate(self._traits)}
        cells = [
            (place, known[trait])
            for place, row in enumerate(lesson.rows)
            for trait in row.get(view, ())
            if trait in known
        ]
        self._row, self._trait = np.array(cells, dtype=np.intp).reshape(-1, 2).T

    def try_out(self, few: int | None) -> tuple[float, float]:
        """Return how well rows are guessed that were not counted, in deviations, and how large scores are."""
        lesson = self._lesson
        place = np.arange(len(lesson.rows))
        scores = np.zeros(lesson.learnt)
        for part in (0, 1):
            left_out = (place < lesson.learnt) & (place % 2 == part)
            found, _ = self._score((place < lesson.learnt) & ~left_out, few)
            scores[left_out[: lesson.learnt]] = found[left_out]
        margins = np.where(lesson.coins[: lesson.learnt], scores, -scores)
        size = float(np.sqrt(np.mean(scores**2))) if len(scores) else 0.0
        return find_strength(margins), size

    def learn(self, few: int | None, strength: float, size: float) -> Learnt:
        """Count all rows to learn from; a score is no larger than what was tried out allows."""
        lesson = self._lesson
        scores, telling = self._score(np.arange(len(lesson.rows)) < lesson.learnt, few)
        sure = max(strength, 0.1) * np.tanh(scores[lesson.learnt :] / (size or 1.0))
        named = {self._traits[i]: float(telling[i]) for i in np.flatnonzero(telling)}
        return Learnt(sure, self._view, named)

    def _score(self, counted: Bools, few: int | None) -> tuple[Floats, Floats]:
        """Return the scores of all rows by what the rows to count have, and how telling each trait is."""
        first, second = counted & self._lesson.coins, counted & ~self._lesson.coins
        sizes = max(1, int(first.sum())), max(1, int(second.sum()))
        a, b = (
            np.bincount(self._trait[mask[self._row]], minlength=len(self._traits)) for mask in (first, second)
        )
        share = (a + b + 1) / (sum(sizes) + 2)
        telling = (a / sizes[0] - b / sizes[1]) / np.sqrt(share * (1 - share))
        if few is not None:
            telling[np.argsort(-np.abs(telling), kind="stable")[few:]] = 0.0
        weights = np.log((a + 0.5) / (sizes[0] + 1)) - np.log((b + 0.5) / (sizes[1] + 1))
        weights[telling == 0] = 0.0
        raw = np.bincount(self._row, weights=weights[self._trait], minlength=len(counted))
        middle = (raw[first].sum() / sizes[0] + raw[second].sum() / sizes[1]) / 2
        return raw - middle, telling


def find_strength(margins: Floats) -> float:
    """Return by how many standard deviations more margins are above 0 than below, in the best share."""
    untied = margins[margins != 0]
    above = (untied > 0)[np.argsort(-np.abs(untied), kind="stable")]
    sizes = [size for size in (len(above) // share for share in _SHARES) if size >= _LEAST]
    return max(((2 * int(above[:size].sum()) - size) / math.sqrt(size) for size in sizes), default=0.0)
