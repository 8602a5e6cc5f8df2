"""How often a run about persons, or with several releases, accuses a rewriter that keeps its claim.

    python benchmarks/persons_runs_null.py [RUNS] [WORKERS]

Every run is a whole audit: authors with uneven numbers of texts who recur in its trials, texts that share
words, four rewrites at most, 60 trials; error .2 for all rows of a run together. An alarm is a claim that is
called violated. At most .2 of the runs may raise one; 230 of 1,000 is three standard errors above.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import tedaudit

WORDS = tuple(f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmn")
SINGLE = list(WORDS)
PAIRS = [f"{WORDS[i]} {WORDS[(i * 7 + 1) % 20]}" for i in range(len(WORDS))]  # twenty second words recur
AUTHORS = [("ann", "bob", "cy")[i % 3] if i < 60 else "bob" for i in range(len(WORDS))]
SEEN: Mapping[str, Any] = {"author": AUTHORS, "texts": 4}

RELEASES: Mapping[str, Any] = {"releases": 4, "lambda_": 0}


def say_nothing(_: str) -> str:
    """Return the same for every text."""
    return "nothing"


def respond(slots: int) -> dict[str, Any]:
    """Return randomised response, which keeps its claim exactly."""
    return {"name": "word-rr", "slots": slots, "vocabulary": WORDS}


CASES: Mapping[str, tuple[Any, list[str], float, str, Mapping[str, Any]]] = {
    "constant": (say_nothing, SINGLE, 0.0, "lexical", SEEN),
    "constant, other texts known": (say_nothing, PAIRS, 0.0, "lexical", {**SEEN, "knows": "other"}),
    "randomised response": (respond(1), SINGLE, 2.0, "likelihood", SEEN),
    "randomised response, texts that share words": (respond(2), PAIRS, 1.0, "likelihood", SEEN),
    "randomised response, three authors": (respond(1), SINGLE, 2.0, "likelihood", {**SEEN, "k": 3}),
    "randomised response, four releases": (
        respond(1),
        SINGLE,
        2.0,
        "likelihood",
        {"releases": 4, "lambda_": 0},
    ),
}


def accuses(case: str, seed: int) -> bool:
    """Return whether one run calls the claim violated."""
    mechanism, texts, epsilon, attack, seen = CASES[case]
    found = tedaudit.audit(
        mechanism, texts, epsilon=epsilon, attack=attack, trials=60, alpha=0.4, seed=seed,
        announce=lambda _: None, **seen,
    )  # fmt: skip
    return found.violated


def main() -> None:
    """Print the alarms of every case."""
    runs, workers = (int(sys.argv[i]) if len(sys.argv) > i else (1000, 2)[i - 1] for i in (1, 2))
    alarms: Counter[str] = Counter()
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for case in CASES:
            found = pool.map(accuses, [case] * runs, range(runs), chunksize=10)
            alarms[case] = sum(found)
            print(f"{case}: {alarms[case]} of {runs} runs raise an alarm", flush=True)


if __name__ == "__main__":
    main()
