"""How often `tedaudit link --author` alarms on rewriters that keep what they promise, whatever authors write.

Authors are uneven (from one text to dozens), texts of one author depend on each other, and some texts are
shared by several authors. An alarm is a bound for n texts above n times the true epsilon of one.

python benchmarks/persons_null.py --runs 1000 --error .2
"""

import argparse
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from tedaudit.plugins.batches import Guesses, Observations
from tedaudit.plugins.values import Array, Card, Observation
from tedaudit.results.row import Row
from tedaudit.studies.link.authors import (
    EVERYONE,
    PAIRED,
    People,
    expose,
    follow,
    gather_authors,
    judge_pairs,
)
from tedaudit.studies.link.ranks import show_nothing
from tedaudit.studies.link.table import ColumnNames, Release, read_release
from tedaudit.studies.link.trials import make_row

EPSILON = 1.0


@dataclass(frozen=True)
class Likelihood:
    """The log-likelihood of the first word under randomised response: at n = 1 nobody can do better."""

    words: int
    epsilon: float = EPSILON
    card: ClassVar[Card] = Card("exact", "The log-likelihood of a word.", score="text log-likelihood")

    def guess(self, seen: Sequence[Observation]) -> Guesses:
        """Return the same for every word that was not drawn."""
        batch = Observations.of(seen)
        drawn, known = (
            np.array([text.split()[0] for text in texts]) for texts in (batch.outputs.texts, batch.pool)
        )
        kept = np.exp(self.epsilon) / (np.exp(self.epsilon) + self.words - 1)
        other = (1 - kept) / max(1, self.words - 1)
        scores = np.where(drawn[:, None] == known[None], np.log(kept), np.log(other))
        return Guesses(scores, np.ones(len(batch), dtype=np.bool_))


@dataclass(frozen=True)
class Order(Likelihood):
    """The same scores, as an order alone: the largest of an author's texts counts, less what is usual."""

    card: ClassVar[Card] = Card("order", "Whether a word is the same.")


def make_release(
    seed: int, keeps: Callable[[str, int, np.random.Generator], str], *, apart: bool = False
) -> tuple[Release, int]:
    """Return a release of uneven authors, and the number of words that texts begin with.

    If they are apart, each has a word of their own: with one text, nothing tells more of them.
    """
    rng = np.random.default_rng(seed)
    size = int(rng.integers(20, 60))
    words = size if apart else int(rng.choice([2, 8, size]))
    originals, authors = [], []
    for author in range(size):
        own, wrote = author % words, 1 + min(60, int(3 * rng.pareto(1.0)))
        faithful = 1.0 if apart else float(rng.choice([0.5, 0.9, 1.0]))
        for text in range(wrote):
            word = own if rng.random() < faithful else int(rng.integers(words))
            shared = rng.random() < 0.2  # one of few texts that anybody writes
            originals.append(
                f"w{word} common {int(rng.integers(3))}" if shared else f"w{word} {author} {text}"
            )
            authors.append(f"author {author}" if rng.random() > 0.02 else "")
    rewrites = [keeps(text.split()[0], words, rng) for text in originals]
    table = {"original": originals, "rewrite": rewrites, "author": authors}
    return read_release(table, ColumnNames(author="author")), words


def respond(word: str, words: int, rng: np.random.Generator, epsilon: float = EPSILON) -> str:
    """Return a word by randomised response, whose epsilon is exact."""
    kept = (np.exp(epsilon) - 1) / (np.exp(epsilon) + words - 1)
    return word if rng.random() < kept else f"w{int(rng.integers(words))}"


REWRITERS: dict[str, tuple[float, Callable[[str, int, np.random.Generator], str]]] = {
    "constant": (0.0, lambda *_: "w0"),
    "noise alone": (0.0, lambda _, words, rng: f"w{int(rng.integers(words))}"),
    "randomised response": (EPSILON, respond),
    "randomised response, authors apart": (EPSILON, respond),
}
"""By name: the epsilon of one text, and the rewriter."""


def find_alarms(rows: dict[tuple[str, int], Row], epsilon: float, error: float) -> list[tuple[str, int]]:
    """Return the rows whose bound for n texts is above n epsilon; all rows share the error."""
    return [
        (design, number)
        for (design, number), row in rows.items()
        if row.bound(error / len(rows)).lower > number * epsilon + 1e-9
    ]


def run_once(seed: int, name: str, error: float) -> bool:
    """Return whether any bound of both attacks is too high in one release."""
    epsilon, keeps = REWRITERS[name]
    release, words = make_release(seed, keeps, apart=name.endswith("apart"))
    people = gather_authors(release, ("same", "other")[seed % 2], (0, 1, 3)[seed % 3], seed)
    rows: dict[tuple[str, int], Row] = {}
    for attack in (Likelihood(words), Order(words)):
        found = expose(attack.card.name, attack, people, release, 2 * error, show_nothing)
        rows |= {
            (f"{attack.card.name} {design}", number): row for (design, number), row in found.rows.items()
        }
    return bool(find_alarms(rows, epsilon, error))


def run_uneven(seed: int, error: float, *, broken: bool) -> bool:
    """Return whether noise alone raises an alarm; if broken, everyone is seen in as many texts as they have.

    Half of the authors wrote much, in all words, and half one word once or twice. To somebody who believes
    in little noise, many rewrites look like those of the first, whoever wrote them: the number names them.
    """
    rng = np.random.default_rng(seed)
    originals, authors = [], []
    for author in range(120):
        for text in range(12 if author % 2 else 1):
            originals.append(f"w{text % 2 if author % 2 else int(rng.integers(2))} {author} {text}")
            authors.append(str(author))
    table = {
        "original": originals,
        "rewrite": [f"w{int(rng.integers(2))}" for _ in originals],
        "author": authors,
    }
    release = read_release(table, ColumnNames(author="author"))
    people, attack = gather_authors(release, "same", 1, seed), Likelihood(2, 3.0)
    shown = [release.rewrites[row] for row in people.rows.tolist()]
    seen = follow("exact", attack, people, shown, [], lambda *_: None)
    stage = -1 if broken else 0
    right, duels = int(seen.ranks[stage].found.sum()), seen.duels[stage]
    return bool(find_alarms(_make_rows(people, right, duels, error), 0.0, error))


def _make_rows(people: People, right: int, duels: Array, error: float) -> dict[tuple[str, int], Row]:
    paired = judge_pairs("exact", people, duels, error)
    return {(EVERYONE, 1): make_row(right, len(people)), (PAIRED, 1): paired}


def main() -> None:
    """Run all rewriters and print how many runs alarm; then the guard of even numbers, and without it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--error", type=float, default=0.2)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    started = time.monotonic()
    tried = {
        **{name: partial(run_once, name=name, error=asked.error) for name in REWRITERS},
        "uneven authors, seen in one text each": partial(run_uneven, error=asked.error, broken=False),
        "uneven authors, seen in all texts (broken)": partial(run_uneven, error=asked.error, broken=True),
    }
    with ProcessPoolExecutor(asked.workers) as pool:
        for name, once in tried.items():
            alarms = sum(pool.map(once, range(asked.runs), chunksize=10))
            print(f"{name}: {alarms} of {asked.runs} runs alarm at {asked.error:g}", flush=True)
    print(f"{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
