"""How often the battery of `tedaudit leaks` finds something on rewriters whose outputs depend on no text.

python benchmarks/leaks_null.py --batteries 1000 --error .2
"""

import argparse
import random
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from tedaudit.api import load_corpus
from tedaudit.leaks.finder import find_leaks

ENGLISH = list(load_corpus("demo").texts[:400])
WORDS = [*ENGLISH[0].split(), *ENGLISH[1].split(), "7", "42", "Anna", "the", "of", "?", "\n", "\u200b", " "]


def make_texts() -> list[list[str]]:
    """Return English texts, texts without spaces, right-to-left ones, and two English ones."""
    rng = np.random.default_rng(5)

    def spell(first: int, size: int, shortest: int, longest: int) -> str:
        return "".join(
            chr(first + int(i)) for i in rng.integers(0, size, int(rng.integers(shortest, longest)))
        )

    han = [spell(0x4E00, 300, 3, 30) for _ in range(150)]
    hebrew = [" ".join(spell(0x5D0, 27, 2, 7) for _ in range(int(rng.integers(2, 15)))) for _ in range(150)]
    return [ENGLISH, han, hebrew, ENGLISH[:2]]


def make_rewriters(seed: int) -> dict[str, Callable[..., Any]]:
    """Return rewriters whose outputs have nothing to do with the text, by name."""
    noise = random.Random(seed)  # noqa: S311 - repeatable, and nothing is protected
    calls, walk, said = count(1), [0.0], ["nothing yet"]

    def draw(words: int = 9) -> str:
        return " ".join(noise.choices(WORDS, k=words))

    def fail(text: str) -> str:  # noqa: ARG001
        if noise.random() < 0.3:
            raise noise.choice((ValueError, KeyError))(f"call {next(calls)} of {len(WORDS)}")
        return draw(noise.randrange(3))

    def drift(text: str) -> str:  # noqa: ARG001
        walk[0] += noise.gauss(0, 1)
        return draw(10 + int(abs(walk[0])) % 20)

    def repeat_itself(text: str) -> str:  # noqa: ARG001
        said[0] = said[0] if noise.random() < 0.7 else draw(5)
        return said[0]

    return {
        "constant": lambda text: "hello, there Anna 7",  # noqa: ARG005
        "random words": lambda text: draw(noise.randrange(40)),  # noqa: ARG005
        "one of twenty": lambda text: noise.choice(ENGLISH[:20]),  # noqa: ARG005
        "fails at random": fail,
        "heavy tails": lambda text: draw(int(noise.paretovariate(0.8)) % 2000),  # noqa: ARG005
        "counts calls": lambda text: f"{(number := next(calls))} " * (number % 7),  # noqa: ARG005
        "random characters": lambda text: "".join(  # noqa: ARG005
            chr(0x4E00 + noise.randrange(50)) for _ in range(noise.randrange(30))
        ),
        "one output a call": lambda texts: [draw()] * len(texts),
        "drifts": drift,
        "repeats itself": repeat_itself,
        "tells the place": lambda texts: [f"{i} of {len(texts)} {draw(4)}" for i in range(len(texts))],
        "sorted within the call": lambda texts: sorted(draw(4) for _ in texts),
        "kinds of nothing": lambda text: noise.choice(("", " ", "\n", None, 0)),  # noqa: ARG005
        "long outputs": lambda text: draw(400),  # noqa: ARG005
        "alternates": lambda text: ("yes", "no", draw(2))[next(calls) % 3],  # noqa: ARG005
    }


def run_battery(
    number: int, trials: int, error: float
) -> tuple[str, list[tuple[str, str, float]], list[float]]:
    """Run one battery; return the rewriter's kind, what was found, and all p-values."""
    rewriters, corpora = make_rewriters(number), make_texts()
    kind = list(rewriters)[number % len(rewriters)]
    texts = corpora[number // len(rewriters) % len(corpora)]
    report = find_leaks(rewriters[kind], texts, trials=trials, seed=number, error=error, timing=False)
    found = [(outcome.part, outcome.name, outcome.adjusted) for outcome in report.findings]
    return kind, found, [outcome.signs.p_value for outcome in report.outcomes]


def main() -> None:
    """Run the batteries and print how many found something, and the law of all p-values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batteries", type=int, default=150)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--error", type=float, default=0.2)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    started, alarms, sure, p_values = time.monotonic(), 0, 0, []
    with ProcessPoolExecutor(asked.workers) as pool:
        one = partial(run_battery, trials=asked.trials, error=asked.error)
        for number, (kind, found, values) in enumerate(pool.map(one, range(asked.batteries), chunksize=5)):
            p_values += values
            alarms += bool(found)
            sure += any(adjusted <= 0.005 for *_, adjusted in found)
            if found:
                print(number, kind, found, flush=True)
    shares = {level: float(np.mean(np.array(p_values) <= level)) for level in (0.05, 0.01, 0.001)}
    print(f"{alarms} of {asked.batteries} batteries found something at {asked.error:g}, {sure} at .005")
    print(f"{len(p_values):,} p-values; shares of them at most: {shares}")
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
