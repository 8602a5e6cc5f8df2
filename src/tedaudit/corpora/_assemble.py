"""What all loaders share: rows become splits of distinct texts, and every row left out is counted."""

from collections.abc import Mapping, Sequence
from typing import Any

from tedaudit.errors import CorpusError
from tedaudit.types import Corpus, Split, folded


def assemble(
    name: str,
    splits: Mapping[str, tuple[Sequence[str], Mapping[str, Sequence[Any]]]],
    notes: Sequence[str] = (),
) -> Corpus:
    """Return a corpus of distinct, non-blank texts from (texts, columns) per split; "train" must be there."""
    done: dict[str, Split] = {}
    said = list(notes)
    for split, (texts, columns) in splits.items():
        keep, blank, repeated = _distinct(texts)
        done[split] = Split(
            tuple(texts[i] for i in keep),
            {key: tuple(values[i] for i in keep) for key, values in columns.items()},
        )
        left_out = f"{repeated:,} duplicates and {blank:,} blank rows left out"
        said.append(f"{split}: {len(keep):,} distinct texts of {len(texts):,} rows ({left_out})")
    _refuse_useless(name, done, said)
    shared = _shared_with_train(done)
    if shared:
        said.append(f"{shared:,} texts of other splits also stand in train")
    return Corpus(name, done, tuple(said))


def _distinct(texts: Sequence[str]) -> tuple[list[int], int, int]:
    """Return the positions of first occurrences, and how many rows were blank and repeated."""
    seen: set[str] = set()
    keep: list[int] = []
    blank = 0
    for position, text in enumerate(texts):
        form = folded(text)
        if not form:
            blank += 1
        elif form not in seen:
            seen.add(form)
            keep.append(position)
    return keep, blank, len(texts) - blank - len(keep)


def _shared_with_train(splits: Mapping[str, Split]) -> int:
    train = {folded(text) for text in splits["train"].texts}
    others = (split for name, split in splits.items() if name != "train")
    return sum(folded(text) in train for split in others for text in split.texts)


def _refuse_useless(name: str, splits: Mapping[str, Split], notes: Sequence[str]) -> None:
    if "train" not in splits:
        raise CorpusError(
            f"Corpus '{name}' has no training split, only: {', '.join(splits) or '(nothing)'}. "
            "Candidates come from the training split: say which file or split is it."
        )
    distinct = len(splits["train"])
    if distinct < 2:
        told = "; ".join(notes)
        raise CorpusError(
            f"Corpus '{name}' has {distinct} distinct text{'s' * (distinct != 1)} to draw candidates "
            f"from ({told}). An audit needs at least 2: is it the right file and column?"
        )
