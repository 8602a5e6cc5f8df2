"""What rewrites tell of a private column: a classifier learns it from some records and is tested on others.

The adversary knows the column for two records in three and the rewrites of all. A coin for each original says
who is held out, so that records with the same original are on one side. Held against the most frequent
class, and against the same classifier on the originals.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.errors import CorpusError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.attributes import attribute_epsilon
from tedaudit.estimators.paired import paired_counts, paired_interval
from tedaudit.inference.tuning import Tuning
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.link.table import Release
from tedaudit.text.plain_data import PlainData
from tedaudit.utility.classifiers import Lesson, choose_classifier, majority

HELD_OUT = 1 / 3
_FEWEST = 30  # records with a label, below which nothing could be shown


@dataclass(frozen=True, slots=True)
class Share(PlainData):
    """Right answers among those that were asked, with the ends of an interval for their rate."""

    right: int
    asked: int
    low: float
    high: float
    in_json: ClassVar[str] = "right, asked, rate, low, high"

    @property
    def rate(self) -> float:
        """The share of right answers."""
        return self.right / self.asked


@dataclass(frozen=True, slots=True)
class Inference(PlainData):
    """How often a private column was inferred for records that were held out.

    `gain` is an interval for how much more often from rewrites than by naming the most frequent class;
    `epsilon` is a lower bound on the rewriter's, if records have independent noise; `error` is the
    probability with which an end of any interval here is wrong, per end, or the bound is too high.
    """

    column: str
    classes: int
    trained: int
    rewrites: Share
    originals: Share
    frequent: Share
    gain: tuple[float, float]
    epsilon: float
    error: float
    in_json: ClassVar[str] = (
        "column, classes, trained, rewrites, originals, frequent as most_frequent_class, gain.0 as gain_low, "
        "gain.1 as gain_high, epsilon as eps_emp, error, is_shown as shown"
    )

    @property
    def is_shown(self) -> bool:
        """Whether rewrites were shown to tell more than the most frequent class."""
        return self.gain[0] > 0


def infer_column(release: Release, column: str, classifier: str, seed: int, alpha: float) -> Inference:
    """Train on some records, test on the others; compare with originals and the most frequent class."""
    rows = [row for row, label in enumerate(release.private[column]) if label is not None]
    held_out = _hold_out(release, column, seed)
    training = [row for row in rows if not held_out[row]]
    testing = [row for row in rows if held_out[row]]
    labels = [str(release.private[column][row]) for row in training]
    truth = [str(release.private[column][row]) for row in testing]
    _refuse_useless(column, labels, len(rows), len(testing))
    model = choose_classifier(classifier, Tuning())
    frequent = majority(labels)

    def predict(texts: Sequence[str]) -> list[str]:
        lesson = Lesson([texts[row] for row in training], labels, [texts[row] for row in testing], seed)
        return list(model.predict(lesson))

    guesses = predict(release.rewrites)
    rewrites, originals = _compare(guesses, truth), _compare(predict(release.originals), truth)
    always = _compare([frequent] * len(truth), truth)
    gain = paired_interval(paired_counts(always, rewrites), alpha)
    return Inference(
        column, len(set(labels)), len(training), _count(rewrites, alpha), _count(originals, alpha),
        _count(always, alpha), gain, attribute_epsilon(truth, guesses, alpha), alpha / 2,
    )  # fmt: skip


def _compare(guesses: Sequence[str], truth: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([named == true for named, true in zip(guesses, truth, strict=True)])


def _hold_out(release: Release, column: str, seed: int) -> npt.NDArray[np.bool_]:
    """Return which records are held out, by a coin of their original."""
    coins = uniforms([derive(seed, "link hold-out", column)], len(release.pool))[0]
    return np.asarray((coins < HELD_OUT)[release.position], dtype=np.bool_)


def _count(right: npt.NDArray[np.bool_], alpha: float) -> Share:
    number, asked = int(right.sum()), len(right)
    return Share(number, asked, *clopper_pearson(number, asked, alpha))


def _refuse_useless(column: str, labels: Sequence[str], labelled: int, tested: int) -> None:
    classes = len(set(labels))
    if labelled < _FEWEST or not tested:
        raise CorpusError(
            f"Column '{column}' has a value in {labelled:,} records; inference needs {_FEWEST} or more. "
            "Leave the column out."
        )
    if classes < 2:
        raise CorpusError(
            f"Column '{column}' has only one value among the {len(labels):,} records to learn from: there is "
            "nothing to infer. Name another column."
        )
    if classes > len(labels) / 2:
        raise CorpusError(
            f"Column '{column}' has {classes:,} values among the {len(labels):,} records to learn from: it "
            "does not look like a class. Name another column, or put its values into a few groups."
        )
