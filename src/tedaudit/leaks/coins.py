"""The function is called on fair coins: two texts, and a coin for every call that says which of them comes.

A learner is given the first half of the outputs with their coins, and is then frozen. What it guesses of the
second half is right with probability 1/2 if outputs do not depend on the text, whatever the function
remembers. So is what it guesses of an *earlier* text (or of the one beside it in a call) if a function
remembers nothing, whatever it tells of a text in its own output: targets and witnesses are kept apart, so
that no output is read whose own coin is guessed.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from tedaudit.leaks.calls import Calls
from tedaudit.leaks.outcomes import TIMING, Compared, LeakTest, TwinExample, is_copy, judge_pairs, show
from tedaudit.leaks.signs import CHANCE, Allowed
from tedaudit.leaks.views import (
    Bools,
    Learnt,
    Lesson,
    Seen,
    Trait,
    compare_two,
    find_strength,
    learn,
    list_views,
    rank_in_call,
)
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Rewrite
from tedaudit.seeding import derive

Pair = tuple[str, str]
Words = tuple[str, str, str, str]
LAGS = (1, 2, 3)
SIZES = (1, 2, 4)
_SHOWN = 4  # telling pieces of an output
_NO_COPY = Rewrite("", error="no copy")


@dataclass(frozen=True, slots=True)
class _Row:
    """A row that is guessed: what is seen, and its coin, which is true for the first text.

    An example shows the output, with the one beside it that it was compared with.
    """

    seen: Seen
    coin: bool
    output: Rewrite
    beside: Rewrite | None = None

    def show(self) -> str:
        """Return the output as an example shows it, with the one that it was compared with."""
        return show(self.output) if self.beside is None else f"{show(self.beside)} | {show(self.output)}"


def _judge(
    words: Words, rows: Sequence[tuple[Pair, Sequence[_Row]]], epsilon: Nominal, allowed: Allowed
) -> LeakTest:
    """Return whether coins are guessed better than is allowed; each pair has rows in the order of time."""
    lessons = [
        Lesson([row.seen for row in own], np.array([row.coin for row in own], dtype=np.bool_), len(own) // 2)
        for _, own in rows
    ]
    compared: list[Compared] = []
    examples: list[tuple[float, TwinExample, Trait]] = []
    for (texts, own), lesson, learnt in zip(rows, lessons, learn(lessons), strict=True):
        signed = np.where(lesson.coins[lesson.learnt :], learnt.scores, -learnt.scores)
        seen = _find_plainest(texts, own, lesson.learnt)
        compared += [Compared(float(margin), *seen) for margin in signed]
        examples += _make_example(texts, own[lesson.learnt :], signed, learnt)
    _, example, clue = max(examples, key=lambda found: found[0], default=(0.0, None, ("", "")))
    told = judge_pairs(words, compared, epsilon, allowed, clue=clue)
    return replace(told, example=example)


def _find_plainest(
    texts: Pair, rows: Sequence[_Row], learnt: int
) -> tuple[Pair, tuple[Rewrite, Rewrite], bool]:
    """Return the texts of a pair, an output of each that is its copy, if there is one, and if outputs repeat.

    If one text comes back whole, or has the same output again, that tells the other's outputs too.
    """
    outputs = [[row.output for row in rows if row.coin == coin] for coin in (True, False)]
    first, second = (
        next((output for output in own if is_copy(text, output)), _NO_COPY)
        for text, own in zip(texts, outputs, strict=True)
    )
    early = {(row.coin, row.output.text, row.output.error) for row in rows[:learnt]}
    repeats = any((row.coin, row.output.text, row.output.error) in early for row in rows[learnt:])
    return texts, (first, second), repeats


def _make_example(
    texts: Pair, rows: Sequence[_Row], margins: np.ndarray, learnt: Learnt
) -> list[tuple[float, TwinExample, Trait]]:
    """Return how well a pair is told apart, with the surest right guess of either text, if there is one."""
    best = []
    for coin in (True, False):
        own = [(float(margin), number) for number, (row, margin) in enumerate(zip(rows, margins, strict=True))
               if row.coin == coin and margin > 0]  # fmt: skip
        if not own:
            return []
        best.append(max(own))
    first, second = (rows[number] for _, number in best)
    differs = _list_telling(first, learnt), _list_telling(second, learnt)
    example = TwinExample(texts, (first.show(), second.show()), differs=differs)
    return [(find_strength(margins), example, learnt.clue)]


def _list_telling(row: _Row, learnt: Learnt) -> tuple[str, ...]:
    """Return the traits of a row that tell most for its text, as they are shown."""
    sign = 1 if row.coin else -1
    known = [trait for trait in row.seen.get(learnt.view, ()) if sign * learnt.telling.get(trait, 0.0) > 0]
    known.sort(key=lambda trait: -abs(learnt.telling[trait]))
    return tuple(" ".join(trait) for trait in known[:_SHOWN])


class CoinPairs:
    """Pairs of texts, one of which is rewritten in every row; judged when all calls are done."""

    def __init__(self, calls: Calls, rows: int) -> None:
        self._calls, self._rows = calls, rows
        self._asked: list[tuple[Pair, Bools, list[int]]] = []

    def ask(self, pairs: Sequence[Pair]) -> None:
        """Ask for rows of more pairs."""
        for pair in pairs:
            rng = np.random.default_rng(derive(self._calls.seed, "coins", len(self._asked)))
            coins = rng.integers(2, size=self._rows).astype(np.bool_)
            tickets = [self._calls.ask(pair[0] if coin else pair[1]) for coin in coins]
            self._asked.append((pair, coins, tickets))

    def judge(self, allowed: Allowed) -> list[LeakTest]:
        """Return one outcome: whether two texts are told apart by earlier rewrites of each."""
        rows = []
        for pair, coins, tickets in self._asked:
            outputs = [self._calls[ticket] for ticket in tickets]
            rows.append(
                (pair, [_Row(list_views(o), bool(c), o) for o, c in zip(outputs, coins, strict=True)])
            )
        words = (
            "recognition", "two texts", "outputs of two texts are told apart by earlier rewrites of each",
            "an output looks more like earlier ones of its own text",
        )  # fmt: skip
        return [_judge(words, rows, Nominal(self._calls.epsilon), allowed.of_one)]


@dataclass(frozen=True, slots=True)
class _Call:
    """One call of a sequence: which of two texts came in each place, and what came out."""

    coins: tuple[bool, ...]
    outputs: list[Rewrite]
    seconds: float


def judge_sequences(
    calls: Calls, pairs: Sequence[Pair], count: int, allowed: Allowed, *, in_lists: bool, timing: bool
) -> list[LeakTest]:
    """Return what outputs tell of their own text in small calls, of earlier texts, and of those beside it.

    `count` is the number of calls with one text; there are half as many texts in calls of 2, and of 4.
    """
    rng = np.random.default_rng(derive(calls.seed, "sequences"))
    numbers = dict(zip(SIZES, (count, count // 4, count // 8), strict=True)) if in_lists else {1: count}
    made = {
        size: [(pair, _follow_coins(calls, pair, size, number, rng)) for pair in pairs]
        for size, number in numbers.items()
    }
    epsilon = Nominal(calls.epsilon)
    small = [
        (pair, [row for call in own for row in _look(call.outputs, call.coins)])
        for size in made
        for pair, own in made[size]
    ]
    tests = [_judge(_SMALL, small, epsilon, allowed.of_one)]
    tests += [
        _judge(_name_lag(lag), [(pair, _look_back(own, lag)) for pair, own in made[1]], epsilon, CHANCE)
        for lag in LAGS
    ]
    equal = [(_EQUALITY, _compare_neighbours(own)) for _, own in made[1]]
    tests.append(_judge(_name_equality("two calls"), equal, epsilon, allowed.of_equality))
    if in_lists:
        lists = [(pair, own) for size in SIZES[1:] for pair, own in made[size]]
        beside = [(pair, _look_beside(own)) for pair, own in lists]
        tests.append(_judge(_BESIDE, beside, epsilon, CHANCE))
        ranks = [(pair, _rank(own)) for pair, own in lists]
        tests.append(_judge(_PLACE, ranks, epsilon, allowed.of_one))
        equal = [(_EQUALITY, _compare_neighbours(own)) for _, own in lists]
        tests.append(_judge(_name_equality("the same call"), equal, epsilon, allowed.of_equality))
    if timing:
        times = [(pair, _look_at_clock(own)) for pair, own in made[1]]
        tests.append(_judge(_TIMING, times, epsilon, allowed.of_one))
    return tests


def judge_repeats(calls: Calls, texts: Sequence[str], count: int) -> LeakTest:
    """Return whether an output tells that its text came before: a coin says whether a new text is repeated.

    All texts are new: ones of these with a number after them. Only the second output is read, whose text
    is as likely to be either: so whatever it tells of its text, it tells nothing of the coin.
    """
    rng = np.random.default_rng(derive(calls.seed, "repeats"))
    rows = []
    for _ in range(count):
        text, other = (texts[int(place)] for place in rng.integers(len(texts), size=2))
        text, other = (f"{old} {int(rng.integers(10**9, 10**10))}" for old in (text, other))
        coin = bool(rng.integers(2))
        _, second = calls.follow([text, text if coin else other], together=False)
        rows.append(_Row(list_views(second), coin, second))
    pair = ("(a text that came before)", "(a new text)")
    return _judge(_REPEATED, [(pair, rows)], Nominal(calls.epsilon), CHANCE)


def _follow_coins(calls: Calls, pair: Pair, size: int, number: int, rng: np.random.Generator) -> list[_Call]:
    """Call the function on coins, one call after the other."""
    made = []
    for _ in range(number):
        coins = tuple(bool(coin) for coin in rng.integers(2, size=size))
        started = perf_counter()
        outputs = calls.follow([pair[0] if coin else pair[1] for coin in coins], together=True)
        made.append(_Call(coins, outputs, perf_counter() - started))
    return made


def _look(outputs: Sequence[Rewrite], coins: Sequence[bool]) -> list[_Row]:
    return [_Row(list_views(output), coin, output) for output, coin in zip(outputs, coins, strict=True)]


def _look_back(calls: Sequence[_Call], lag: int) -> list[_Row]:
    """Return witnesses, each with the coin of an earlier call that is no witness itself."""
    return [
        _Row(list_views(call.outputs[0]), before.coins[0], call.outputs[0])
        for time, (before, call) in enumerate(zip(calls, calls[lag:], strict=False), lag)
        if time // lag % 2
    ]


def _look_beside(calls: Sequence[_Call]) -> list[_Row]:
    """Return witnesses, each with the coin of its neighbour; which places are witnesses changes by call."""
    rows = []
    for number, call in enumerate(calls):
        for place in range(0, len(call.coins), 2):
            target, witness = (place, place + 1) if number % 2 else (place + 1, place)
            output = call.outputs[witness]
            rows.append(_Row(list_views(output), call.coins[target], output))
    return rows


def _rank(calls: Sequence[_Call]) -> list[_Row]:
    return [
        _Row(rank_in_call(call.outputs, place), coin, call.outputs[place])
        for call in calls
        for place, coin in enumerate(call.coins)
    ]


def _compare_neighbours(calls: Sequence[_Call]) -> list[_Row]:
    """Return pairs of outputs of a call, with whether their texts are equal; calls of one text go in twos."""
    coins = [coin for call in calls for coin in call.coins]
    outputs = [output for call in calls for output in call.outputs]
    twos = zip(coins[::2], coins[1::2], outputs[::2], outputs[1::2], strict=False)
    return [
        _Row(seen=compare_two(a, b), coin=first == second, output=b, beside=a) for first, second, a, b in twos
    ]


def _look_at_clock(calls: Sequence[_Call]) -> list[_Row]:
    """Return calls with how long they took, in steps of a fifth of the first half of all."""
    steps = np.quantile([call.seconds for call in calls[: len(calls) // 2]], [0.2, 0.4, 0.6, 0.8])
    return [
        _Row({"duration": [("duration", f"step {int(np.searchsorted(steps, call.seconds)) + 1} of 5")]},
             call.coins[0], call.outputs[0])
        for call in calls
    ]  # fmt: skip


_EQUALITY = ("(equal texts)", "(different texts)")
_SMALL = (
    "recognition", "two texts in small calls",
    "outputs of two texts are told apart in calls of one text or a few",
    "an output looks more like earlier ones of its own text",
)  # fmt: skip
_BESIDE = (
    "state", "text beside it in the same call", "the output depends on the text beside it in the same call",
    "an output looks more like earlier ones beside the same text",
)  # fmt: skip
_PLACE = (
    "recognition", "place among outputs", "how outputs of one call compare tells which text is whose",
    "the place of an output among those of its call is as it was before for its own text",
)  # fmt: skip
_REPEATED = (
    "state", "repeated text", "the output tells whether its text came before",
    "an output looks more like earlier ones of repeated, or of new texts",
)  # fmt: skip
_TIMING = (
    TIMING, "duration", "how long a call takes tells its text",
    "a call takes as long as earlier ones of its own text",
)  # fmt: skip


def _name_equality(where: str) -> Words:
    return (
        "recognition", f"equal texts in {where}", f"outputs of {where} tell which texts are equal",
        "two outputs are as alike as earlier ones of equal, or of different texts",
    )  # fmt: skip


_CALLS_BACK = {1: "one call", 2: "two calls", 3: "three calls"}


def _name_lag(lag: int) -> Words:
    back = _CALLS_BACK[lag]
    return (
        "state", f"text {back} before", f"the output depends on the text {back} before",
        f"an output looks more like earlier ones {back} after the same text",
    )  # fmt: skip


# --- Suspects: texts whose two rewrites have in common what those of other texts do not.


def find_suspects(screened: Mapping[str, Sequence[Rewrite]], number: int, seed: int) -> list[Pair]:
    """Return pairs of a text whose rewrites both have some trait, and one of which none has it.

    A trait is suspicious if both rewrites of a text have it more often than two rewrites of different texts
    would. Nothing is concluded from it: whether two texts are told apart is judged on fresh rewrites.
    """
    texts = list(screened)
    has = [[_flatten(list_views(output)) for output in screened[text][:2]] for text in texts]
    once = [Counter(trait for own in has for trait in own[side]) for side in (0, 1)]
    both: dict[Trait, list[int]] = {}
    for place, (first, second) in enumerate(has):
        for trait in first & second:
            both.setdefault(trait, []).append(place)
    surprise = {
        trait: _find_surprise(len(places), once[0][trait] * once[1][trait] / len(texts))
        for trait, places in both.items()
    }
    rng, used, pairs = np.random.default_rng(seed), set[int](), list[Pair]()
    for trait in sorted(surprise, key=lambda trait: (-surprise[trait], trait)):
        those = [place for place in both[trait] if place not in used]
        others = [
            place for place, own in enumerate(has) if place not in used and trait not in own[0] | own[1]
        ]
        if 2 * len(those) > len(both[trait]) and others:
            pair = int(rng.choice(those)), int(rng.choice(others))
            used.update((*those, pair[1]))
            pairs.append((texts[pair[0]], texts[pair[1]]))
        if len(pairs) == number:
            break
    return pairs


def _flatten(seen: Seen) -> frozenset[Trait]:
    return frozenset(trait for traits in seen.values() for trait in traits)


def _find_surprise(found: int, expected: float) -> float:
    """Return how much rarer than likely it is to find so many, as the log of a ratio of Poisson laws."""
    return found * math.log(found / expected) - (found - expected) if found > expected else 0.0
