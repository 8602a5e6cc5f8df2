"""Shared by all loaders: turns rows into splits of distinct texts and counts every row left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.characters import has_surrogate
from tedaudit.errors import CorpusError
from tedaudit.types import Corpus, Split, fold_text


def assemble(
    name: str,
    splits: Mapping[str, tuple[Sequence[str], Mapping[str, Sequence[Any]]]],
    notes: Sequence[str] = (),
) -> Corpus:
    """Return a corpus of distinct, non-blank texts from (texts, columns) per split; "train" is required."""
    assembled: dict[str, Split] = {}
    all_notes = list(notes)
    for split, (texts, columns) in splits.items():
        keep, blank, repeated = find_distinct(texts)
        assembled[split] = Split(
            tuple(texts[i] for i in keep),
            {key: tuple(values[i] for i in keep) for key, values in columns.items()},
        )
        left_out = f"{repeated:,} duplicates and {blank:,} blank rows left out"
        all_notes.append(f"{split}: {len(keep):,} distinct texts of {len(texts):,} rows ({left_out})")
    _check_train(name, assembled, all_notes)
    shared = _count_shared_with_train(assembled)
    if shared:
        all_notes.append(f"{shared:,} texts of other splits are also in train")
    return Corpus(name, assembled, tuple(all_notes))


def find_distinct(texts: Sequence[str]) -> tuple[list[int], int, int]:
    """Return the positions of first occurrences, and the numbers of blank and of repeated rows."""
    seen: set[str] = set()
    keep: list[int] = []
    blank = 0
    for position, text in enumerate(texts):
        form = fold_text(text)
        if not form:
            blank += 1
        elif form not in seen:
            seen.add(form)
            keep.append(position)
    return keep, blank, len(texts) - blank - len(keep)


def _count_shared_with_train(splits: Mapping[str, Split]) -> int:
    if len(splits) == 1:  # a large file is read through once less
        return 0
    train = {fold_text(text) for text in splits["train"].texts}
    others = (split for name, split in splits.items() if name != "train")
    return sum(fold_text(text) in train for split in others for text in split.texts)


def _check_train(name: str, splits: Mapping[str, Split], notes: Sequence[str]) -> None:
    if "train" not in splits:
        raise CorpusError(
            f"Corpus '{name}' has no training split, only: {', '.join(splits) or '(nothing)'}. "
            "Candidates come from the training split: name the file or split to use."
        )
    distinct = len(splits["train"])
    if distinct < 2:
        raise CorpusError(
            f"Corpus '{name}' has {distinct} distinct text{'s' * (distinct != 1)} to draw candidates "
            f"from ({'; '.join(notes)}). An audit needs at least 2: check the file and the column."
        )


def refuse_surrogates(name: str, split: Split) -> None:
    """Refuse texts that are not Unicode."""
    for position, text in enumerate(split.texts):
        if has_surrogate(text):
            raise CorpusError(
                f"Text {position + 1} of corpus '{name}' holds half a surrogate pair, which is not Unicode "
                "text. Repair it where it was read (it was probably decoded with the wrong encoding)."
            )
