"""State between calls: the same text after one text, and after another; and after itself.

Which of the two comes first is drawn by a coin, so that a mechanism that counts its calls is no leak.
"""

from collections.abc import Sequence

import numpy as np

from tedaudit.nominal import Nominal
from tedaudit.seeding import derive
from tedaudit.trust.leaks.calls import Calls
from tedaudit.trust.leaks.copy_profile import Aspect
from tedaudit.trust.leaks.outcomes import Compared, Outcome, judge_pairs, show
from tedaudit.trust.leaks.signs import Allowed
from tedaudit.trust.leaks.traits import list_traits
from tedaudit.types import Rewrite
from tedaudit.words import split_words

_WORDS = Aspect("words", "", lambda text: {word.casefold() for word in split_words(text)})


def judge_state(calls: Calls, texts: Sequence[str], count: int, *, together: bool) -> list[Outcome]:
    """Return whether an output depends on the text before it, in the same call or in an earlier one."""
    rng = np.random.default_rng(derive(calls.seed, "state", together))
    before, outputs = [], []
    for _ in range(count):
        own, *others = (texts[i] for i in rng.choice(len(texts), size=3, replace=False))
        before.append((others[0], others[1]))
        rounds = [_run_round(calls, own, others, bool(rng.integers(2)), together) for _ in range(2)]
        outputs.append((rounds[0], rounds[1]))
    where = "in the same call" if together else "in an earlier call"
    name = f"text before it, {where}"
    words = [
        Compared(_compare_words(pair, made), pair, made)
        for pair, rounds in zip(before, outputs, strict=True)
        for made in rounds
    ]
    likeness = [
        Compared(_compare_likeness(first, second), pair, second)
        for pair, (first, second) in zip(before, outputs, strict=True)
    ]
    epsilon = Nominal(calls.epsilon)
    return [
        judge_pairs(
            ("state", name, f"words of the text before it, {where}, come back",
             "an output has more words of the text before it than of another"), words, epsilon,
            mark=_WORDS.mark,
        ),
        judge_pairs(
            ("state", f"state, {where}", f"the output depends on the text before it, {where}",
             "an output is more like the one after the same text than like that after another"), likeness,
            epsilon,
        ),
    ]  # fmt: skip


def judge_repeats(calls: Calls, texts: Sequence[str], count: int) -> Outcome:
    """Return whether an output tells that its text came before: new texts after themselves, and after others.

    Which of two new texts is repeated, and which of them comes first, is drawn by a coin. So if outputs do
    not depend on earlier texts, both outputs of a pair have one law, and their exchange turns the sign.
    """
    rng = np.random.default_rng(derive(calls.seed, "repeats"))
    sources, outputs = [], []
    for _ in range(2 * count):
        repeated, other, before = (_make_new(texts, rng) for _ in range(3))
        sequences = {"repeated": [repeated, repeated], "new": [before, other]}
        order = ["repeated", "new"] if rng.integers(2) else ["new", "repeated"]
        made = {name: calls.follow(sequences[name], together=False)[1] for name in order}
        sources.append((repeated, other))
        outputs.append((made["repeated"], made["new"]))
    pairs = [
        Compared(_compare_likeness(outputs[i], outputs[i + 1]), sources[i], outputs[i])
        for i in range(0, len(outputs), 2)
    ]
    words = (
        "state", "repeated text", "the output tells whether its text came before",
        "an output of a text that comes again is more like that of another that does than like a new one's",
    )  # fmt: skip
    return judge_pairs(words, pairs, Nominal(calls.epsilon))


def judge_duplicates(calls: Calls, texts: Sequence[str], count: int, allowed: Allowed) -> Outcome:
    """Return whether the outputs of one call tell that two of its texts are equal.

    Which of the two calls comes first is drawn by a coin. Their second texts differ, so if every row has
    noise of its own, what two outputs may tell is allowed here too.
    """
    rng = np.random.default_rng(derive(calls.seed, "duplicates"))
    pairs = []
    for _ in range(count):
        text, other = (texts[i] for i in rng.choice(len(texts), size=2, replace=False))
        order = [text, other] if rng.integers(2) else [other, text]
        made = {second: calls.follow([text, second], together=True) for second in order}
        likeness = [_overlap(*map(list_traits, made[second])) for second in (text, other)]
        outputs = made[text][1], made[other][1]
        shown = f"{show(made[text][0])} | {show(outputs[0])}", f"{show(made[other][0])} | {show(outputs[1])}"
        is_same = made[text][0] == outputs[0]
        margin = round(likeness[0] - likeness[1], 9)
        pairs.append(Compared(margin, (text, other), outputs, is_same, shown))
    words = (
        "recognition", "equal texts, in the same call",
        "the outputs of one call tell which of its texts are equal",
        "two outputs of one call are more alike if their texts are equal",
    )  # fmt: skip
    return judge_pairs(words, pairs, Nominal(calls.epsilon), allowed)


def _make_new(texts: Sequence[str], rng: np.random.Generator) -> str:
    """Return a text that has not been rewritten before: one of these with a number after it."""
    return f"{texts[int(rng.integers(len(texts)))]} {int(rng.integers(10**9, 10**10))}"


def _run_round(
    calls: Calls, own: str, others: Sequence[str], is_reversed: bool, together: bool
) -> tuple[Rewrite, Rewrite]:
    """Return the outputs of a text after the first and after the second of two others."""
    made = {
        other: calls.follow([other, own], together=together)[1]
        for other in others[:: -1 if is_reversed else 1]
    }
    return made[others[0]], made[others[1]]


def _compare_words(before: tuple[str, str], made: tuple[Rewrite, Rewrite]) -> float:
    table = _WORDS.compare(before, made)
    return 0.0 if table is None else float(table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0])


def _compare_likeness(first: tuple[Rewrite, Rewrite], second: tuple[Rewrite, Rewrite]) -> float:
    a, b, c, d = (list_traits(output) for output in (*first, *second))
    return round(_overlap(c, a) + _overlap(d, b) - _overlap(c, b) - _overlap(d, a), 9)


def _overlap(first: frozenset[tuple[str, str]], second: frozenset[tuple[str, str]]) -> float:
    return len(first & second) / max(1, len(first | second))
