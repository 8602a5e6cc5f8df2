"""How often a run about persons, or with several releases, accuses a rewriter that keeps its claim.

    python benchmarks/persons_runs_null.py [RUNS] [WORKERS] [CASE ...]

Every run is a whole audit: authors with uneven numbers of texts who recur in its trials, texts that share
words, four rewrites at most, 60 trials; error .2 for all rows of a run together. An alarm is a claim that is
called violated. At most .2 of the runs may raise one; 230 of 1,000 is three standard errors above.

Texts that are released as they are tell nothing if all authors have the same. Two authors of m texts each who
share s of them are told apart by n in 1 - C(s, n) / (2 C(m, n)) of the trials; shares of right guesses are
printed.
"""

import sys
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

SAME = [word for word in WORDS[:30] for _ in "pqrs"]  # of four authors
EVERYBODY: Mapping[str, Any] = {"author": ["ann", "bob", "cy", "di"] * 30, "texts": 4}
HALF = [*WORDS[:8], *WORDS[4:12]]  # four words of two authors
BOTH: Mapping[str, Any] = {"author": ["ann"] * 8 + ["bob"] * 8, "texts": 4}

RELEASES: Mapping[str, Any] = {"releases": 4, "lambda_": 0}


def say_nothing(_: str) -> str:
    """Return the same for every text."""
    return "nothing"


def copy(text: str) -> str:
    """Return the text as it is."""
    return text


def respond(slots: int) -> dict[str, Any]:
    """Return randomised response, which keeps its claim exactly."""
    return {"name": "word-rr", "slots": slots, "vocabulary": WORDS}


NO_CLAIM: tuple[float, ...] = ()
CASES: Mapping[str, tuple[Any, list[str], Any, str, Mapping[str, Any]]] = {
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
    "copies, the same texts of all": (copy, SAME, 0.0, "lexical", EVERYBODY),
    "copies, the same texts of all, other texts known": (
        copy,
        SAME,
        0.0,
        "lexical",
        {**EVERYBODY, "knows": "other"},
    ),
    "copies, half of the texts shared": (copy, HALF, NO_CLAIM, "lexical", BOTH),
    "constant, half of the texts shared": (say_nothing, HALF, 0.0, "lexical", BOTH),
    "randomised response, half of the texts shared": (respond(1), HALF, 2.0, "likelihood", BOTH),
}


def audit(case: str, seed: int) -> tuple[bool, dict[int, float]]:
    """Return whether one run calls the claim violated, and the share of right guesses by rewrites."""
    mechanism, texts, epsilon, attack, seen = CASES[case]
    found = tedaudit.audit(
        mechanism, texts, epsilon=epsilon, attack=attack, trials=60, alpha=0.4, seed=seed,
        announce=lambda _: None, **seen,
    )  # fmt: skip
    return found.violated, {finding.rewrites: finding.bound.success for finding in found}


def main() -> None:
    """Print the alarms and the right guesses of every case, or of those that are named."""
    runs, workers = (int(sys.argv[i]) if len(sys.argv) > i else (1000, 2)[i - 1] for i in (1, 2))
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        for case in sys.argv[3:] or CASES:
            found = list(pool.map(audit, [case] * runs, range(runs), chunksize=10))
            alarms = sum(violated for violated, _ in found)
            right = ", ".join(f"{sum(r[n] for _, r in found) / runs:.3f} of {n}" for n in found[0][1])
            print(f"{case}: {alarms} of {runs} runs raise an alarm; right by rewrites: {right}", flush=True)


if __name__ == "__main__":
    main()
