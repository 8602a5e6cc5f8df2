"""Pairs of texts that a study tried again, read from its tables and judged at the look that it is.

Pairs were picked by what a run showed and tried with new secrets and new noise. Look j has an error of its
own, and all looks together have alpha / 2 at most: so a claim is violated if the run's tables refute it, or
if any study does.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from tedaudit.estimators import Bound
from tedaudit.estimators.reduced import ESTIMATOR
from tedaudit.plugins.nominal import Nominal
from tedaudit.plugins.values import Claim
from tedaudit.results.family import Family
from tedaudit.results.row import Row
from tedaudit.results.verdict import Verdict, any_violation
from tedaudit.runs.directory import RunDirectory
from tedaudit.runs.guesses import GuessTable
from tedaudit.runs.looks import Look, noted_studies
from tedaudit.text.plain_data import NULL, PlainData, pick

PAIRS = "pairs"  # how the name of a study of worst pairs begins


@dataclass(frozen=True, slots=True)
class TriedPair(PlainData):
    """Two texts, by position, and how often the attack told on fresh trials which had been rewritten."""

    label: str
    """The mechanism's label."""
    epsilon: Nominal
    """Nominal; null if the mechanism takes none."""
    attack: str
    """The attack."""
    positions: tuple[int, int]
    """Of the two texts in the corpus."""
    bound: Bound
    """With the error that all pairs of the study share."""
    verdict: Verdict
    """What the trials of this pair say of the claim."""
    in_json: ClassVar[str] = "label as mechanism, epsilon, attack, positions, *bound, *verdict"


@dataclass(frozen=True, slots=True)
class WorstPair(PlainData):
    """Two texts, and what fresh trials said of them."""

    tried: TriedPair
    """The pair by its positions."""
    texts: Annotated[tuple[str, str], NULL]
    """The two texts, which are private: null if redacted."""
    in_json: ClassVar[str] = "*tried, texts"

    @property
    def bound(self) -> Bound:
        """The bound, with the error that all picked pairs share."""
        return self.tried.bound

    @property
    def verdict(self) -> Verdict:
        """What the trials of this pair say of the claim."""
        return self.tried.verdict

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the pair safe for JSON; `redact` leaves the texts out."""
        return pick(self) | ({"texts": None} if redact else {})


@dataclass(frozen=True, slots=True)
class WorstPairs(PlainData):
    """All pairs that were tried again, the largest bound first, and why some mechanisms have none."""

    pairs: tuple[WorstPair, ...]
    """The pairs, the worst first."""
    error: float
    """The error that all pairs share."""
    left_out: tuple[str, ...] = ()
    """Mechanisms without fresh trials, and why."""
    in_json: ClassVar[str] = "error, left_out, pairs"

    def __iter__(self) -> Iterator[WorstPair]:
        return iter(self.pairs)

    @property
    def violated(self) -> bool:
        """Whether a pair refutes its claim, at the error that all of them share."""
        return any_violation(pair.verdict for pair in self.pairs)

    def to_dict(self, *, redact: bool = False) -> dict[str, Any]:
        """Return the pairs safe for JSON."""
        return pick(self) | {"pairs": [pair.to_dict(redact=redact) for pair in self.pairs]}


def read_pairs(
    run: RunDirectory, alpha: float, delta: float | None, lost: Collection[str] = ()
) -> list[TriedPair]:
    """Return all pairs of all studies that were looked at.

    What is left of a study that has `lost` something was not chosen beforehand: it says nothing.
    """
    named = [(name, look) for name, look in noted_studies(run).items() if name.startswith(PAIRS)]
    return [
        pair
        for name, look in named
        if name not in lost
        for pair in judge_pairs(run, name, look, alpha, delta)
    ]


def judge_pairs(
    run: RunDirectory, name: str, look: Look, alpha: float, delta: float | None
) -> list[TriedPair]:
    """Return the pairs of one study with their verdicts; they share the error of its look."""
    cells = [cell for study in run.studies(name) for cell in _read_cells(study, delta)]
    family = Family(alpha, tuple(row for *_, row in cells), look)
    return [
        TriedPair(
            label=about["label"],
            epsilon=Nominal.of(about["epsilon"]),
            attack=about["attack"],
            positions=pair,
            bound=row.bound(family.row_error),
            verdict=verdict,
        )
        for (about, pair, row), verdict in zip(cells, family.judge(), strict=True)
    ]


def _read_cells(study: RunDirectory, delta: float | None) -> Iterator[tuple[Any, tuple[int, int], Row]]:
    """Yield what each pair of a study is about, its positions and its row."""
    for folder in study.guess_folders():
        info = folder.info()
        choices = GuessTable(folder, info.key).choices()
        plan = study.read_plan(info.about["plan"])
        claim = None if info.about["claim"] is None else Claim(**info.about["claim"])
        if plan.candidates is None or len(choices.choice) < len(plan):
            continue
        rows: dict[tuple[int, int], list[int]] = {}
        for number, (first, second) in enumerate(plan.candidates.tolist()):
            rows.setdefault((first, second), []).append(number)
        for pair, numbers in rows.items():
            counts = ESTIMATOR.count(plan.pick(numbers), choices.pick(numbers), 2)
            yield info.about, pair, Row(ESTIMATOR, counts, claim, delta=delta)
