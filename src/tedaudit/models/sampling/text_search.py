"""How probable a text is as a release, from both sides, if many draws of tokens are written as it.

Every draw that is written as the text starts with one of a set of beginnings, none of which starts with
another; at first that is the empty one alone. One of them is taken out, and the model reads it with a way to
finish it: that tells the probabilities of all other ways to go on, too, at every token. What is finished adds
to the lower end, and where a draw goes on otherwise there is a new beginning. The upper end is the lower one
and all beginnings that are left.

A beginning from which a draw needs more tokens than it may still have is none. So a text that needs all of
its tokens has few draws, and the ends meet. A text that was ended early has more draws than anybody can
read: beginnings are far likelier than what becomes of them, and the upper end says little. The lower end is
then as good as the draws that are read first, and nothing is read that promises little.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tedaudit.models.sampling.text_draws import ENDED, Ints, TextDraws
from tedaudit.plugins.values import Floats

_NEAR = float(np.log(0.01))  # ends that differ by a hundredth are near enough
_TOGETHER = 64  # searches side by side: the model reads a batch, and memory is bounded
_BEGINNING = np.dtype(
    [("path", int), ("depth", int), ("token", int), ("place", int), ("left", int), ("mass", float)]
)
"""Where it was found (a path that was read, and how much of it is kept), the token that follows there, the
place that this leads to, how many tokens may follow, and the log-probability."""

Tokens = tuple[int, ...]
Reader = Callable[[Sequence[tuple[Tokens, Tokens]], Sequence[Ints]], Sequence[Floats]]
"""Tells, for each prompt and what follows it, the log-probabilities of tokens asked for in every place."""
Checker = Callable[[Sequence[tuple[int, Tokens]]], Sequence[bool]]
"""Tells of draws, each with the number of what is sought, whether they are written as the text."""


class Sought(NamedTuple):
    """The draws of a text, what the model reads before it draws, and the most tokens that it draws."""

    draws: TextDraws
    prompt: Tokens
    limit: int


class Found(NamedTuple):
    """Both ends of a log-probability, and a guess: the lower one and what beginnings may become."""

    lower: float
    upper: float
    guess: float


IMPOSSIBLE = Found(-np.inf, -np.inf, -np.inf)


def search(sought: Sequence[Sought], read: Reader, are_written: Checker, budget: int) -> list[Found]:
    """Return what is found with at most `budget` readings each.

    What the graph holds for a draw of the text, and is not written as it, is in the upper end alone.
    """
    found: list[Found] = []
    for start in range(0, len(sought), _TOGETHER):
        some = [_Search(one, budget) for one in sought[start : start + _TOGETHER]]
        while going := [(number, one) for number, one in enumerate(some, start) if one.goes_on()]:
            for _, one in going:
                one.choose()
            answers = read([(one.prompt, one.path) for _, one in going], [one.asked for _, one in going])
            finished = [
                (number, one, tokens, mass)
                for (number, one), answer in zip(going, answers, strict=True)
                for tokens, mass in one.take(answer)
            ]
            written = are_written([(number, tokens) for number, _, tokens, _ in finished])
            for (_, one, _, mass), is_written in zip(finished, written, strict=True):
                one.add(mass, is_written=is_written)
        found += [one.tell() for one in some]
    return found


class _Search:
    """The search for one text after one prompt."""

    def __init__(self, sought: Sought, budget: int) -> None:
        draws, self.prompt, self._limit = sought
        self._draws, self._budget = draws, budget
        self._ways, self._fewest = draws.count(self._limit)
        self._lower = self._unwritten = -np.inf
        self._paths: list[Tokens] = []
        self._cost = 0.0  # of a token that nothing is known of
        self._known = np.full(self._fewest.shape, np.nan)  # what became of beginnings that led to a place
        self._hopes = np.zeros(self._fewest.shape)  # what may become of them
        self._open = np.array([(0, 0, 0, 0, self._limit, 0.0)], dtype=_BEGINNING)
        self._open = self._open[self._ways[self._open["place"], self._open["left"]] > 0]

    def goes_on(self) -> bool:
        """Return whether the ends are apart, and another reading is allowed and worth it.

        It is if much is hoped for, or if all that is left can be read.
        """
        left = self._budget - len(self._paths)
        beginnings = self._open
        if left <= 0 or _add_up(beginnings["mass"]) <= self._lower + _NEAR:
            return False
        if _add_up(beginnings["mass"] + self._hope()) > self._lower + _NEAR:
            return True
        return bool(self._ways[beginnings["place"], beginnings["left"]].sum() <= left)

    def choose(self) -> None:
        """Take out the beginning that promises most, and find a way to finish it with few tokens."""
        best = int(np.argmax(self._open["mass"] + self._hope()))
        path, depth, token, place, left, mass = self._open[best].tolist()
        self._open = np.delete(self._open, best)
        self._start = (*self._paths[path][:depth], token) if self._paths else ()
        self._mass = mass
        rest, self._places = self._finish(place, left)
        self.path = (*self._start, *rest)
        self.asked = np.zeros((len(self.path), max(map(len, self._options()))), dtype=np.int64)
        for row, options in enumerate(self._options(), len(self._start)):
            self.asked[row, : len(options)] = options

    def take(self, answer: Floats) -> Iterator[tuple[Tokens, float]]:
        """Yield the draws that the path and its ways to go on finish, and note all new beginnings."""
        number, mass, masses = len(self._paths), self._mass, []
        self._paths.append(self.path)
        found = [self._open]
        for depth, place in enumerate(self._places, len(self._start)):
            masses.append(mass)
            tokens, targets = self._draws.tokens[place], self._draws.targets[place]
            after, left = mass + answer[depth, : len(tokens)], self._limit - depth - 1
            is_possible = (after > -np.inf) & (self._ways[targets, left] > 0)
            is_finished = is_possible & ((targets == ENDED) | (left == 0))
            for option in np.flatnonzero(is_finished).tolist():
                yield (*self.path[:depth], int(tokens[option])), float(after[option])
            is_own = tokens == self.path[depth]
            going = np.flatnonzero(is_possible & ~is_finished & ~is_own)
            new = np.zeros(len(going), dtype=_BEGINNING)
            new["path"], new["depth"], new["left"] = number, depth, left
            new["token"], new["place"], new["mass"] = tokens[going], targets[going], after[going]
            found.append(new)
            [mass] = after[is_own]
            if mass == -np.inf:
                break
        self._open = np.concatenate(found)
        self._learn(masses, float(mass))

    def _learn(self, masses: Sequence[float], last: float) -> None:
        """Note what became of a path, and what a token of the first one has cost by mean or median.

        The lower counts: other ways must not look worse than they are because a few tokens are unlikely.
        """
        if len(self._paths) == 1:
            costs = -np.diff([*masses, last])
            possible = costs[costs < np.inf]
            self._cost = float(min(possible.mean(), np.median(possible))) if len(possible) else 0.0
        if last > -np.inf:
            for depth, (place, mass) in enumerate(zip(self._places, masses, strict=True), len(self._start)):
                fewest = self._fewest[place]
                self._known[place, fewest == fewest[self._limit - depth]] = last - mass
        self._hopes = self._draws.expect(self._known, self._cost)

    def add(self, mass: float, *, is_written: bool) -> None:
        """Count a draw that is finished."""
        if is_written:
            self._lower = float(np.logaddexp(self._lower, mass))
        else:
            self._unwritten = float(np.logaddexp(self._unwritten, mass))

    def tell(self) -> Found:
        """Return what was found."""
        masses = self._open["mass"]
        upper, guess = (
            _add_up(np.append(terms, [self._lower, self._unwritten]))
            for terms in (masses, masses + self._hope())
        )
        return Found(self._lower, upper, guess)

    def _hope(self) -> Floats:
        """Return a guess of the log-probability that each beginning becomes the text.

        It is what became of another that led to the same place, or a way to such a place.
        """
        hope: Floats = self._hopes[self._open["place"], self._open["left"]]
        return hope

    def _finish(self, place: int, left: int) -> tuple[list[int], list[int]]:
        """Return the fewest tokens that finish a draw, and the places where they are drawn."""
        rest: list[int] = []
        places: list[int] = []
        while place != ENDED and left > 0:
            places.append(place)
            targets, left = self._draws.targets[place], left - 1
            option = int(np.argmin(self._fewest[targets, left]))
            rest.append(int(self._draws.tokens[place][option]))
            place = int(targets[option])
        return rest, places

    def _options(self) -> list[npt.NDArray[np.int64]]:
        return [self._draws.tokens[place] for place in self._places]


def _add_up(masses: Floats) -> float:
    """Return the logarithm of the sum; from scratch each time, because differences would lose small ones."""
    return float(np.logaddexp.reduce(masses))
