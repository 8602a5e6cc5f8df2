"""State between calls: the same text after one text, and after another; and after itself.

Which of the two comes first is drawn by a coin, so that a mechanism that counts its calls is no leak.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tedaudit.nominal import Nominal
from tedaudit.seeding import derive
from tedaudit.text.words import split_words
from tedaudit.trust.leaks.calls import Calls
from tedaudit.trust.leaks.copy_profile import Aspect
from tedaudit.trust.leaks.outcomes import Compared, LeakTest, judge_pairs, show
from tedaudit.trust.leaks.signs import Allowed, list_traits
from tedaudit.types import Rewrite

_WORDS = Aspect("words", "", lambda text: {word.casefold() for word in split_words(text)})


def judge_state(calls: Calls, texts: Sequence[str], count: int, *, together: bool) -> list[LeakTest]:
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
             "an output is more like the one after the same text than like the one after another"), likeness,
            epsilon,
        ),
    ]  # fmt: skip


def judge_repeats(calls: Calls, texts: Sequence[str], count: int) -> LeakTest:
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
        "the output of a repeated text is more like that of another repeated text than like a new one's",
    )  # fmt: skip
    return judge_pairs(words, pairs, Nominal(calls.epsilon))


def judge_duplicates(calls: Calls, texts: Sequence[str], count: int, allowed: Allowed) -> LeakTest:
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


# --- A fixed seed in a function's module: two fresh processes that make the same calls have the same noise.
#
# Both processes rewrite pairs of texts; in the second one a coin decides for each pair whether its texts
# are exchanged. If both outputs of a pair are the same in both processes, that tells that they were not; if
# neither is, that they were. Guessing the coin better than by chance needs outputs that depend on the text
# and repeat.

_SECONDS = 120
_PROGRAM = """\
import json, sys
from tedaudit.plugins.registry import Reference, build
from tedaudit.types import Draw
asked = json.load(sys.stdin)
sys.path[:] = asked["path"]
plugin = build(Reference("mechanism", asked["name"]))
epsilon = float(asked["epsilon"])
made = [plugin.rewrite([Draw(text, epsilon, key)])[0] for text, key in asked["draws"]]
print("\\n" + json.dumps([[output.text, output.error] for output in made]))
"""


def judge_processes(
    name: str, epsilon: float, pairs: Sequence[tuple[str, str]], seed: int, allowed: Allowed
) -> LeakTest | str:
    """Return whether two fresh processes have the same noise, or why that could not be found out."""
    coins = np.random.default_rng(derive(seed, "processes")).integers(2, size=len(pairs))
    turned = [(b, a) if coin else (a, b) for (a, b), coin in zip(pairs, coins, strict=True)]
    with ThreadPoolExecutor(2) as pool:  # both at once: starting them takes most of the time
        first, second = pool.map(
            lambda run: _run(name, epsilon, *run),
            [(pairs, derive(seed, "first process")), (turned, derive(seed, "second process"))],
        )
    if isinstance(first, str):
        return first
    if isinstance(second, str):
        return second
    compared = []
    for i, coin in enumerate(coins):
        here, there = first[2 * i : 2 * i + 2], second[2 * i : 2 * i + 2]
        equal = sum(a == b for a, b in zip(here, there, strict=True))
        margin = float(equal - 1) * (-1 if coin else 1)
        compared.append(Compared(margin, pairs[i], (here[0], here[1]), repeats=equal == 2))
    words = (
        "determinism", "fresh process",
        "two fresh processes that make the same calls release the same outputs",
        "equal outputs tell that the texts were the same",
    )  # fmt: skip
    return judge_pairs(words, compared, Nominal(epsilon), allowed)


def _run(name: str, epsilon: float, pairs: Sequence[tuple[str, str]], seed: int) -> list[Rewrite] | str:
    """Return the outputs of a fresh process, or what went wrong with it."""
    texts = [text for pair in pairs for text in pair]
    asked = {
        "name": name, "epsilon": repr(float(epsilon)), "path": [str(Path.cwd()), *sys.path],
        "draws": [(text, derive(seed, number)) for number, text in enumerate(texts)],
    }  # fmt: skip
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, and the code that the user named
            [sys.executable, "-c", _PROGRAM], input=json.dumps(asked), capture_output=True, text=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"a fresh process took more than {_SECONDS} seconds"
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        return f"a fresh process could not run '{name}' (exit code {done.returncode})"
    return [Rewrite(text, error=error) for text, error in json.loads(lines[-1])]
