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

from tedaudit.errors import SpecError
from tedaudit.plugins.batches import Draws, PairLosses, Ragged, Rewrites
from tedaudit.plugins.batches.columns import compute_offsets
from tedaudit.plugins.batches.guesses import TextLikelihoods
from tedaudit.plugins.values import Array, Card, Claim, Draw, Floats, InputLimit, Note
from tedaudit.seeding import derive, rare, uniforms

_WORD = re.compile(r"\w+(?:'\w+)*")
_REMEMBERED = 1 << 14  # texts whose slots are remembered
_ROWS = 1 << 14  # texts and candidates whose draws are added up at a time
_NO_ITEM = -1
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
    _longest: int = field(init=False, repr=False, compare=False)  # pieces between spaces that an item has
    _known: dict[str, list[int]] = field(init=False, repr=False, compare=False)  # slots of texts

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SpecError(f"'word-rr': slots is {self.slots}; it must be 1 or more.")
        items = ("", *_parse_words(_read_lines(self.vocabulary)))
        object.__setattr__(self, "_items", items)
        object.__setattr__(self, "_index", {word: i for i, word in enumerate(items)})
        spaced = np.array(["", *(f" {word}" for word in items[1:])], dtype=object)
        object.__setattr__(self, "_spaced", spaced)
        object.__setattr__(self, "_longest", 1 + max(word.count(" ") for word in items))
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
        rest = self._log_other(epsilon)
        return np.asarray(np.where(unchanged, epsilon + rest, rest).sum(axis=1), dtype=np.float64)

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Return the exact log-probability of each text: empty items show nowhere, and others a space apart.

        Texts with equally many pieces between spaces are done together.
        """
        slots = self._look_up_slots([text for row in candidates for text in row])
        offsets = compute_offsets(np.array([len(row) for row in candidates], dtype=np.int64))
        owner = np.repeat(np.arange(len(texts)), np.diff(offsets))
        pieces = [text.split(" ") if text else [] for text in texts]
        lengths = np.array([len(row) for row in pieces], dtype=np.int64)
        found = np.full(len(owner), -math.inf)
        for length in np.unique(lengths[owner]).tolist():
            rows = np.flatnonzero(lengths[owner] == length)
            for part in np.split(rows, range(_ROWS, len(rows), _ROWS)):
                distinct, which = np.unique(owner[part], return_inverse=True)
                endings = [items[:, which] for items in self._find_items([pieces[i] for i in distinct])]
                found[part] = _add_up_draws(endings, slots[part].T, epsilon)
        found += self._log_other(epsilon) * self.slots
        return TextLikelihoods.exact(np.split(found, offsets[1:-1]) if len(texts) else [])

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both likelihoods, the loss of every slot, and epsilon for each slot that differs."""
        tokens = np.asarray(released, dtype=np.int64).reshape(len(released), self.slots)
        first, second = (self._look_up_slots([pair[i] for pair in pairs]) for i in (0, 1))
        terms = epsilon * ((first == tokens).astype(np.float64) - (second == tokens))
        largest = epsilon * (first != second).sum(axis=1)
        rest = self._log_other(epsilon)
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

    def _log_other(self, epsilon: float) -> float:
        """Return the log-probability that a slot releases one certain item other than its own."""
        return -math.log(math.exp(epsilon) + len(self._items) - 1) if epsilon < 700 else -epsilon

    def _find_items(self, texts: Sequence[Sequence[str]]) -> list[npt.NDArray[np.int64]]:
        """Return which items end with each piece of texts of one length: those of one piece, of two, ...

        Every array has a row for each piece and a column for each text.
        """
        shape, found = (len(texts), len(texts[0])), []
        for count in range(1, self._longest + 1):
            spans = (_join_spans(pieces, count) for pieces in texts)
            numbers = [self._index.get(span) or _NO_ITEM for row in spans for span in row]
            found.append(np.array(numbers, dtype=np.int64).reshape(shape).T)
        return found

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


def _add_up_draws(
    endings: Sequence[npt.NDArray[np.int64]], slots: npt.NDArray[np.int64], epsilon: float
) -> Floats:
    """Return the logarithm of what all draws that give each text weigh: e^epsilon for a slot that is kept.

    Slot by slot, the weights of draws that have written the first so many pieces are added up. Numbers of
    pieces are left out that no draw can have reached, or from which no draw can write the rest.
    """
    longest, (pieces, rows) = len(endings), endings[0].shape
    weights = np.full((pieces + 1, rows), -math.inf)
    weights[0] = 0.0
    for done, slot in enumerate(slots, start=1):
        first = max(0, pieces - (len(slots) - done) * longest)
        last = min(pieces, done * longest)
        found = weights[first : last + 1] + epsilon * (slot == 0)
        for count, items in enumerate(endings, start=1):
            start = max(first, count)
            item = items[start - 1 : last]
            gained = np.where(item == _NO_ITEM, -math.inf, epsilon * (item == slot))
            before = weights[start - count : last + 1 - count] + gained
            found[start - first :] = np.logaddexp(found[start - first :], before)
        weights[first : last + 1] = found
    return weights[pieces]


def _join_spans(pieces: Sequence[str], count: int) -> Sequence[str]:
    """Return for each piece what it and the pieces before it are together; "" if they are too few."""
    if count == 1:
        return pieces
    ends = range(count, len(pieces) + 1)
    return [""] * min(count - 1, len(pieces)) + [" ".join(pieces[end - count : end]) for end in ends]


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
