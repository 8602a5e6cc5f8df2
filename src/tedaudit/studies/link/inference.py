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

from tedaudit.errors import CorpusError
from tedaudit.estimators import clopper_pearson
from tedaudit.estimators.attributes import attribute_epsilon, gain_interval
from tedaudit.models.tuning import Tuning
from tedaudit.plugins.batches import Observations, Rewrites
from tedaudit.plugins.registry import Reference, build
from tedaudit.plugins.values import Plan
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.link.table import Release
from tedaudit.studies.utility.classifiers import Lesson, NotLearnt, choose_classifier, list_unseen, majority
from tedaudit.text.plain_data import PlainData
from tedaudit.trials.judge import judge, tie_keys

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
    unseen: tuple[tuple[str, int], ...] = ()  # values of records that were held out alone, with their number
    in_json: ClassVar[str] = (
        "column, guesser, classes, trained, rewrites, originals, frequent as most_frequent_class, "
        "unanswered, gain.0 as gain_low, gain.1 as gain_high, error, is_shown as shown, "
        "epsilon as eps_emp, ceiling, bound_error, unseen_classes"
    )

    @property
    def unseen_classes(self) -> dict[str, int]:
        """How often each class was asked about that nobody could learn."""
        return dict(self.unseen)

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
    if obstacle := find_obstacle(release, column, seed):
        raise CorpusError(f"Column {obstacle}. Leave it out, or name another one.")
    training, testing = _choose_sides(release, column, seed)
    labels, truth = _read_labels(release, column, training), _read_labels(release, column, testing)
    name = classifier if isinstance(classifier, str) else str(classifier["name"])
    model = choose_classifier(name, Tuning()) if name != LLM else _AskedModel(classifier, column)

    def predict(texts: Sequence[str]) -> list[str]:
        lesson = Lesson(
            texts=[texts[row] for row in training],
            labels=labels,
            unseen=[texts[row] for row in testing],
            seed=seed,
        )
        return list(model.predict(lesson))

    guesses, from_originals = predict(release.rewrites), predict(release.originals)
    counted = _count(column, name, truth, guesses, majority(labels), alphas)
    originals = _share(_compare(from_originals, truth), alphas[0])
    return replace(
        counted, trained=0 if name == LLM else len(training), originals=originals,
        unseen=list_unseen(labels, truth),
    )  # fmt: skip


def find_obstacle(release: Release, column: str, seed: int, *, is_brought: bool = False) -> NotLearnt | None:
    """Return why a column cannot be guessed, whoever does it: known from the column and the coins alone.

    Guesses that are brought need nothing to learn from.
    """
    training, testing = _choose_sides(release, column, seed)
    if is_brought:
        training = testing = sorted([*training, *testing])
    labels, labelled = _read_labels(release, column, training), len({*training, *testing})
    classes, of = len(set(labels)), "" if is_brought else " to learn from"
    unseen = list_unseen(labels, _read_labels(release, column, testing))
    if labelled < _FEWEST:
        reason = f"has a value in {labelled:,} records, and inference needs {_FEWEST} or more"
        return NotLearnt(column, reason)
    if not training or not testing:
        return NotLearnt(column, "has too few different originals for some to be held out")
    if classes < 2:
        return NotLearnt(column, f"has only one value among the {len(labels):,} records{of}", unseen)
    if classes > len(labels) / 2:
        reason = (
            f"has {classes:,} values among the {len(labels):,} records{of}: it does not look like a class"
        )
        return NotLearnt(column, reason)
    return None


def refuse_foreign_guesses(release: Release, column: str, guesses: str) -> None:
    """Refuse a column of guesses in which nothing is a value of the private one: it is another, or unlike."""
    if not set(release.private[guesses]) & set(release.private[column]) - {None}:
        raise CorpusError(
            f"Nothing in column '{guesses}' is a value of '{column}': no guess could be right. Write values "
            "alike in both, or name another column with --guesses (guesses)."
        )


def count_guesses(
    release: Release, column: str, guesses: str, alphas: tuple[float, float], *, are_fixed: bool
) -> Inference:
    """Count guesses that somebody brings as a column; an empty one, or one that is no class, is wrong.

    Only if they `are_fixed`, made from the rewrite alone by a rule that was fixed before, is there a bound.
    """
    rows = [row for row, label in enumerate(release.private[column]) if label is not None]
    truth = [str(release.private[column][row]) for row in rows]
    named = [release.private[guesses][row] or "" for row in rows]
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
        column=column,
        guesser=guesser,
        classes=len(known),
        trained=0,
        rewrites=_share(_compare(guesses, truth), alpha),
        originals=None,
        frequent=_share(_compare([frequent] * len(truth), truth), alpha),
        unanswered=sum(named not in known for named in guesses),
        gain=gain_interval(truth, guesses, alpha, blind),
        error=alpha / 2,
        epsilon=attribute_epsilon(truth, guesses, for_bound),
        ceiling=attribute_epsilon(truth, truth, for_bound),
        bound_error=for_bound / 2,
    )


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
        seen = Observations(
            outputs=Rewrites.from_texts(list(lesson.unseen)),
            pool=classes,
            candidates=candidates,
            tie_keys=keys,
        )
        judged = judge(model.guess(seen), nothing != 0, Plan(candidates, nothing, nothing), keys)
        return ["" if choice < 0 else classes[choice] for choice in judged.choice.tolist()]


def _compare(guesses: Sequence[str], truth: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([named == true for named, true in zip(guesses, truth, strict=True)])


def _choose_sides(release: Release, column: str, seed: int) -> tuple[list[int], list[int]]:
    """Return the records with a value that are learnt from, and those that are held out."""
    rows = [row for row, label in enumerate(release.private[column]) if label is not None]
    held_out = _hold_out(release, column, seed)
    return [row for row in rows if not held_out[row]], [row for row in rows if held_out[row]]


def _read_labels(release: Release, column: str, rows: Sequence[int]) -> list[str]:
    return [str(release.private[column][row]) for row in rows]


def _hold_out(release: Release, column: str, seed: int) -> npt.NDArray[np.bool_]:
    """Return which records are held out, by a coin of their original."""
    coins = uniforms([derive(seed, "link hold-out", column)], len(release.pool))[0]
    return np.asarray((coins < HELD_OUT)[release.position], dtype=np.bool_)


def _share(right: npt.NDArray[np.bool_], alpha: float) -> Share:
    number, asked = int(right.sum()), len(right)
    return Share(number, asked, *clopper_pearson(number, asked, alpha))
