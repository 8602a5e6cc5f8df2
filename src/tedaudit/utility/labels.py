"""The labelled texts of a study: which to train on, which to test on, and the labels of each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tedaudit.column_names import join_columns
from tedaudit.errors import CorpusError, SpecError, did_you_mean, join_names
from tedaudit.seeding import derive, uniforms
from tedaudit.store.files import key_of
from tedaudit.types import Corpus, Split
from tedaudit.utility.holding_out import HeldOut, hold_out, is_needed
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
    held_out_by: str = ""  # what chose the test texts, if there is no split for them

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
            f"Corpus '{corpus.name}' has: {join_columns(columns)}."
        )
    training, testing, notes = _choose_sides(corpus, spec)
    chosen = _sample(training.labelled, spec)
    labels = {
        task: Labels(
            _read_labels(training.split, task, chosen), _read_labels(testing.split, task, testing.labelled)
        )
        for task in spec.roles
    }
    for task, classes in labels.items():
        _refuse_useless(corpus.name, task, classes)
    if len(chosen) < len(training.labelled):
        notes.append(f"{len(chosen):,} of {len(training.labelled):,} labelled training texts are used")
    return LabelledTexts(
        tuple(chosen),
        tuple(training.split.texts[row] for row in chosen),
        tuple(testing.split.texts[row] for row in testing.labelled),
        labels,
        tuple(notes),
        testing.held_out_by,
    )


@dataclass(frozen=True)
class _Side:
    """The rows of a split to train on or to test on, those that have a label for every task."""

    split: Split
    labelled: list[int]
    held_out_by: str = ""


def _choose_sides(corpus: Corpus, spec: UtilitySpec) -> tuple[_Side, _Side, list[str]]:
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
        labelled = _keep_labelled(corpus, split, own, list(spec.roles))
        if not labelled:
            where = f"split '{name}'" if name == split else f"the {name}"
            raise CorpusError(
                f"No text in {where} of corpus '{corpus.name}' has a label for all of: "
                f"{join_names(spec.roles)}. Study them one at a time, each in its own folder."
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
        raise CorpusError(
            f"Column '{task}' of corpus '{corpus}' has only one class among the {texts:,} training texts "
            f"used ('{classes[0]}'): there is nothing to learn. Name another column, or raise the limit."
        )
    if len(classes) > texts / 2:
        raise CorpusError(
            f"Column '{task}' of corpus '{corpus}' has {len(classes):,} classes among {texts:,} training "
            "texts: it does not look like a label. Name another column, or raise the limit."
        )
