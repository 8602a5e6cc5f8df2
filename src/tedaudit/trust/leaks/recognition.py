"""Tests that learn: outputs of two texts, or of twins, told apart by whatever is typical of either.

What is learnt comes from rewrites that are not judged.
"""

from collections.abc import Sequence

from tedaudit.nominal import Nominal
from tedaudit.trust.leaks.calls import Calls
from tedaudit.trust.leaks.outcomes import Outcome, pick_example
from tedaudit.trust.leaks.signs import judge_signs
from tedaudit.trust.leaks.sources import show
from tedaudit.trust.leaks.traits import Recogniser, list_traits
from tedaudit.trust.leaks.twins import Kind, Twin

LEARNT, JUDGED = 8, 4  # rewrites of each text of a pair that are learnt from, and that are judged


class KnownPairs:
    """Pairs of texts whose outputs an adversary knows well: several rewrites of each to learn from."""

    def __init__(self, calls: Calls, pairs: Sequence[tuple[str, str]]) -> None:
        self._calls, self._texts = calls, pairs
        self._tickets = [tuple(calls.ask_often(text, LEARNT + JUDGED) for text in pair) for pair in pairs]

    def judge(self, rate: float) -> list[Outcome]:
        """Return one outcome: whether two texts are told apart by their own earlier rewrites."""
        margins, texts, outputs, clues = [], [], [], []
        for pair, tickets in zip(self._texts, self._tickets, strict=True):
            sides = [[self._calls[ticket] for ticket in side] for side in tickets]
            traits = [[list_traits(output) for output in side] for side in sides]
            learnt = Recogniser(traits[0][:LEARNT], traits[1][:LEARNT])
            for i in range(LEARNT, LEARNT + JUDGED):
                margins.append(learnt.score(traits[0][i]) - learnt.score(traits[1][i]))
                texts.append(pair)
                outputs.append((show(sides[0][i]), show(sides[1][i])))
                clues.append(learnt.clue())
        clearest = max(range(len(margins)), key=lambda i: margins[i], default=-1)
        clue = clues[clearest] if clues else ("", "")
        outcome = Outcome(
            "recognition", "two texts", "outputs of two texts are told apart by earlier rewrites of each",
            "an output looks more like earlier ones of its own text", Nominal(self._calls.epsilon),
            judge_signs(margins, rate), rate, pick_example(margins, texts, outputs), clue,
        )  # fmt: skip
        return [outcome]


class TwinPairs:
    """Twins of one kind, two rewrites of each: one to learn from, one that is judged."""

    def __init__(self, calls: Calls, kind: Kind, twins: Sequence[Twin]) -> None:
        self._calls, self._kind, self._twins = calls, kind, twins
        self._tickets = [(calls.ask_often(t.first, 2), calls.ask_often(t.second, 2)) for t in twins]

    def judge(self, rate: float) -> list[Outcome]:
        """Return whether the thing itself comes back, and whether anything else tells the twins apart."""
        return [self._judge_thing(rate), self._judge_anything(rate)] if self._twins else []

    def _judge_thing(self, rate: float) -> Outcome:
        """Compare what the outputs of twins have of the thing in which they differ."""
        margins, twins, outputs = [], [], []
        for twin, tickets in zip(self._twins, self._tickets, strict=True):
            for first, second in zip(*tickets, strict=True):
                pair = self._calls[first], self._calls[second]
                scores = [self._kind.score(output.text, twin) for output in pair]
                margins.append(0.0 if any(output.error for output in pair) else scores[0] - scores[1])
                twins.append((twin.first, twin.second))
                outputs.append((show(pair[0]), show(pair[1])))
        return Outcome(
            "twins", self._kind.name, self._kind.culprit, self._kind.counted, Nominal(self._calls.epsilon),
            judge_signs(margins, rate), rate, pick_example(margins, twins, outputs),
        )  # fmt: skip

    def _judge_anything(self, rate: float) -> Outcome:
        traits = [[list_traits(self._calls[t]) for t in (*first, *second)] for first, second in self._tickets]
        learnt = Recogniser([row[0] for row in traits], [row[2] for row in traits])
        margins = [learnt.score(row[1]) - learnt.score(row[3]) for row in traits]
        outputs = [
            (show(self._calls[first[-1]]), show(self._calls[second[-1]])) for first, second in self._tickets
        ]
        example = pick_example(margins, [(t.first, t.second) for t in self._twins], outputs)
        return Outcome(
            "twins", self._kind.name,
            f"texts that differ in {_name_difference(self._kind)} alone are told apart",
            "an output looks more like those of its own side", Nominal(self._calls.epsilon),
            judge_signs(margins, rate), rate, example, learnt.clue(),
        )  # fmt: skip


_DIFFERENCES = {
    "case": "the case of letters", "length": "length", "sentences": "the number of sentences",
    "word order": "the order of two words",
}  # fmt: skip


def _name_difference(kind: Kind) -> str:
    return _DIFFERENCES.get(kind.name, f"one {kind.name}")
