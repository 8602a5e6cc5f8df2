"""Pairs of the user's own texts, two rewrites each: length, failure, repetition, and what is copied.

All tests of this part look at the same rewrites. The first rewrite of each text is what an adversary might
have made itself; the second is the one that is recognised by it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tedaudit.leaks.calls import Calls
from tedaudit.leaks.copy_profile import ASPECTS, Aspect
from tedaudit.leaks.outcomes import Compared, LeakTest, judge_pairs
from tedaudit.leaks.signs import Allowed
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import DIGEST, Rewrite

Margin = Callable[["Pair"], float]
Test = tuple[str, str, str, Margin]  # its name, what is wrong, what is counted, and how


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts with their rewrites, as many of one as of the other."""

    texts: tuple[str, str]
    outputs: tuple[Sequence[Rewrite], Sequence[Rewrite]]

    @property
    def has_failed(self) -> bool:
        """Whether any of the rewrites failed."""
        return any(output.error for side in self.outputs for output in side)

    def split(self) -> list["Pair"]:
        """Return pairs with one rewrite of each text: each is exchanged on its own."""
        return [Pair(self.texts, ([a], [b])) for a, b in zip(*self.outputs, strict=True)]

    @property
    def last(self) -> tuple[Rewrite, Rewrite]:
        """The last output of each text."""
        first, second = self.outputs
        return first[-1], second[-1]

    @property
    def repeats(self) -> bool:
        """Whether a text has an output again."""
        return any(output == side[0] for side in self.outputs for output in side[1:])


def draw_pairs(texts: Sequence[str], count: int, seed: int, *, once: bool = False) -> list[tuple[str, str]]:
    """Return pairs of different texts at random; each text once as long as there are others, or if `once`."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(texts))
    pairs = [(texts[a], texts[b]) for a, b in zip(order[0::2], order[1::2], strict=False)][:count]
    while not once and len(pairs) < count:
        a, b = rng.choice(len(texts), size=2, replace=False)
        pairs.append((texts[a], texts[b]))
    return pairs


class SourcePairs:
    """Asks for the rewrites when it is made, and judges them when all calls are done."""

    def __init__(self, calls: Calls, pairs: Sequence[tuple[str, str]], draws: int = 2) -> None:
        self._calls, self._texts, self._draws = calls, pairs, draws
        self._tickets = [tuple(calls.ask_often(text, draws) for text in pair) for pair in pairs]

    def list_outputs(self) -> dict[str, list[Rewrite]]:
        """Return the rewrites of each text."""
        return {
            text: [self._calls[ticket] for ticket in tickets]
            for pair, sides in zip(self._texts, self._tickets, strict=True)
            for text, tickets in zip(pair, sides, strict=True)
        }

    def judge(self, allowed: Allowed) -> list[LeakTest]:
        """Return one outcome per channel and one per aspect of copying."""
        pairs = [
            Pair(texts, ([self._calls[t] for t in first], [self._calls[t] for t in second]))
            for texts, (first, second) in zip(self._texts, self._tickets, strict=True)
        ]
        single = [pair for both in pairs for pair in both.split()]
        epsilon = Nominal(self._calls.epsilon)
        outcomes = [_judge(single, test, epsilon, allowed) for test in LENGTHS]
        if self._draws > 1:
            outcomes += [_judge(pairs, test, epsilon, allowed) for test in REPETITIONS]
        return outcomes + [_judge_aspect(aspect, single, epsilon, allowed) for aspect in ASPECTS]


def _judge(pairs: Sequence[Pair], test: Test, epsilon: Nominal, allowed: Allowed) -> LeakTest:
    name, culprit, counted, margin = test
    compared = [
        Compared(margin=margin(pair), texts=pair.texts, outputs=pair.last, repeats=pair.repeats)
        for pair in pairs
    ]
    return judge_pairs(("channel", name, culprit, counted), compared, epsilon, allowed)


def _judge_aspect(aspect: Aspect, pairs: Sequence[Pair], epsilon: Nominal, allowed: Allowed) -> LeakTest:
    """Compare what the rewrites have of their own text with what they have of the other one."""
    tables = [aspect.compare(pair.texts, pair.last) for pair in pairs]
    having = [(pair, table) for pair, table in zip(pairs, tables, strict=True) if table is not None]
    compared = [
        Compared(float(table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]), pair.texts, pair.last)
        for pair, table in having
    ]
    figures = {}
    if having:
        mean = np.mean([table for _, table in having], axis=0)
        figures = {"own": float(np.trace(mean) / 2), "other": float((mean[0, 1] + mean[1, 0]) / 2)}
    counted = "a rewrite has more of them from its own text than from the other"
    words = ("copy", aspect.name, aspect.culprit, counted)
    return judge_pairs(words, compared, epsilon, allowed, mark=aspect.mark, figures=figures)


def _follow_length(pair: Pair) -> float:
    """Return how much longer the output of the longer text is."""
    if pair.has_failed:
        return 0.0
    sizes = [len(side[0].text) for side in pair.outputs]
    return float(np.sign(len(pair.texts[0]) - len(pair.texts[1])) * (sizes[0] - sizes[1]))


def _oppose_length(pair: Pair) -> float:
    return -_follow_length(pair)


def _repeat_length(pair: Pair) -> float:
    """Return how much nearer in length second outputs are to the first of their own text."""
    if pair.has_failed:
        return 0.0
    (a, c), (b, d) = ([len(output.text) for output in side] for side in pair.outputs)
    return float(abs(c - b) + abs(d - a) - abs(c - a) - abs(d - b))


def _repeat_failure(pair: Pair) -> float:
    return _count_repeats([[output.error.partition(DIGEST)[0] for output in side] for side in pair.outputs])


def _repeat_output(pair: Pair) -> float:
    if pair.has_failed:
        return 0.0
    return _count_repeats([[output.text for output in side] for side in pair.outputs])


def _count_repeats(values: Sequence[Sequence[str]]) -> float:
    """Return how much more often the second is like the first of its own text than like the other's."""
    (a, c), (b, d) = values
    return float((c == a) + (d == b) - (c == b) - (d == a))


LENGTHS: tuple[Test, ...] = (
    ("length", "the output's length follows the text's", "the longer text has the longer output",
     _follow_length),
    ("reversed length", "the longer the text, the shorter the output", "the longer text has the shorter one",
     _oppose_length),
)  # fmt: skip
REPETITIONS: tuple[Test, ...] = (
    ("repeated length", "the output's length depends on the text",
     "a second output is nearer in length to the first of its own text", _repeat_length),
    ("failure", "which texts fail, or with which code, depends on the text",
     "the text that failed before fails again, the other does not", _repeat_failure),
    ("same output", "a text gives its earlier output again more often than another text gives it",
     "a second output equals the first of its own text only", _repeat_output),
)  # fmt: skip
