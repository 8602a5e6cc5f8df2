"""Randomised response, word by word, over a public vocabulary: a mechanism whose claim is exact.

Paper:   Warner 1965; k-ary form: Kairouz, Bonawitz and Ramage 2016. Our reference mechanism.
Claim:   epsilon per slot. A text has a fixed, public number of slots, each with one vocabulary item
         or the empty item, so slots x epsilon holds exactly for any two texts.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tedaudit.batches import Draws, PairLosses, Ragged, Rewrites
from tedaudit.errors import SpecError
from tedaudit.seeding import derive, rare, uniforms
from tedaudit.types import Array, Card, Claim, Draw, Floats, InputLimit, Note

_WORD = re.compile(r"\w+(?:'\w+)*")
_REMEMBERED = 1 << 14  # texts whose slots are remembered
_PUBLIC_WORDS = Path(__file__).with_name("public_words.txt")


@dataclass(frozen=True)
class WordRR:
    """Keeps each slot with some probability, otherwise draws it uniformly from the whole vocabulary.

    The default vocabulary is the commonest English words in public-domain books. Never take one from the
    texts to be protected.
    """

    slots: int = 16
    """How many words are released for every text. Longer texts are cut, shorter ones padded."""
    vocabulary: str | tuple[str, ...] = ""
    """A public list of words, or a file with one per line. Empty: common English words."""
    forbids_by_rule: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        name="word-rr",
        english=("vocabulary: the default list of public words",),
        summary="Randomised response per word slot over a public vocabulary.",
        paper="Warner 1965; Kairouz, Bonawitz and Ramage 2016",
        claim="epsilon per word slot, slots x epsilon for any two texts, exactly",
        departures=("words outside the vocabulary count as empty slots; longer texts are cut",),
        public=(("vocabulary", "vocabulary"),),
    )
    _items: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _index: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _spaced: Array = field(init=False, repr=False, compare=False)  # with a space before all but the empty one
    _known: dict[str, list[int]] = field(init=False, repr=False, compare=False)  # slots of texts

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SpecError(f"'word-rr': slots is {self.slots}; it must be 1 or more.")
        items = ("", *_parse_words(_read_lines(self.vocabulary)))
        object.__setattr__(self, "_items", items)
        object.__setattr__(self, "_index", {word: i for i, word in enumerate(items)})
        spaced = np.array(["", *(f" {word}" for word in items[1:])], dtype=object)
        object.__setattr__(self, "_spaced", spaced)
        object.__setattr__(self, "_known", {})

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per slot."""
        return Claim(epsilon, "word", max_units=self.slots)

    def fingerprint(self) -> Mapping[str, str]:
        """Return a hash of the vocabulary."""
        return {"vocabulary words": f"{derive(0, *self._items):032x}"}

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Return the kept and the drawn words, joined by single spaces."""
        batch = Draws.of(draws)
        distinct, which = np.unique(batch.text, return_inverse=True)
        released = self._look_up_slots([batch.pool[i] for i in distinct.tolist()])[which]
        for epsilon in np.unique(batch.epsilons):
            has_epsilon = batch.epsilons == epsilon
            rows = slice(None) if has_epsilon.all() else np.flatnonzero(has_epsilon)
            keys = batch.keys[rows]
            noise = rare(keys, self.slots, self.noise_probability(float(epsilon)))
            drawn = uniforms(keys, self.slots, start=2 * self.slots) * len(self._items)
            released[rows] = np.where(noise, drawn.astype(np.int64), released[rows])
        words = iter(self._spaced.take(released.ravel()).tolist())
        texts = [text[1:] for text in map("".join, zip(*[words] * self.slots, strict=True))]
        return Rewrites.from_texts(texts, tokens=released, units=self.slots)

    def noise_probability(self, epsilon: float) -> float:
        """Return the probability that a slot is redrawn (possibly with the same word); never 0."""
        size, small = len(self._items), np.exp(-epsilon)
        return max(float(size * small / (1 + (size - 1) * small)), math.ulp(0.0))

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of the drawn items given each candidate."""
        unchanged = self._look_up_slots(candidates) == np.asarray(tokens)[None, :]
        size = len(self._items)
        rest = -np.log(np.exp(epsilon) + size - 1) if epsilon < 700 else -epsilon
        return np.asarray(np.where(unchanged, epsilon + rest, rest).sum(axis=1), dtype=np.float64)

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both likelihoods, the loss of every slot, and epsilon for each slot that differs."""
        tokens = np.asarray(released, dtype=np.int64).reshape(len(released), self.slots)
        first, second = (self._look_up_slots([pair[i] for pair in pairs]) for i in (0, 1))
        terms = epsilon * ((first == tokens).astype(np.float64) - (second == tokens))
        largest = epsilon * (first != second).sum(axis=1)
        size = len(self._items)
        rest = -np.log(np.exp(epsilon) + size - 1) if epsilon < 700 else -epsilon
        kept = np.stack([(slots == tokens).sum(axis=1) for slots in (first, second)], axis=1)
        told = PairLosses(largest, np.full(len(pairs), np.nan), Ragged.from_matrix(terms))
        return kept * epsilon + rest * self.slots, told

    def input_limit(self) -> InputLimit:
        """Return the slots; words beyond them are cut."""
        return InputLimit(lambda text: len(_find_words(text)), self.slots, "words")

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> list[Note]:  # noqa: ARG002
        """Say that every item can be drawn."""
        text = "each slot is redrawn with a probability exact far below 2^-53: every item can be drawn"
        return [Note("info", "smallest probability", text)]

    def _look_up_slots(self, texts: Sequence[str]) -> npt.NDArray[np.int64]:
        """Return the items in the slots of each text; a text is looked up once, within bounds of memory."""
        known = self._known
        if len(known) > _REMEMBERED:
            known.clear()
        for text in texts:
            if text not in known:
                words = _find_words(text)[: self.slots]
                known[text] = [self._index.get(word, 0) for word in words] + [0] * (self.slots - len(words))
        return np.asarray([known[text] for text in texts], dtype=np.int64).reshape(len(texts), self.slots)


def _find_words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("\u2019", "'"))


def _read_lines(source: str | Sequence[str]) -> tuple[str, ...]:
    """Return the lines of a list or a file; a file is read every time, because it may have changed."""
    if not isinstance(source, str):
        return tuple(source)
    path = Path(source) if source else _PUBLIC_WORDS
    try:
        return tuple(path.read_text(encoding="utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"'word-rr': cannot read the vocabulary '{path}' ({error}). "
            "It must be a UTF-8 file with one word per line."
        ) from error


@lru_cache(maxsize=8)
def _parse_words(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct, lower-cased words."""
    words = tuple(dict.fromkeys(line.strip().lower() for line in lines if line.strip()))
    if not words:
        raise SpecError("'word-rr': the vocabulary is empty; it needs at least one word.")
    return words
