"""The labelled texts of a study: which to train on, which to test on, and the labels of each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.errors import CorpusError, SpecError, did_you_mean, join_names
from tedaudit.seeding import derive, uniforms
from tedaudit.store.files import key_of
from tedaudit.types import Corpus, Split
from tedaudit.utility.settings import UtilitySpec


@dataclass(frozen=True)
class Labels:
    """The labels of one column as strings, for the training and the test texts."""

    train: tuple[str, ...]
    test: tuple[str, ...]

    @property
    def classes(self) -> list[str]:
        """The classes that can be learnt."""
        return sorted(set(self.train))


@dataclass(frozen=True)
class LabelledTexts:
    """Training texts by their positions in the pool, clean test texts, and the labels of every task."""

    positions: tuple[int, ...]
    train: tuple[str, ...]
    test: tuple[str, ...]
    labels: Mapping[str, Labels]
    notes: tuple[str, ...]

    def determinants(self, task: str) -> dict[str, Any]:
        """Return the part of the data that determines a score."""
        labels = self.labels[task]
        return {
            "train": key_of({"texts": self.train, "labels": labels.train})[:16],
            "test": key_of({"texts": self.test, "labels": labels.test})[:16],
            "limit": len(self.train),
        }


def take_labels(corpus: Corpus, spec: UtilitySpec) -> LabelledTexts:
    """Return the texts that have a label for every task; a limit takes the same ones for all mechanisms."""
    if not spec.roles:
        columns = corpus.splits["train"].columns
        raise SpecError(
            f"Name what to learn: label columns in `tasks` (--task) or `private` (--private). "
            f"Corpus '{corpus.name}' has: {join_names(columns)}."
        )
    if spec.test_split not in corpus.splits or spec.test_split == "train":
        raise SpecError(
            f"Corpus '{corpus.name}' has no split '{spec.test_split}' to test on; it has: "
            f"{join_names(corpus.splits)}. Name one other than train with `test_split` (--test-split)."
        )
    training, testing = corpus.splits["train"], corpus.splits[spec.test_split]
    rows = {name: _find_labelled_rows(corpus, name, list(spec.roles)) for name in ("train", spec.test_split)}
    chosen = _sample(rows["train"], spec)
    labels = {
        task: Labels(_read_labels(training, task, chosen), _read_labels(testing, task, rows[spec.test_split]))
        for task in spec.roles
    }
    for task, classes in labels.items():
        _refuse_useless(corpus.name, task, classes)
    notes = [
        f"{name}: {len(corpus.splits[name]) - len(labelled):,} of {len(corpus.splits[name]):,} texts lack "
        "a label and are left out"
        for name, labelled in rows.items()
        if len(labelled) < len(corpus.splits[name])
    ]
    if len(chosen) < len(rows["train"]):
        notes.append(f"{len(chosen):,} of {len(rows['train']):,} labelled training texts are used")
    return LabelledTexts(
        tuple(chosen),
        tuple(training.texts[row] for row in chosen),
        tuple(testing.texts[row] for row in rows[spec.test_split]),
        labels,
        tuple(notes),
    )


def _find_labelled_rows(corpus: Corpus, name: str, tasks: Sequence[str]) -> list[int]:
    """Return the rows of a split that have a label in all of these columns."""
    split = corpus.splits[name]
    for task in tasks:
        if task not in split.columns:
            raise SpecError(
                f"Split '{name}' of corpus '{corpus.name}' has no column '{task}'."
                f"{did_you_mean(task, split.columns)} It has: {join_names(split.columns)}."
            )
    labelled = [
        row for row in range(len(split)) if all(_is_label(split.columns[task][row]) for task in tasks)
    ]
    if not labelled:
        raise CorpusError(
            f"No text in split '{name}' of corpus '{corpus.name}' has a label for all of: "
            f"{join_names(tasks)}. "
            "Study them one at a time, each in its own folder."
        )
    return labelled


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
        raise CorpusError(
            f"Column '{task}' of corpus '{corpus}' has only one class among the {texts:,} training texts "
            f"used ('{classes[0]}'): there is nothing to learn. Name another column, or raise the limit."
        )
    if len(classes) > texts / 2:
        raise CorpusError(
            f"Column '{task}' of corpus '{corpus}' has {len(classes):,} classes among {texts:,} training "
            "texts: it does not look like a label. Name another column, or raise the limit."
        )
