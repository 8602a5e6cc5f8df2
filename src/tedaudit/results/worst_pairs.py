"""Pairs of texts that a study tried again, read from its tables and judged at the look that it is.

Pairs were picked by what a run showed and tried with new secrets and new noise. Look j has an error of its
own, and all looks together have alpha / 2 at most: so a claim is violated if the run's tables refute it, or
if any study does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tedaudit.estimators import Bound
from tedaudit.estimators.reduced import ESTIMATOR
from tedaudit.nominal import Nominal
from tedaudit.results.family import Family
from tedaudit.results.row import Row
from tedaudit.results.verdict import Verdict
from tedaudit.store.directory import RunDirectory
from tedaudit.store.guesses import GuessTable
from tedaudit.store.looks import Look, noted_studies
from tedaudit.types import Claim

PAIRS = "pairs"  # how the name of a study of worst pairs begins


@dataclass(frozen=True, slots=True)
class TriedPair:
    """Two texts, by position, and how often the attack told on fresh trials which had been rewritten."""

    label: str
    epsilon: Nominal
    attack: str
    positions: tuple[int, int]
    bound: Bound  # with the error that all pairs of the study share
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Return the pair safe for JSON; it holds no text."""
        return {
            "mechanism": self.label, "epsilon": self.epsilon.json, "attack": self.attack,
            "positions": list(self.positions), **self.bound.to_dict(), **self.verdict.to_dict(),
        }  # fmt: skip


def read_pairs(run: RunDirectory, alpha: float, delta: float | None) -> tuple[list[TriedPair], list[str]]:
    """Return all pairs of all studies that were looked at, and what must be said of studies that are gone."""
    found: list[TriedPair] = []
    notes = []
    for name, look in noted_studies(run).items():
        if not name.startswith(PAIRS):
            continue
        pairs = judge_pairs(run, name, look, alpha, delta)
        if len({(pair.label, pair.epsilon) for pair in pairs}) < max(1, len(run.studies(name))):
            notes.append(f"trials of the study {name} are gone, and with them what they said of claims")
        found += pairs
    return found, notes


def judge_pairs(
    run: RunDirectory, name: str, look: Look, alpha: float, delta: float | None
) -> list[TriedPair]:
    """Return the pairs of one study with their verdicts; they share the error of its look."""
    cells = [cell for study in run.studies(name) for cell in _read_cells(study, delta)]
    family = Family(alpha, tuple(row for *_, row in cells), look)
    return [
        TriedPair(
            about["label"], Nominal.of(about["epsilon"]), about["attack"], pair, row.bound(family.row_error),
            verdict,
        )
        for (about, pair, row), verdict in zip(cells, family.judge(), strict=True)
    ]  # fmt: skip


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
