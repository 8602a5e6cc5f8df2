"""Which parts of an output carry the loss: slots of a text by the word that stood there, tokens by step.

The terms of a trial add up to its loss. Some are negative: there the other text was the likelier source.
Trials whose output the other text cannot have had have no terms, and are counted.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.batches import Ragged
from tedaudit.results.findings import AuditResult
from tedaudit.results.losses import LossRow
from tedaudit.types import Floats
from tedaudit.words import CLASSES, classify_piece

Cut = Callable[[str], Sequence[str]]  # a text as the mechanism cuts it
BEYOND = "beyond the end"
_CLEAR = 3.0  # standard errors by which a loss must be above 0 to be shared out


@dataclass(frozen=True, slots=True)
class Part:
    """Terms that have something in common: their number, their mean, and their share of the whole loss."""

    name: str
    terms: int
    mean: float
    share: float | None  # of the sum of all terms; None if that sum is not clearly above 0


@dataclass(frozen=True)
class LossParts:
    """The loss of one plan, mechanism and epsilon by step and, if pieces of the text are known, by class."""

    row: LossRow
    trials: int  # that have terms
    whole: float | None  # the sum of all terms, if it is clearly above 0
    steps: Floats  # the mean term of each step, over the trials that have it
    counts: Floats  # how many trials have it
    classes: tuple[Part, ...] = ()

    @property
    def spans(self) -> tuple[Part, ...]:
        """The steps in spans that double: the first, the second, the third and fourth, and so on."""
        sums, parts, start = self.steps * self.counts, list[Part](), 0
        while start < len(sums):
            stop = min(len(sums), max(1, 2 * start))
            total, count = float(sums[start:stop].sum()), int(self.counts[start:stop].sum())
            name = f"{start + 1}" if stop == start + 1 else f"{start + 1} to {stop}"
            parts.append(Part(name, count, total / count if count else 0.0, _share(total, self.whole)))
            start = stop
        return tuple(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return the parts safe for JSON."""
        finding = self.row.finding
        return {
            "plan": finding.plan, "mechanism": finding.label, "epsilon": finding.epsilon.json,
            "trials": self.trials, "steps": self.steps.tolist(),
            "classes": [
                {"name": part.name, "terms": part.terms, "mean": part.mean, "share": part.share}
                for part in self.classes
            ],
        }  # fmt: skip


def find_parts(result: AuditResult, row: LossRow, cut: Cut | None = None) -> LossParts | None:
    """Return the parts of the losses of a row; None if no trial has terms.

    `cut` says which pieces of the source the terms belong to, one after the other.
    """
    told = result.guesses(row.finding).read_terms()
    terms = Ragged.absent(0) if told is None else told.take(row.rows)
    lengths = terms.lengths
    if not lengths.any():
        return None
    secret = result.run.read_plan(row.finding.plan).secret[row.rows]
    signs = np.repeat(np.where(secret == 0, 1.0, -1.0), lengths)
    values = terms.values * signs
    steps = np.arange(len(values)) - np.repeat(terms.offsets[:-1], lengths)
    counts = np.bincount(steps).astype(np.float64)
    means = np.bincount(steps, weights=values) / counts
    sums = np.add.reduceat(values, terms.offsets[:-1][lengths > 0])
    whole = float(sums.sum())
    clear = whole if whole > _CLEAR * float(sums.std()) * np.sqrt(len(sums)) else None
    classes = () if cut is None else _sort(result, row, cut, (values, lengths.tolist()), clear)
    return LossParts(row, len(sums), clear, means, counts, classes)


def _sort(
    result: AuditResult, row: LossRow, cut: Cut, terms: tuple[Floats, list[int]], whole: float | None
) -> tuple[Part, ...]:
    """Return the terms, given with the number of each trial's, by the class of the word in their place."""
    texts, plan = result.run.corpus().texts, result.run.read_plan(row.finding.plan)
    names, (values, lengths) = [*CLASSES, BEYOND], terms
    numbers, known = list[int](), dict[tuple[int, int], list[int]]()
    for source, length in zip(plan.source[row.rows].tolist(), lengths, strict=True):
        if (source, length) not in known:
            pieces = list(cut(texts[source]))[:length]
            found = [classify_piece(piece, is_first=place == 0) for place, piece in enumerate(pieces)]
            known[source, length] = [names.index(name) for name in found + [BEYOND] * (length - len(found))]
        numbers += known[source, length]
    sums = np.bincount(numbers, weights=values, minlength=len(names))
    counts = np.bincount(numbers, minlength=len(names))
    return tuple(
        Part(name, int(count), float(total / count), _share(float(total), whole))
        for name, total, count in zip(names, sums, counts, strict=True)
        if count
    )


def _share(part: float, whole: float | None) -> float | None:
    return None if whole is None else part / whole
