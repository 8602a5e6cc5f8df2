"""The labelled texts of a study: which to train on, which to test on, and the labels of each."""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tedaudit.errors import CorpusError, SpecError, did_you_mean, join_names
from tedaudit.plugins.values import Corpus, Split, fold_text
from tedaudit.runs.files import key_of
from tedaudit.seeding import derive, uniforms
from tedaudit.studies.utility.classifiers import NotLearnt, list_unseen
from tedaudit.studies.utility.settings import UtilitySpec
from tedaudit.text.readers import join_columns


@dataclass(frozen=True)
class Labels:
    """The labels of one column as strings, for the training and the test texts."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        """The classes that can be learnt."""
        return sorted(set(self.train))

    @property
    def unseen(self) -> tuple[tuple[str, int], ...]:
        """The classes of test texts that cannot, with their number."""
        return list_unseen(self.train, self.test)


@dataclass(frozen=True)
class LabelledTexts:
    """Training texts by their positions in the pool, clean test texts, and the labels of every task."""

    positions: tuple[int, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    labels: Mapping[str, Labels]
    notes: tuple[str, ...]
    held_out_by: str = ""  # what chose the test texts, if there is no split for them
    not_learnt: tuple[NotLearnt, ...] = ()  # columns that were asked for and have no labels above

    def determinants(self, task: str) -> dict[str, Any]:
        """Return the part of the data that determines a score."""
        labels = self.labels[task]
        return {
            "train": key_of({"texts": self.train, "labels": labels.train})[:16],
            "test": key_of({"texts": self.test, "labels": labels.test})[:16],
            "limit": len(self.train),
        }


class _UselessError(CorpusError):
    """A column from which nothing can be learnt, with advice in the message."""

    def __init__(self, column: NotLearnt, message: str) -> None:
        super().__init__(message)
        self.column = column


def take_labels(corpus: Corpus, spec: UtilitySpec) -> LabelledTexts:
    """Return the texts that have a label for every task; a limit takes the same ones for all mechanisms.

    A column from which nothing can be learnt is left out, and so is one that leaves too little to another
    that was named before it: an error is only that nothing is left.
    """
    if not spec.roles:
        columns = corpus.splits["train"].columns
        raise SpecError(
            f"Name what to learn: label columns in `tasks` (--task) or `private` (--private). "
            f"Corpus '{corpus.name}' has: {join_columns(columns)}."
        )
    try:
        return _take(corpus, spec, list(spec.roles))
    except _UselessError:
        if len(spec.roles) == 1:
            raise
    kept: list[str] = []
    left_out = []
    for column in spec.roles:
        obstacle = _find_obstacle(corpus, spec, kept, column)
        if obstacle is None:
            kept.append(column)
        else:
            left_out.append(replace(obstacle, is_private=column in spec.private))
    if not kept:
        raise CorpusError(
            f"Nothing can be learnt from any column of corpus '{corpus.name}' that was named: "
            f"{'; '.join(map(str, left_out))}. Name other columns (--task, --private), or raise the limit."
        )
    return replace(_take(corpus, spec, kept), not_learnt=tuple(left_out))


def _find_obstacle(corpus: Corpus, spec: UtilitySpec, kept: Sequence[str], column: str) -> NotLearnt | None:
    """Return why nothing can be learnt from a column, by itself or beside those that are kept; or None."""
    try:
        _take(corpus, spec, [column])
    except _UselessError as error:
        return error.column
    try:
        _take(corpus, spec, [*kept, column])
    except _UselessError as error:
        known = join_names(f"'{name}'" for name in kept)
        reason = f"leaves too few texts that have a label in {known} too; study it in a folder of its own"
        return NotLearnt(column, f"{reason} ({error.column})")
    return None


def _take(corpus: Corpus, spec: UtilitySpec, columns: Sequence[str]) -> LabelledTexts:
    """Return the texts that have a label in all of some columns."""
    training, testing, notes = _choose_sides(corpus, spec, columns)
    chosen = _sample(training.labelled, spec)
    labels = {
        task: Labels(
            _read_labels(training.split, task, chosen), _read_labels(testing.split, task, testing.labelled)
        )
        for task in columns
    }
    for task, classes in labels.items():
        _refuse_useless(corpus.name, task, classes)
    if len(chosen) < len(training.labelled):
        notes.append(f"{len(chosen):,} of {len(training.labelled):,} labelled training texts are used")
    return LabelledTexts(
        positions=tuple(chosen),
        train=tuple(training.split.texts[row] for row in chosen),
        test=tuple(testing.split.texts[row] for row in testing.labelled),
        labels=labels,
        notes=tuple(notes),
        held_out_by=testing.held_out_by,
    )


@dataclass(frozen=True)
class _Side:
    """The rows of a split to train on or to test on, those that have a label for every task."""

    split: Split
    labelled: list[int]
    held_out_by: str = ""


def _choose_sides(
    corpus: Corpus, spec: UtilitySpec, columns: Sequence[str]
) -> tuple[_Side, _Side, list[str]]:
    """Return what to train on and what to test on, by splits or by what is held out, with notes."""
    held: HeldOut | None = hold_out(corpus, spec) if is_needed(corpus, spec) else None
    if held is not None:
        rows = {"training texts": ("train", held.train), "held-out texts": ("train", held.test)}
        notes = [held.note]
    else:
        _check_test_split(corpus, spec)
        names = ("train", spec.test_split)
        rows = {name: (name, tuple(range(len(corpus.splits[name])))) for name in names}
        notes = []
    sides = []
    for name, (split, own) in rows.items():
        labelled = _keep_labelled(corpus, split, own, columns)
        if not labelled:
            where = f"split '{name}'" if name == split else f"the {name}"
            raise _UselessError(
                NotLearnt(columns[-1], f"has no label in {where}"),
                f"No text in {where} of corpus '{corpus.name}' has a label for all of: "
                f"{join_names(columns)}. Name other columns, or another split (--test-split).",
            )
        if len(labelled) < len(own):
            left_out = f"{len(own) - len(labelled):,} of {len(own):,}"
            notes.append(f"{name}: {left_out} texts lack a label and are left out")
        sides.append(_Side(corpus.splits[split], labelled, held.by if held else ""))
    return sides[0], sides[1], notes


def _check_test_split(corpus: Corpus, spec: UtilitySpec) -> None:
    if spec.key or "hold_out" in spec.model_fields_set:
        raise SpecError(
            f"`hold_out` and `key` choose texts of a corpus that has no other split; corpus '{corpus.name}' "
            f"has: {join_names(corpus.splits)}. Leave them out, or name the split to test on with "
            "`test_split` (--test-split)."
        )
    if spec.test_split not in corpus.splits or spec.test_split == "train":
        raise SpecError(
            f"Corpus '{corpus.name}' has no split '{spec.test_split}' to test on; it has: "
            f"{join_names(corpus.splits)}. Name one other than train with `test_split` (--test-split)."
        )


def _keep_labelled(corpus: Corpus, name: str, rows: Sequence[int], tasks: Sequence[str]) -> list[int]:
    """Return those of the rows of a split that have a label in all of these columns."""
    split = corpus.splits[name]
    for task in tasks:
        if task not in split.columns:
            raise SpecError(
                f"Split '{name}' of corpus '{corpus.name}' has no column '{task}'."
                f"{did_you_mean(task, split.columns)} It has: {join_columns(split.columns)}."
            )
    return [row for row in rows if all(_is_label(split.columns[task][row]) for task in tasks)]


def _is_label(value: Any) -> bool:
    return value is not None and value != "" and not (isinstance(value, float) and math.isnan(value))


def _sample(rows: Sequence[int], spec: UtilitySpec) -> list[int]:
    """Return the rows to train on, in order; a larger limit includes the rows of a smaller one."""
    if not spec.limit or spec.limit >= len(rows):
        return list(rows)
    coins = uniforms([derive(spec.seed, "utility", "sample")], len(rows))[0]
    return sorted(rows[index] for index in np.argsort(coins, kind="stable")[: spec.limit].tolist())


def _read_labels(split: Split, task: str, rows: Sequence[int]) -> tuple[str, ...]:
    return tuple(str(split.columns[task][row]) for row in rows)


def _refuse_useless(corpus: str, task: str, labels: Labels) -> None:
    classes, texts = labels.classes, len(labels.train)
    if len(classes) < 2:
        reason = f"has only one class among the {texts:,} training texts used ('{classes[0]}')"
        useless = NotLearnt(task, reason, labels.unseen)
    elif len(classes) > texts / 2:
        reason = f"has {len(classes):,} classes among {texts:,} training texts: it does not look like a label"
        useless = NotLearnt(task, reason)
    else:
        return
    raise _UselessError(
        useless,
        f"Nothing can be learnt of corpus '{corpus}': {useless}. Name another column, or raise the limit.",
    )


# --- Which texts a study tests on if its corpus has no split for that: those that a hash of a key chooses.
#
# The side of a record depends on its key alone: not on its place in the file, on other records or on a
# seed. So a record that was held out once is held out in every study, also after rows were added or sorted.
# Records with one key, such as the texts of one author, are never on both sides.

_WHOLE = 2.0**64


@dataclass(frozen=True)
class HeldOut:
    """Rows of the training split: those to train on and those to test on, and what is said about it."""

    train: tuple[int, ...]
    test: tuple[int, ...]
    by: str  # what chose them
    note: str


def is_needed(corpus: Corpus, spec: UtilitySpec) -> bool:
    """Return whether texts have to be held out: there is one split only, and no other was asked for."""
    asked = "test_split" in spec.model_fields_set and spec.test_split != "test"
    return set(corpus.splits) == {"train"} and not asked


def hold_out(corpus: Corpus, spec: UtilitySpec) -> HeldOut:
    """Return the two sides of a corpus that has one split."""
    split = corpus.splits["train"]
    keys, missing = _read_keys(corpus.name, split, spec.key)
    sides = [is_held_out(key, spec.hold_out) for key in keys]
    train = tuple(row for row, held in enumerate(sides) if not held)
    test = tuple(row for row, held in enumerate(sides) if held)
    if not train or not test:
        raise SpecError(
            f"Corpus '{corpus.name}' has no test split, and of its {len(split):,} texts a hash of "
            f"{_name_key(spec.key)} puts {len(test):,} into the test set with a share of {spec.hold_out:g}: "
            "each side needs some. Set `hold_out` (--hold-out) to another share, name a key with more values "
            "(--key), or give a test file (--set corpus.test=FILE)."
        )
    note = (
        f"no test split: {len(test):,} of {len(split):,} texts are held out to test on, chosen by a hash "
        f"of {_name_key(spec.key)} (aiming at a share of {spec.hold_out:g}), so that the same "
        f"{'text' if not spec.key else spec.key} is always on the same side"
    )
    if missing:
        note += f"; {missing:,} texts have no '{spec.key}' and go by their text"
    return HeldOut(train=train, test=test, by=f"a hash of {_name_key(spec.key)}", note=note)


def is_held_out(key: str, share: float) -> bool:
    """Return whether a record with this key is tested on; with a larger share it stays so."""
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8, person=b"hold-out")
    return int.from_bytes(digest.digest(), "big") / _WHOLE < share


def _read_keys(name: str, split: Split, column: str) -> tuple[list[str], int]:
    """Return the key of every row, and how many have none in the column and go by their text."""
    texts = [fold_text(text) for text in split.texts]
    if not column:
        return texts, 0
    if column not in split.columns:
        raise SpecError(
            f"Corpus '{name}' has no column '{column}' to hold out by.{did_you_mean(column, split.columns)} "
            f"It has: {join_columns(split.columns)}. Without `key` (--key) the text decides."
        )
    values: Sequence[Any] = split.columns[column]
    keys = [text if _is_empty(value) else str(value) for value, text in zip(values, texts, strict=True)]
    return keys, sum(map(_is_empty, values))


def _is_empty(value: Any) -> bool:
    return value is None or value == "" or value != value  # noqa: PLR0124 - not a number


def _name_key(column: str) -> str:
    return f"the column '{column}'" if column else "the text"
