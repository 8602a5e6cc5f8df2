"""Many rewrites of a person, read by attack and loss, beside what they lose exactly.

    python benchmarks/persons_exact.py --games 600

Six authors of sixteen texts each; `word-rr` over three words. In a trial two authors are drawn, one of them
by coin, and its first n texts are rewritten, for n in 1, 2, 4, 8, 16; which rewrite belongs to which text is
public, and the attack adds up likelihoods. The law of the summed loss is known exactly for every pair
(`tests/exact_composition.py`). Counted over games, each of 400 trials at error .2 (.1 on each side):

    eps_emp above that of the best attack there is; ends of the loss's epsilon at delta .1 that miss it;
    a likelihood attack whose success differs from the best by more than its interval; and how often
    "somebody is known from n rewrites on" names too small a number.

The curve over n has one error, so that each n has a fifth of it. Ends with 1 if there are more misses than
the error allows by three standard deviations.
"""

import argparse
import itertools
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from exact_composition import LossLaw, author_law, average
from tedaudit.estimators import reduced_form
from tedaudit.estimators.exposure import known_from, nested_grid
from tedaudit.estimators.loss import LossSample
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.plugins.batches import Draws
from tedaudit.plugins.values import Draw, Floats
from tedaudit.seeding import derive

EPSILON, TRIALS, GRID, DELTA = 0.8, 400, nested_grid(16), 0.1
ERROR = 0.2  # of both sides together
KNOWN = 0.881  # counts as known: just above the best success of eight texts, the hardest case
RATES = {"eps_emp": ERROR / 2 / len(GRID), "loss": ERROR / len(GRID), "success": ERROR / len(GRID)}
WORD_RR = WordRR(slots=3, vocabulary=("red", "blue", "green"))


@dataclass
class Misses:
    """How often something did not cover the exact value, by n; and answers that named too small an n."""

    missed: dict[str, Counter[int]] = field(default_factory=lambda: {kind: Counter() for kind in RATES})
    right: Counter[int] = field(default_factory=Counter)
    too_small: int = 0


def main() -> None:
    """Play, print a table, and end with 1 if there are more misses than the error allows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=600)
    games = parser.parse_args().games
    authors = write_authors()
    laws = find_laws(authors)
    counted = play_games(authors, laws, games)
    print(f"{games} games of {TRIALS} trials; allowed misses "
          + ", ".join(f"{kind} {allow(games, rate):.0f}" for kind, rate in RATES.items()))  # fmt: skip
    for number, law in laws.items():
        found = counted.right[number] / games / TRIALS
        told = ", ".join(f"{kind} {missed[number]}" for kind, missed in counted.missed.items())
        print(f"n {number:2}: best success {law.success:.4f}, found {found:.4f}; "
              f"eps({DELTA}) {law.epsilon(DELTA):.3f}; misses: {told}")  # fmt: skip
    print(f"known from (success above {KNOWN}; truly {true_number(laws)}): "
          f"{counted.too_small} too small, allowed {allow(games, ERROR / 2):.0f}")  # fmt: skip
    worst = {kind: max(missed.values(), default=0) for kind, missed in counted.missed.items()}
    too_many = any(worst[kind] > allow(games, rate) for kind, rate in RATES.items())
    sys.exit(too_many or counted.too_small > allow(games, ERROR / 2))


def allow(games: int, rate: float) -> float:
    """Return the misses that a rate explains, with three standard deviations."""
    return games * rate + 3 * math.sqrt(games * rate * (1 - rate))


def write_authors() -> list[list[str]]:
    """Return six authors, who use the words with frequencies of their own; some texts are equal."""
    coins = np.random.default_rng(5)
    words = ["red", "blue", "green", ""]
    return [
        [" ".join(coins.choice(words, WORD_RR.slots, p=weights)) for _ in range(GRID[-1])]
        for weights in coins.dirichlet([0.6] * len(words), 6)
    ]


def find_laws(authors: Sequence[Sequence[str]]) -> dict[int, LossLaw]:
    """Return the exact law of the summed loss for each n, over all ordered pairs, as trials draw them."""
    pairs = list(itertools.permutations(authors, 2))
    return {n: average([author_law(WORD_RR, a[:n], b[:n], EPSILON) for a, b in pairs]) for n in GRID}


def true_number(laws: Mapping[int, LossLaw]) -> float:
    """Return the smallest n at which, as at all larger ones, the best success is above that level."""
    below = [n for n, law in laws.items() if law.success <= KNOWN]
    return min((n for n in laws if n > max(below, default=0)), default=math.inf)


def play_games(authors: Sequence[Sequence[str]], laws: Mapping[int, LossLaw], games: int) -> Misses:
    """Play games with fresh pairs, coins and noise, and count what did not cover the exact values."""
    counted, truth = Misses(), true_number(laws)
    share = ERROR / len(GRID)
    for game in range(games):
        losses = _play(authors, game)
        coins = np.random.default_rng([game, 1]).random(TRIALS) < 0.5
        right = {}
        for n, law in laws.items():
            added = losses[:, :n].sum(axis=1)
            right[n] = int(np.where(np.abs(added) < 1e-9, coins, added > 0).sum())
            told = reduced_form(right[n], TRIALS, 2, alpha=share)
            best = math.log(law.success / (1 - law.success))
            ends = LossSample(added, share / 2).epsilon_at(DELTA)
            counted.missed["eps_emp"][n] += told.lower > best
            counted.missed["success"][n] += not told.success_low <= law.success <= told.success_high
            counted.missed["loss"][n] += not ends.lower - 1e-9 <= law.epsilon(DELTA) <= ends.upper + 1e-9
        counted.right.update(right)
        named = known_from(right, TRIALS, ERROR, KNOWN)
        counted.too_small += named is not None and named < truth
    return counted


def _play(authors: Sequence[Sequence[str]], game: int) -> Floats:
    """Return the loss of every text's rewrite against the other author's text, a row for each trial."""
    coins = np.random.default_rng(game)
    pairs = [coins.choice(len(authors), 2, replace=False) for _ in range(TRIALS)]
    texts = [(authors[one][i], authors[other][i]) for one, other in pairs for i in range(GRID[-1])]
    draws = Draws.of([Draw(text, EPSILON, derive(game, i)) for i, (text, _) in enumerate(texts)])
    tokens = [one.tokens for one in WORD_RR.rewrite(draws)]
    likelihoods, _ = WORD_RR.compare(tokens, texts, EPSILON)
    return np.asarray(likelihoods[:, 0] - likelihoods[:, 1]).reshape(TRIALS, GRID[-1])


if __name__ == "__main__":
    main()
