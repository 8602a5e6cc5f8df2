"""How often the battery of `tedaudit leaks` finds something on rewriters whose outputs depend on no text.

python benchmarks/leaks_null.py --batteries 140 --trials 100
"""

import argparse
import random
import time
from collections.abc import Callable

import numpy as np

from tedaudit.api import load_corpus
from tedaudit.trust.leaks.finder import find_leaks

ENGLISH = list(load_corpus("demo").texts[:400])
WORDS = [*ENGLISH[0].split(), *ENGLISH[1].split(), "7", "42", "Anna", "the", "of", "?", "\n", "\u200b", " "]


def make_texts() -> list[list[str]]:
    """Return English texts, texts without spaces, and right-to-left ones."""
    rng = np.random.default_rng(5)

    def spell(first: int, size: int, shortest: int, longest: int) -> str:
        return "".join(
            chr(first + int(i)) for i in rng.integers(0, size, int(rng.integers(shortest, longest)))
        )

    han = [spell(0x4E00, 300, 3, 30) for _ in range(150)]
    hebrew = [" ".join(spell(0x5D0, 27, 2, 7) for _ in range(int(rng.integers(2, 15)))) for _ in range(150)]
    return [ENGLISH, han, hebrew]


def make_rewriters(seed: int) -> list[Callable[[str], str]]:
    """Return rewriters whose outputs have nothing to do with the text."""
    noise = random.Random(seed)  # noqa: S311 - repeatable, and nothing is protected
    calls = 0

    def count(text: str) -> str:  # noqa: ARG001
        nonlocal calls
        calls += 1
        return f"{calls} " * (calls % 7)

    def fail(text: str) -> str:
        if noise.random() < 0.3:
            raise ValueError(text)
        return noise.choice(WORDS) * noise.randrange(3)

    return [
        lambda text: "hello, there Anna 7",  # noqa: ARG005
        lambda text: " ".join(noise.choices(WORDS, k=noise.randrange(40))),  # noqa: ARG005
        lambda text: noise.choice(ENGLISH[:20]),  # noqa: ARG005
        fail,
        lambda text: " ".join(noise.choices(WORDS, k=int(noise.paretovariate(0.8)) % 2000)),  # noqa: ARG005
        count,
        lambda text: "".join(chr(0x4E00 + noise.randrange(50)) for _ in range(noise.randrange(30))),  # noqa: ARG005
        lambda texts: [" ".join(noise.choices(WORDS, k=9))] * len(texts),
    ]


def main() -> None:
    """Run the batteries and print how many found something, and the law of all p-values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batteries", type=int, default=140)
    parser.add_argument("--trials", type=int, default=100)
    asked = parser.parse_args()
    started, found, p_values = time.monotonic(), 0, []
    corpora = make_texts()
    for number in range(asked.batteries):
        rewriters = make_rewriters(number)
        rewriter = rewriters[number % len(rewriters)]
        report = find_leaks(rewriter, corpora[number // len(rewriters) % 3], trials=asked.trials, seed=number)
        p_values += [outcome.signs.p_value for outcome in report.outcomes]
        found += bool(report.findings)
        if report.findings:
            print(number, [(o.part, o.name, o.adjusted) for o in report.findings], flush=True)
    shares = {level: float(np.mean(np.array(p_values) <= level)) for level in (0.05, 0.01, 0.001)}
    print(f"{found} of {asked.batteries} batteries found something")
    print(f"{len(p_values):,} p-values; shares of them at most: {shares}")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
