"""Which words of a text come back, by word class and place, against a distractor text.

A share alone says little: a constant sentence "copies" stop words. So each rewrite is held against its own
text and against the other text of the pair.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, field

import numpy as np

from tedaudit.leaks.outcomes import Back, Compared
from tedaudit.plugins.values import Floats, Rewrite, fold_text
from tedaudit.text.words import CLASSES, find_marks, list_content, sort_words, split_words

Take = Callable[[str], Set[str]]


@dataclass(frozen=True, slots=True)
class Aspect:
    """Items of a text that may come back; `takes` finds them in a text, `finds` in an output."""

    name: str
    culprit: str
    takes: Take
    finds: Take = field(default=lambda output: {word.casefold() for word in split_words(output)})

    def compare(self, texts: tuple[str, str], outputs: tuple[Rewrite, Rewrite]) -> Floats | None:
        """Return the share of each text's items in the output of each; None if neither text has any.

        The rows are texts, the columns whose output.
        """
        items = [self.takes(text) for text in texts]
        if not any(items):
            return None
        found = [self.finds(output.text) for output in outputs]
        return np.array([[len(own & seen) / max(1, len(own)) for seen in found] for own in items])

    def mark(self, pair: Compared) -> Back:
        """Return what of each text stands in its own output and not in the other's, as the text has it."""
        items = [self.takes(text) for text in pair.texts]
        found = [self.finds(output.text) for output in pair.outputs]
        first, second = (
            tuple(
                dict.fromkeys(piece for piece in self._cut(text) if piece.casefold() in own & (seen - other))
            )
            for text, own, seen, other in zip(pair.texts, items, found, found[::-1], strict=True)
        )
        return first, second

    def _cut(self, text: str) -> list[str]:
        """Return the pieces of a text that items are among."""
        return sorted(find_marks(text)) if self.finds is find_marks else split_words(text)


def _take_class(name: str) -> Take:
    return lambda text: sort_words(text)[name]


def _take_first(text: str) -> set[str]:
    return set(list_content(text)[:1])


def _take_last(text: str) -> set[str]:
    words = list_content(text)
    return set(words[-1:]) if len(words) > 1 else set()


def _take_middle(text: str) -> set[str]:
    words = list_content(text)
    return set(words[1:-1]) - {words[0], words[-1]} if len(words) > 2 else set()


def _take_whole(text: str) -> set[str]:
    return {fold_text(text).casefold()}


_CULPRITS = {
    "stop words": "stop words of the text come back",
    "punctuation": "punctuation marks of the text come back",
    "capitalised words": "words that the text writes with a capital letter come back",
    "words with digits": "words of the text that have a digit come back",
    "rare words": "words of the text that are on no list of common English words come back",
    "common words": "common English words of the text come back",
}
ASPECTS = (
    *(
        Aspect(name=name, culprit=_CULPRITS[name], takes=_take_class(name), finds=find_marks)
        if name == "punctuation"
        else Aspect(name, _CULPRITS[name], _take_class(name))
        for name in CLASSES
    ),
    Aspect("first word", "the first word that is no stop word comes back", _take_first),
    Aspect("middle words", "words from the middle come back", _take_middle),
    Aspect("last word", "the last word that is no stop word comes back", _take_last),
    Aspect(
        name="whole text",
        culprit="whole texts come back, but for case and white space",
        takes=_take_whole,
        finds=_take_whole,
    ),
)
