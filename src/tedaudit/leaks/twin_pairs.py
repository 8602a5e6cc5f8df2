"""Twins in the battery: whether that in which they differ comes back, and whether anything tells them."""

from collections.abc import Sequence

import numpy as np

from tedaudit.leaks.calls import Calls
from tedaudit.leaks.outcomes import Back, Compared, LeakTest, judge_pairs
from tedaudit.leaks.signs import Allowed
from tedaudit.leaks.twins import Kind, Twin
from tedaudit.leaks.views import Lesson, learn, list_views
from tedaudit.plugins.nominal import Nominal


class TwinPairs:
    """Twins of one kind, two rewrites of each: one to learn from, one that is judged."""

    def __init__(self, calls: Calls, kind: Kind, twins: Sequence[Twin]) -> None:
        self._calls, self._kind, self._twins = calls, kind, twins
        self._tickets = [(calls.ask_often(t.first, 2), calls.ask_often(t.second, 2)) for t in twins]

    def judge(self, allowed: Allowed) -> list[LeakTest]:
        """Return whether the thing itself comes back, and whether anything else tells the twins apart."""
        return [self._judge_thing(allowed), self._judge_anything(allowed)] if self._twins else []

    def _judge_thing(self, allowed: Allowed) -> LeakTest:
        """Compare what the outputs of twins have of the thing in which they differ."""
        pairs = []
        for twin, tickets in zip(self._twins, self._tickets, strict=True):
            for first, second in zip(*tickets, strict=True):
                outputs = self._calls[first], self._calls[second]
                scores = [self._kind.score(output.text, twin) for output in outputs]
                margin = 0.0 if any(output.error for output in outputs) else scores[0] - scores[1]
                pairs.append(Compared(margin, (twin.first, twin.second), outputs))
        words = ("twins", self._kind.name, self._kind.culprit, self._kind.counted)
        return judge_pairs(words, pairs, Nominal(self._calls.epsilon), allowed, mark=self._mark)

    def _mark(self, pair: Compared) -> Back:
        """Return what stands in one twin only and in its output too."""
        twin = next(twin for twin in self._twins if (twin.first, twin.second) == pair.texts)
        first, second = (
            tuple(mark for mark in marks if mark and mark.casefold() in output.text.casefold())
            for marks, output in zip(self._kind.list_marks(twin), pair.outputs, strict=True)
        )
        return first, second

    def _judge_anything(self, allowed: Allowed) -> LeakTest:
        """Learn from first rewrites of all twins what tells one side from the other, and judge the second."""
        rows = [[self._calls[t] for t in (*first, *second)] for first, second in self._tickets]
        ordered = [row[place] for place in (0, 2, 1, 3) for row in rows]
        coins = np.repeat([True, False, True, False], len(rows))
        [learnt] = learn([Lesson([list_views(output) for output in ordered], coins, 2 * len(rows))])
        pairs = [
            Compared(
                margin=float(learnt.scores[i] - learnt.scores[len(rows) + i]),
                texts=(twin.first, twin.second),
                outputs=(row[1], row[3]),
                repeats=row[1] == row[0] or row[3] == row[2],
            )
            for i, (twin, row) in enumerate(zip(self._twins, rows, strict=True))
        ]
        words = (
            "twins", self._kind.name,
            f"texts that differ in {_name_difference(self._kind)} alone are told apart",
            "an output looks more like those of its own side",
        )  # fmt: skip
        return judge_pairs(words, pairs, Nominal(self._calls.epsilon), allowed, clue=learnt.clue)


_DIFFERENCES = {
    "case": "the case of letters", "length": "length", "sentences": "the number of sentences",
    "word order": "the order of two words",
}  # fmt: skip


def _name_difference(kind: Kind) -> str:
    return _DIFFERENCES.get(kind.name, f"one {kind.name}")
