"""How often a calibration misses the true crossing, and how wide its intervals are, on word-rr.

Under the likelihood attack the success of word-rr on two texts depends on the slots in which they differ
alone, and has a closed form; summed over the law of the plan's pairs it is the expected success, and where
it reaches a target is known. `--repeats` calibrations draw their right guesses from that curve, so that only
the search and the statistics are tried; `--runs` more are real ones, with rewrites and guesses. Run:

    python benchmarks/calibrate.py --repeats 300 --runs 10
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tedaudit
from tedaudit.corpora.demo import Demo
from tedaudit.estimators import success_from_epsilon
from tedaudit.estimators.readings import Strongest, SuccessReading
from tedaudit.mechanisms.word_rr import WordRR
from tedaudit.models.encoders.sentence import load_encoder
from tedaudit.plugins.nominal import Nominal
from tedaudit.studies.calibrate.result import EpsilonForTarget
from tedaudit.studies.calibrate.rounds import SearchSettings, Seen, Wanted, find_epsilons
from tedaudit.studies.calibrate.search import Grid
from tedaudit.studies.calibrate.target import Target, parse_target
from tedaudit.trials.candidates import Pool

TARGETS = (0.5, 1.0, 2.0, 4.0)
ERROR = 0.01
LIMITS = (0.01, 10_000.0)


@dataclass(frozen=True)
class ExactCurve:
    """The expected success of the likelihood attack on word-rr: `shares[d]` of pairs differ in d slots."""

    shares: np.ndarray
    items: int

    @classmethod
    def of(cls, texts: Sequence[str], mechanism: WordRR, lambda_: float, encoder: str) -> "ExactCurve":
        """Return the curve for pairs as a plan draws them: the first text uniform, the second by lambda."""
        items = {word: number for number, word in enumerate(mechanism._items)}  # noqa: SLF001
        slots = mechanism._look_up_slots(texts)  # noqa: SLF001
        weights = _weigh_pairs(texts, lambda_, encoder)
        shares = np.zeros(mechanism.slots + 1)
        for row, weight in zip(slots, weights, strict=True):
            np.add.at(shares, (slots != row).sum(axis=1), weight / len(texts))
        return cls(shares, len(items))

    def at(self, epsilon: float) -> float:
        """Return the expected success at an epsilon."""
        rest = self.items - 1
        kept = 1 / (1 + rest * np.exp(-epsilon))
        other = kept * np.exp(-epsilon)
        step = np.array([other, 1 - kept - other, kept])  # towards the other text, nowhere, the source
        law, success = np.ones(1), 0.0
        for number, share in enumerate(self.shares):  # a difference of d slots is a walk of d steps
            success += share * (law[number + 1 :].sum() + law[number] / 2)
            law = np.convolve(law, step)
        return float(success)

    def find_crossing(self, level: float) -> float:
        """Return the epsilon at which it reaches a level, by bisection: it rises with epsilon."""
        low, high = LIMITS
        for _ in range(100):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if self.at(middle) < level else (low, middle)
        return float((low * high) ** 0.5)


def _weigh_pairs(texts: Sequence[str], lambda_: float, encoder: str) -> np.ndarray:
    """Return the probability of each second text, given the first: a row for each."""
    size = len(texts)
    if lambda_ == 0:
        exponents = np.zeros((size, size))
    else:
        model = load_encoder(encoder)
        model.fit(texts)
        exponents = lambda_ * Pool(model.encode(texts)).similarity(np.arange(size, dtype=np.int32)[:, None])
    np.fill_diagonal(exponents, -np.inf)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


class CurveSource:
    """Draws right guesses from known curves, one for each attack."""

    def __init__(self, curves: Mapping[str, Callable[[float], float]], seed: int) -> None:
        self._curves, self._random = curves, np.random.default_rng(seed)
        self.explored = self.fresh = 0  # trials drawn

    def explore(self, target: Target, wanted: Wanted, trials: int) -> Seen:  # noqa: ARG002
        """Draw the trials of a search."""
        self.explored += trials * sum(map(len, wanted.values()))
        return self._draw(wanted, trials)

    def confirm(self, target: Target, wanted: Wanted, trials: int) -> Seen:  # noqa: ARG002
        """Draw fresh trials."""
        self.fresh += trials * sum(map(len, wanted.values()))
        return self._draw(wanted, trials)

    def _draw(self, wanted: Wanted, trials: int) -> Seen:
        return {
            label: {epsilon: self._draw_one(epsilon, trials) for epsilon in epsilons}
            for label, epsilons in wanted.items()
        }

    def _draw_one(self, epsilon: Nominal, trials: int) -> Strongest:
        draw = self._random.binomial
        return Strongest(
            {
                name: SuccessReading(int(draw(trials, curve(epsilon))), trials)
                for name, curve in self._curves.items()
            }
        )


def misses(found: EpsilonForTarget, crossing: float) -> bool:
    """Return whether something false is said of where the crossing lies."""
    return (found.low is not None and found.low >= crossing) or (
        found.high is not None and found.high <= crossing
    )


def simulate(
    curve: ExactCurve, target: Target, trials: int, seed: int
) -> tuple[EpsilonForTarget, CurveSource]:
    """Calibrate once on draws from the curve."""
    source = CurveSource({"likelihood": curve.at}, seed)
    settings = SearchSettings((target,), Grid.between(*LIMITS), trials, ERROR, {"word-rr": ("likelihood",)})
    [found] = find_epsilons(settings, source)
    return found, source


def calibrate_once(texts: Sequence[str], trials: int, target: float, seed: int) -> EpsilonForTarget:
    """Calibrate once for real, in a run directory that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        found = tedaudit.calibrate(
            "word-rr", list(texts), target=target, attack="likelihood", trials=trials, lambda_=0, seed=seed,
            out=str(Path(folder) / "run"), page=False,
        )  # fmt: skip
    return found.of("word-rr")


