"""Which texts a study tests on if its corpus has no split for that: those that a hash of a key chooses.

The side of a record depends on its key alone: not on its place in the file, on other records or on a seed.
So a record that was held out once is held out in every study, also after rows were added or sorted. Records
with one key, such as the texts of one author, are never on both sides.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tedaudit.column_names import join_columns
from tedaudit.errors import SpecError, did_you_mean
from tedaudit.types import Corpus, Split, fold_text
from tedaudit.utility.settings import UtilitySpec

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
        f"no test split: {len(test):,} of {len(split):,} texts are held out to test on, chosen by a hash of "
        f"{_name_key(spec.key)} (a share of {spec.hold_out:g} is aimed at), so that the same "
        f"{'text' if not spec.key else spec.key} is always on the same side"
    )
    if missing:
        note += f"; {missing:,} texts have no '{spec.key}' and go by their text"
    return HeldOut(train, test, f"a hash of {_name_key(spec.key)}", note)


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
