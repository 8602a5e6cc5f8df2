"""Which words of a text come back, by word class and place, against a distractor text.

A share alone says little: a constant sentence "copies" stop words. So each rewrite is held against its own
text and against the other text of the pair.
"""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field

import numpy as np

from tedaudit.types import Floats, Rewrite, fold_text
from tedaudit.words import CLASSES, find_marks, list_content, sort_words, split_words

Take = Callable[[str], Set[str]]


@dataclass(frozen=True, slots=True)
class Aspect:
    """Items of a text that may come back; `takes` finds them in a text, `finds` in an output."""

    name: str
    culprit: str
    takes: Take
    finds: Take = field(default=lambda output: {word.casefold() for word in split_words(output)})

    def compare(
        self, texts: tuple[str, str], outputs: tuple[Sequence[Rewrite], Sequence[Rewrite]]
    ) -> Floats | None:
        """Return the share of each text's items in the outputs of each; None if neither text has any.

        The rows are texts, the columns whose outputs; several outputs are averaged.
        """
        items = [self.takes(text) for text in texts]
        if not any(items):
            return None
        found = [[self.finds(output.text) for output in side] for side in outputs]
        return np.array(
            [
                [float(np.mean([len(own & seen) / max(1, len(own)) for seen in side])) for side in found]
                for own in items
            ]
        )


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


def _list_classes() -> list[Aspect]:
    return [
        Aspect(name, f"{name} of the text come back", _take_class(name))
        if name != "punctuation"
        else Aspect(name, "punctuation marks of the text come back", _take_class(name), find_marks)
        for name in CLASSES
    ]


ASPECTS = (
    *_list_classes(),
    Aspect("first word", "the first word comes back", _take_first),
    Aspect("middle words", "words from the middle come back", _take_middle),
    Aspect("last word", "the last word comes back", _take_last),
    Aspect("whole text", "whole texts come back, but for case and white space", _take_whole, _take_whole),
)
