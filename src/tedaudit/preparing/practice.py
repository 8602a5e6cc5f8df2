"""The texts on which attacks try a mechanism themselves, and what is said of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tedaudit.types import Corpus, Split

_LEAST, _MOST = 50, 5_000  # texts


@dataclass(frozen=True)
class PracticeTexts:
    """Texts to practise on, and the splits that they are from; none if they are the pool's own."""

    texts: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()

    @cached_property
    def hash(self) -> str:
        """What a table is keyed by."""
        return Corpus("practice", {"train": Split(self.texts)}).fingerprint[:16]

    @property
    def description(self) -> Mapping[str, Any]:
        """What a table says of them."""
        return {"texts": len(self.texts), "splits": list(self.splits)}


def choose_practice(corpus: Corpus) -> PracticeTexts:
    """Return texts for an adversary to practise on: those of other splits that are not in the pool.

    If there are too few, the pool's own. That is as valid, since the adversary draws with keys of its own and
    may know the candidates; but it must be said.
    """
    pool = set(corpus.texts)
    others = {name: _leave_out(pool, split.texts) for name, split in corpus.splits.items()}
    distinct = tuple(dict.fromkeys(text for texts in others.values() for text in texts))
    if len(distinct) < _LEAST:
        return PracticeTexts(corpus.texts[:_MOST])
    used = set(distinct[:_MOST])
    return PracticeTexts(distinct[:_MOST], tuple(name for name, texts in others.items() if used & set(texts)))


def _leave_out(pool: set[str], texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text not in pool]
