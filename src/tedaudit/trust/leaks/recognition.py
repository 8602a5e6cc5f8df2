"""Tests that learn: outputs of two texts, or of twins, told apart by whatever is typical of either.

What is learnt comes from rewrites that are not judged.
"""

from collections.abc import Sequence

from tedaudit.nominal import Nominal
from tedaudit.trust.leaks.calls import Calls
from tedaudit.trust.leaks.outcomes import Back, Compared, LeakTest, judge_pairs
from tedaudit.trust.leaks.signs import Allowed, Recogniser, list_traits
from tedaudit.trust.leaks.twins import Kind, Twin

LEARNT, JUDGED = 8, 4  # rewrites of each text of a pair that are learnt from, and that are judged


class KnownPairs:
    """Pairs of texts whose outputs an adversary knows well: several rewrites of each to learn from."""

    def __init__(self, calls: Calls, pairs: Sequence[tuple[str, str]]) -> None:
        self._calls, self._texts = calls, pairs
        self._tickets = [tuple(calls.ask_often(text, LEARNT + JUDGED) for text in pair) for pair in pairs]

    def judge(self, allowed: Allowed) -> list[LeakTest]:
        """Return one outcome: whether two texts are told apart by their own earlier rewrites."""
        pairs, clues = [], []
        for texts, tickets in zip(self._texts, self._tickets, strict=True):
            first, second = ([self._calls[ticket] for ticket in side] for side in tickets)
            traits = [[list_traits(output) for output in side] for side in (first, second)]
            learnt = Recogniser(traits[0][:LEARNT], traits[1][:LEARNT])
            for i in range(LEARNT, LEARNT + JUDGED):
                margin = learnt.score(traits[0][i]) - learnt.score(traits[1][i])
                repeats = first[i] in first[:LEARNT] or second[i] in second[:LEARNT]
                pairs.append(Compared(margin, texts, (first[i], second[i]), repeats))
                clues.append(learnt.clue())
        clearest = max(range(len(pairs)), key=lambda i: pairs[i].margin, default=-1)
        words = (
            "recognition", "two texts", "outputs of two texts are told apart by earlier rewrites of each",
            "an output looks more like earlier ones of its own text",
        )  # fmt: skip
        clue = clues[clearest] if clues else ("", "")
        return [judge_pairs(words, pairs, Nominal(self._calls.epsilon), allowed, clue=clue)]


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
        rows = [[self._calls[t] for t in (*first, *second)] for first, second in self._tickets]
        traits = [[list_traits(output) for output in row] for row in rows]
        learnt = Recogniser([row[0] for row in traits], [row[2] for row in traits])
        pairs = [
            Compared(
                learnt.score(seen[1]) - learnt.score(seen[3]), (twin.first, twin.second), (row[1], row[3]),
                row[1] == row[0] or row[3] == row[2],
            )
            for twin, row, seen in zip(self._twins, rows, traits, strict=True)
        ]  # fmt: skip
        words = (
            "twins", self._kind.name,
            f"texts that differ in {_name_difference(self._kind)} alone are told apart",
            "an output looks more like those of its own side",
        )  # fmt: skip
        return judge_pairs(words, pairs, Nominal(self._calls.epsilon), allowed, clue=learnt.clue())


_DIFFERENCES = {
    "case": "the case of letters", "length": "length", "sentences": "the number of sentences",
    "word order": "the order of two words",
}  # fmt: skip


def _name_difference(kind: Kind) -> str:
    return _DIFFERENCES.get(kind.name, f"one {kind.name}")
