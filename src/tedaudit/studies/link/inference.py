"""What rewrites tell of a private column: somebody guesses it, and is held against a blind guess.

A classifier learns the column from some records and is tested on others: the adversary knows it for two
records in three and the rewrites of all. A coin for each original says who is held out, so that records with
the same original are on one side. A language model is asked about the same records, and learns nothing. Both
are held against the most frequent class, and against the same guesser on the originals.

Guesses that somebody brings as a column are counted for all records. How they were made cannot be seen, so
that they bound epsilon only if it is declared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Observations, Rewrites
from tedaudit.errors import CorpusError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.attributes import attribute_epsilon, gain_interval
from tedaudit.inference.tuning import Tuning
from tedaudit.plans.trials import judge, tie_keys
from tedaudit.plugins.registry import Reference, build
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.link.table import Release
from tedaudit.text.plain_data import PlainData
from tedaudit.types import Plan
from tedaudit.utility.classifiers import Lesson, choose_classifier, majority

LLM, BROUGHT = "llm", "brought"  # who guesses, if it is no classifier
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
    """How often a private column was guessed right.

    `gain` is an interval for how much more often than by always naming the most frequent class; `error` is
    the probability with which an end of any interval here is wrong, per end. `epsilon` is a lower bound on
    the rewriter's if records have independent noise, None if guesses that were brought prove none; it is too
    high with `bound_error`, and `ceiling` is what it would be had every guess been right.
    """

    column: str
    guesser: str  # a classifier by name, LLM or BROUGHT
    classes: int
    trained: int
    rewrites: Share
    originals: Share | None  # None if nobody guessed from the originals
    frequent: Share
    unanswered: int  # records for which no class was named; they count as wrong
    gain: tuple[float, float]
    error: float
    epsilon: float | None
    ceiling: float
    bound_error: float
    in_json: ClassVar[str] = (
        "column, guesser, classes, trained, rewrites, originals, frequent as most_frequent_class, "
        "unanswered, gain.0 as gain_low, gain.1 as gain_high, error, is_shown as shown, "
        "epsilon as eps_emp, ceiling, bound_error"
    )

    @property
    def is_shown(self) -> bool:
        """Whether rewrites were shown to tell more than the most frequent class."""
        return self.gain[0] > 0


def infer_column(
    release: Release,
    column: str,
    classifier: str | Mapping[str, Any],
    seed: int,
    alphas: tuple[float, float],
) -> Inference:
    """Train on some records, test on the others; compare with originals and the most frequent class.

    `classifier` is a name, or "llm" with its fields as a mapping; `alphas` are those of intervals and bound.
    """
    rows = [row for row, label in enumerate(release.private[column]) if label is not None]
    held_out = _hold_out(release, column, seed)
    training = [row for row in rows if not held_out[row]]
    testing = [row for row in rows if held_out[row]]
    labels = [str(release.private[column][row]) for row in training]
    truth = [str(release.private[column][row]) for row in testing]
    _refuse_useless(column, labels, len(rows), len(testing))
    name = classifier if isinstance(classifier, str) else str(classifier["name"])
    model = choose_classifier(name, Tuning()) if name != LLM else _AskedModel(classifier, column)

    def predict(texts: Sequence[str]) -> list[str]:
        lesson = Lesson([texts[row] for row in training], labels, [texts[row] for row in testing], seed)
        return list(model.predict(lesson))

    guesses, from_originals = predict(release.rewrites), predict(release.originals)
    counted = _count(column, name, truth, guesses, majority(labels), alphas)
    originals = _share(_compare(from_originals, truth), alphas[0])
    return replace(counted, trained=0 if name == LLM else len(training), originals=originals)


def count_guesses(
    release: Release, column: str, guesses: str, alphas: tuple[float, float], *, are_fixed: bool
) -> Inference:
    """Count guesses that somebody brings as a column; an empty one, or one that is no class, is wrong.

    Only if they `are_fixed`, made from the rewrite alone by a rule that was fixed before, is there a bound.
    """
    rows = [row for row, label in enumerate(release.private[column]) if label is not None]
    truth = [str(release.private[column][row]) for row in rows]
    named = [release.private[guesses][row] or "" for row in rows]
    _refuse_useless(column, truth, len(rows), len(rows))
    if not set(named) & set(truth):
        raise CorpusError(
            f"Nothing in column '{guesses}' is a value of '{column}': no guess could be right. Write values "
            "alike in both, or name another column with --guesses (guesses)."
        )
    counted = _count(column, BROUGHT, truth, named, None, alphas)
    return counted if are_fixed else replace(counted, epsilon=None)


def _count(
    column: str,
    guesser: str,
    truth: Sequence[str],
    guesses: Sequence[str],
    blind: str | None,
    alphas: tuple[float, float],
) -> Inference:
    """Return what guesses show; `blind` is the most frequent class of other records, if these are seen."""
    alpha, for_bound = alphas
    frequent = majority(truth) if blind is None else blind
    known = set(truth) | {frequent}
    return Inference(
        column, guesser, len(known), 0, _share(_compare(guesses, truth), alpha), None,
        _share(_compare([frequent] * len(truth), truth), alpha), sum(named not in known for named in guesses),
        gain_interval(truth, guesses, alpha, blind), alpha / 2, attribute_epsilon(truth, guesses, for_bound),
        attribute_epsilon(truth, truth, for_bound), for_bound / 2,
    )  # fmt: skip


@dataclass(frozen=True)
class _AskedModel:
    """A language model that reads a text and names a class: it learns nothing, and reads nothing else."""

    asked: str | Mapping[str, Any]
    column: str

    def predict(self, lesson: Lesson) -> list[str]:
        """Return one class per unseen text, nothing if there was no usable answer."""
        fields = {} if isinstance(self.asked, str) else {k: v for k, v in self.asked.items() if k != "name"}
        model = build(Reference("attack", LLM, fields))
        model.ask_for(self.column)
        classes, rows = sorted(set(lesson.labels)), len(lesson.unseen)
        candidates = np.tile(np.arange(len(classes), dtype=np.int32), (rows, 1))
        keys = tie_keys(lesson.seed, "link inference", self.column, range(rows))
        nothing = np.zeros(rows, dtype=np.int32)  # nobody drew a secret
        seen = Observations(Rewrites.from_texts(list(lesson.unseen)), classes, candidates, keys)
        judged = judge(model.guess(seen), nothing != 0, Plan(candidates, nothing, nothing), keys)
        return ["" if choice < 0 else classes[choice] for choice in judged.choice.tolist()]


def _compare(guesses: Sequence[str], truth: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([named == true for named, true in zip(guesses, truth, strict=True)])


def _hold_out(release: Release, column: str, seed: int) -> npt.NDArray[np.bool_]:
    """Return which records are held out, by a coin of their original."""
    coins = uniforms([derive(seed, "link hold-out", column)], len(release.pool))[0]
    return np.asarray((coins < HELD_OUT)[release.position], dtype=np.bool_)


def _share(right: npt.NDArray[np.bool_], alpha: float) -> Share:
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
