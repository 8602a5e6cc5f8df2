"""A fixed seed in a function's module: two fresh processes that make the same calls have the same noise.

Both processes rewrite pairs of texts; in the second one a coin decides for each pair whether its texts are
exchanged. If both outputs of a pair are the same in both processes, that tells that they were not; if neither
is, that they were. Guessing the coin better than by chance needs outputs that depend on the text and repeat.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from tedaudit.leaks.outcomes import Compared, LeakTest, judge_pairs
from tedaudit.leaks.signs import Allowed
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Rewrite
from tedaudit.seeding import derive

_SECONDS = 120
_PROGRAM = """\
import json, sys
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Draw
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