def report(name: str, found: Sequence[EpsilonForTarget], crossing: float) -> None:
    """Print how often the crossing was missed, and the widths."""
    widths = [answer.width for answer in found if answer.width is not None]
    attempts = [len(answer.attempts) for answer in found]
    print(
        f"{name}: crossing {crossing:.4g}, misses {sum(misses(answer, crossing) for answer in found)} of "
        f"{len(found)}, intervals {len(widths)}, ln(high/low) median {np.median(widths):.3f}, largest "
        f"{max(widths):.3f}, attempts per answer {np.mean(attempts):.2f}",
        flush=True,
    )


def main() -> None:
    """Run both kinds of repeats and print their figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=300)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--run-trials", type=int, default=2_000)
    given = parser.parse_args()
    texts = list(Demo().load().texts)
    curves = {lambda_: ExactCurve.of(texts, WordRR(), lambda_, "lexical") for lambda_ in (0.0, -1e4)}
    for lambda_, curve in curves.items() if given.repeats else ():
        for value in TARGETS:
            target = parse_target("success", success_from_epsilon(value), 2)
            made = [simulate(curve, target, given.trials, seed) for seed in range(given.repeats)]
            name = f"simulated, lambda {lambda_:g}, T {given.trials:,}, target {value:g}"
            report(name, [found for found, _ in made], curve.find_crossing(target.level))
            cost = [(source.explored, source.fresh) for _, source in made]
            print(f"  trials: search {np.mean(cost, axis=0)[0]:,.0f}, fresh {np.mean(cost, axis=0)[1]:,.0f}")
    if given.runs:
        target = parse_target("success", 2.0, 2)
        real = [calibrate_once(texts, given.run_trials, 2.0, seed) for seed in range(given.runs)]
        crossing = curves[0.0].find_crossing(target.level)
        report(f"real runs, lambda 0, T {given.run_trials:,}, target 2", real, crossing)


if __name__ == "__main__":
    main()
