"""A corpus that exists in memory: texts handed over in Python, or those that a run was made with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from tedaudit.corpora._assemble import assemble
from tedaudit.errors import CorpusError
from tedaudit.types import Card, Corpus


@dataclass(frozen=True)
class Given:
    """Texts, or a whole corpus, as they are."""

    given: Corpus | Sequence[str]
    card: ClassVar[Card] = Card(name="given", summary="Texts handed over in Python.")

    def load(self) -> Corpus:
        """Return the texts as a corpus of distinct ones."""
        if isinstance(self.given, Corpus):
            return self.given
        if isinstance(self.given, str | bytes) or not isinstance(self.given, Iterable):
            raise CorpusError(
                f"A corpus is its name, a `Corpus` or a list of strings, not a {type(self.given).__name__}. "
                "For a file use {'name': 'files', 'path': '...'}."
            )
        texts = list(self.given)
        wrong = [text for text in texts if not isinstance(text, str)]
        if wrong:
            raise CorpusError(f"A corpus is a list of strings; it holds a {type(wrong[0]).__name__}.")
        return assemble("given", {"train": (texts, {})})
