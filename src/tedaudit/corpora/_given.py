"""A corpus in memory: texts passed in Python, or those of an earlier run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.corpora._assemble import assemble
from tedaudit.errors import CorpusError
from tedaudit.types import Card, Corpus


@dataclass(frozen=True)
class Given:
    """Texts, or a whole corpus, used unchanged."""

    given: Corpus | Sequence[str]
    card: ClassVar[Card] = Card(name="given", summary="Texts passed in Python.")

    def load(self) -> Corpus:
        """Return a corpus of the distinct texts."""
        if isinstance(self.given, Corpus):
            return self.given
        if isinstance(self.given, str | bytes) or not isinstance(self.given, Iterable):
            raise CorpusError(
                "A corpus must be a name, a `Corpus` or a list of strings, not a "
                f"{type(self.given).__name__}. For a file use {{'name': 'files', 'path': '...'}}."
            )
        texts = list(self.given)
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong:
            raise CorpusError(f"A corpus must be a list of strings; it contains a {type(wrong[0]).__name__}.")
        return assemble("given", {"train": (texts, {})})
