"""How often an audit accuses a mechanism that leaks nothing: many audits, each over two looks.

Two rewriters reveal nothing of their text: one returns a constant, the other words at random. Both
claim epsilon 0. A false alarm is a claim called violated, or a largest bound above 0, at either look; by
construction its probability is at most 0.005 an audit. Run:

    python benchmarks/false_alarms.py --audits 1000 --processes 2 --out benchmarks/results/false-alarms.json
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tedaudit
from tedaudit.corpora.files import Given

ATTACKS = ("lexical", "resample", "embedding", "trained", "ensemble")  # all that fit and need no judge
LOOKS = (150, 300)
ERROR = 0.005
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


def constant(text: str) -> str:  # noqa: ARG001
    """Return the same whatever the text."""
    return "nothing to see here"


def noise(text: str, seed: int) -> str:  # noqa: ARG001
    """Return words at random."""
    return " ".join(np.random.default_rng(seed).choice(WORDS, size=6))


FUNCTIONS = {"constant": constant, "noise": noise}


@dataclass(frozen=True)
class Alarm:
    """What one audit said: at each look, whether it accused, and the largest bound."""

    name: str
    seed: int
    violated: tuple[bool, ...]
    eps_emp: tuple[float, ...]

    @property
    def is_false(self) -> bool:
        """Whether a mechanism that leaks nothing was accused at either look."""
        return any(self.violated) or max(self.eps_emp) > 0


def audit_twice(work: tuple[str, int], attacks: Sequence[Any] = ATTACKS) -> Alarm:
    """Audit a function over two looks: half of the trials, then all of them."""
    name, seed = work
    chance = np.random.default_rng([seed, 1])
    texts = [f"{' '.join(chance.choice(WORDS, size=chance.integers(3, 10)))} {n}" for n in range(40)]
    violated, bounds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for trials in LOOKS:
            result = tedaudit.run(
                {
                    "corpus": {"name": "given", "live": Given(texts)},
                    "mechanisms": [FUNCTIONS[name]], "epsilons": [0.0], "attacks": list(attacks),
                    "plans": [{"k": 2, "lambda": 0}], "trials": trials, "seed": seed,
                    "out": str(Path(folder) / "run"),
                },
                page=False,
                announce=lambda _line: None,
            )  # fmt: skip
            violated.append(result.violated)
            bounds.append(result.eps_emp)
    return Alarm(name, seed, tuple(violated), tuple(bounds))


def main() -> None:
    """Audit, and write how often there was a false alarm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--audits", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    names = list(FUNCTIONS)
    work = [(names[number % len(names)], number) for number in range(given.audits)]
    with ProcessPoolExecutor(given.processes) as pool:
        alarms = list(pool.map(audit_twice, work, chunksize=4))
    found = {
        "audits": len(alarms), "attacks": ATTACKS, "looks": LOOKS, "error": ERROR,
        "version": tedaudit.__version__,
        "false_alarms": {name: sum(a.is_false for a in alarms if a.name == name) for name in names},
        "seeds_of_false_alarms": [alarm.seed for alarm in alarms if alarm.is_false],
    }  # fmt: skip
    text = json.dumps(found, indent=2)
    print(text)
    if given.out:
        given.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
