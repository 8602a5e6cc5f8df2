"""Rewrite word by word with a masked language model (DP-MLM).

Paper:   Meisenbacher, Chevli, Vladika and Matthes 2024, Findings of ACL.
Claim:   epsilon per word drawn, each in the whole text: n words cost n epsilon.
Departs: "sound" rewrites stop words and punctuation too, over a public number of slots with an empty
         item, and case comes with the token. "published" follows the release, except that its stop
         list (which needs a download) is scikit-learn's, and that a text too long for the model is
         read through a window around the word.
"""

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.errors import ModelError, SpecError
from tedaudit.inference.loading import Checkpoint, load_checkpoint
from tedaudit.inference.masked import MaskedRow, masked_logits
from tedaudit.inference.sampling import Clip, chosen_clip, log_probabilities, noise_for, sample
from tedaudit.inference.treebank import join_words, split_words
from tedaudit.inference.zoo import zoo_or
from tedaudit.types import Card, Claim, Draw, Floats, Rewrite

_SLOTS = 4096  # beyond the end of a text, drawn at a time
_KEPT = -1  # stands for the item of a word that is released as it is


@dataclass(frozen=True)
class DPMLM:
    """RoBERTa, or the zoo's where it is installed; any masked language model by `model`.

    For each word the model sees the original and the same with that word masked, as a pair, and one
    word is drawn from the logits at the mask. `low` and `high` clip the logits; where they are not
    given, the range that was measured on public text and is stored with the model, or else the one
    of the release.
    """

    model: str = zoo_or("mlm", "FacebookAI/roberta-base")
    revision: str = ""
    low: float | None = None
    high: float | None = None
    length: Literal["fixed", "input"] = "fixed"
    slots: int = 32
    keep_stop_words: bool = False
    keep_punctuation: bool = False
    copy_case: bool = False
    stop_words: str = ""
    context: int = 512
    dtype: str = "auto"
    device: str = field(default="auto", metadata={"incidental": True})
    released_range: ClassVar[tuple[float, float]] = (-3.2093127, 16.304797887802124)
    card: ClassVar[Card] = Card(
        name="dp-mlm",
        summary="Word by word from a masked language model, every word by the exponential mechanism.",
        paper="Meisenbacher, Chevli, Vladika and Matthes 2024 (Findings of ACL)",
        claim="epsilon per word, each draw in the whole text: n words cost n epsilon",
        departures=(
            "sound: a public number of slots with an empty item, stop words and punctuation drawn too",
            "published: stop words and punctuation released, case copied, as many words out as in",
            "published: the stop list is scikit-learn's unless a file is named",
        ),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {
            "length": "fixed", "keep_stop_words": False, "keep_punctuation": False, "copy_case": False,
        },
        "published": {
            "length": "input", "keep_stop_words": True, "keep_punctuation": True, "copy_case": True,
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SpecError(f"'dp-mlm': slots is {self.slots}; it must be 1 or more.")
        chosen_clip(self.low, self.high, self.released_range)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per word; a text's own number of words is bounded by the context only."""
        return Claim(epsilon, "word", max_units=self.slots if self.length == "fixed" else self.context)

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format and the range of logits."""
        clip = self._clip()
        return {**self._checkpoint().fingerprint(), "clip range": f"{clip.low!r} to {clip.high!r}"}

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Run the model once per distinct text and word; every draw at every epsilon is then a look-up."""
        texts = list(dict.fromkeys(draw.text for draw in draws))
        words = {text: self._words(text) for text in texts}
        drawn = self._draw(draws, words)
        tokenizer = self._checkpoint().tokenizer
        spelled = {item: _spelled(tokenizer, item) for item in {item for items in drawn for item in items}}
        released: dict[tuple[str, tuple[int, ...]], Rewrite] = {}  # with little noise few of them differ
        done = []
        for draw, items in zip(draws, drawn, strict=True):
            same = draw.text, tuple(items)
            if same not in released:
                released[same] = self._released(words[draw.text], items, spelled)
            done.append(released[same])
        return done

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of drawing these items from each candidate; -inf where it cannot be."""
        return self.log_likelihoods([tokens], [candidates], epsilon)[0]

    def log_likelihoods(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Do the same for many releases, each with its candidates; the model sees every text once."""
        words = {text: self._words(text) for some in candidates for text in some}
        charged = {text: [i for i, word in enumerate(words[text]) if self._is_drawn(word)] for text in words}
        scores = [
            np.array([0.0 if len(charged[text]) == len(tokens) else -math.inf for text in some])
            for tokens, some in zip(released, candidates, strict=True)
        ]
        asked: dict[str, list[tuple[int, int]]] = {}  # which release and candidate a text stands for
        for number, some in enumerate(candidates):
            for place, text in enumerate(some):
                if scores[number][place] == 0.0:
                    asked.setdefault(text, []).append((number, place))
        for where, rows, logits in self._logits({text: words[text] for text in asked}):
            table = log_probabilities(self._clip(), logits, epsilon).cpu().numpy()
            for row, (text, slot) in zip(rows, where, strict=True):
                item = charged[text].index(slot)
                for number, place in asked[text]:
                    scores[number][place] += table[row, released[number][item]]
        return scores

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that have a slot."""
        return tuple(word for word in self._words(text) if word is not None)

    def _draw(self, draws: Sequence[Draw], words: Mapping[str, list[str | None]]) -> list[list[int]]:
        """Return the items drawn for the slots of each draw; -1 in slots whose word is released."""
        import torch

        of_text: dict[str, list[int]] = {}
        for number, draw in enumerate(draws):
            of_text.setdefault(draw.text, []).append(number)
        noise = self._noise(draws, of_text, words)
        items = {t: np.full((len(of_text[t]), len(words[t])), _KEPT, dtype=np.int64) for t in of_text}
        for where, of_slot, logits in self._logits(words):
            counts = [len(of_text[text]) for text, _ in where]
            level = [draws[n].epsilon for text, _ in where for n in of_text[text]]
            coins = np.concatenate([noise[text][:, slot] for text, slot in where])
            rows = np.repeat(of_slot, counts)
            tensors = [torch.from_numpy(part).to(logits.device) for part in (rows, np.array(level), coins)]
            found = sample(self._clip(), logits, *tensors).cpu().numpy()
            for (text, slot), some in zip(where, np.split(found, np.cumsum(counts)[:-1]), strict=True):
                items[text][:, slot] = some
        done: list[list[int]] = [[]] * len(draws)
        for text, numbers in of_text.items():
            for number, row in zip(numbers, items[text].tolist(), strict=True):
                done[number] = row
        return done

    def _noise(
        self, draws: Sequence[Draw], of_text: Mapping[str, list[int]], words: Mapping[str, list[str | None]]
    ) -> dict[str, Floats]:
        """Return the uniforms of every text's draws; texts with as many slots are done in one call."""
        by_length: dict[int, list[str]] = {}
        for text in of_text:
            by_length.setdefault(len(words[text]), []).append(text)
        found: dict[str, Floats] = {}
        for length, texts in by_length.items():
            whole = noise_for([draws[n].key for text in texts for n in of_text[text]], length)
            ends = np.cumsum([len(of_text[text]) for text in texts])[:-1]
            found.update(zip(texts, np.split(whole, ends), strict=True))
        return found

    def _logits(self, words: Mapping[str, list[str | None]]) -> Any:
        """Yield (text, slot) pairs, the row of each, and rows of logits over vocabulary and the empty item.

        A word's slot gives the empty item the lowest utility; a slot beyond the text's end gives it the
        highest and all words the lowest, whatever the text: one row does for all of them.
        """
        import torch

        checkpoint, clip = self._checkpoint(), self._clip()
        charged = [
            (text, slot)
            for text, some in words.items()
            for slot, word in enumerate(some)
            if word is not None and self._is_drawn(word)
        ]
        vocabulary = 0
        for numbers, logits in masked_logits(checkpoint, self._rows([(words[t], s) for t, s in charged])):
            vocabulary = logits.shape[1]
            where = [charged[number] for number in numbers]
            lowest = torch.full((len(numbers), 1), clip.low, device=logits.device)
            yield where, np.arange(len(where)), torch.cat([logits, lowest], dim=1)
        beyond = [(text, slot) for text, some in words.items() for slot, w in enumerate(some) if w is None]
        vocabulary = vocabulary or int(checkpoint.model.config.vocab_size)
        nothing = torch.full((1, vocabulary + 1), clip.low, device=checkpoint.device)
        nothing[0, -1] = clip.high
        for start in range(0, len(beyond), _SLOTS):
            some_slots = beyond[start : start + _SLOTS]
            yield some_slots, np.zeros(len(some_slots), dtype=np.int64), nothing

    def _rows(self, places: Sequence[tuple[Sequence[str | None], int]]) -> list[MaskedRow]:
        """Return what the model reads for each (words, slot): in one call, the long ones cut one by one."""
        tokenizer, room = self._checkpoint().tokenizer, self._room()
        short = [i for i, (words, _) in enumerate(places) if 2 * _present(words) <= room]
        pairs = [self._pair(*places[i], room) for i in short]
        encoded = tokenizer(*map(list, zip(*pairs, strict=True)))["input_ids"] if pairs else []
        found = {i: ids for i, ids in zip(short, encoded, strict=True) if len(ids) <= room}
        return [self._masked(found[i] if i in found else self._cut(*place)) for i, place in enumerate(places)]

    def _pair(self, words: Sequence[str | None], slot: int, radius: int) -> tuple[str, str]:
        """Return the original and the same with one word masked, as far as the radius around it."""
        first, last = max(0, slot - radius), slot + radius + 1
        shown = [str(word) for word in words[first:last] if word is not None]
        masked = [
            *shown[: slot - first],
            str(self._checkpoint().tokenizer.mask_token),
            *shown[slot - first + 1 :],
        ]
        return " ".join(shown), " ".join(masked)

    def _cut(self, words: Sequence[str | None], slot: int) -> list[int]:
        """Return as much around the word as the model can hold: at least the mask."""
        tokenizer = self._checkpoint().tokenizer
        for radius in (64, 16, 4, 1):
            ids: list[int] = tokenizer(*self._pair(words, slot, radius))["input_ids"]
            if len(ids) <= self._room():
                return ids
        bare: list[int] = tokenizer(tokenizer.mask_token)["input_ids"]
        return bare

    def _masked(self, ids: Sequence[int]) -> MaskedRow:
        mask = self._checkpoint().tokenizer.mask_token_id
        where = [i for i, token in enumerate(ids) if token == mask]
        return MaskedRow(tuple(ids), where[-1])

    def _words(self, text: str) -> list[str | None]:
        """Return the words of a text; with a fixed length cut, or filled up with None."""
        words: list[str | None] = list(split_words(text))
        if self.length == "input":
            return words
        return words[: self.slots] + [None] * (self.slots - len(words))

    def _is_drawn(self, word: str | None) -> bool:
        """Return whether a word is replaced by a charged draw rather than released."""
        if word is None:
            return True
        if self.keep_punctuation and all(letter in string.punctuation for letter in word):
            return False
        return not (self.keep_stop_words and word in _stop_list(self.stop_words))

    def _released(
        self, words: Sequence[str | None], items: Sequence[int], spelled: Mapping[int, str]
    ) -> Rewrite:
        """Put the drawn and the released words together again."""
        out = []
        for word, item in zip(words, items, strict=True):
            text = str(word) if item == _KEPT else spelled[item]
            if item != _KEPT and self.copy_case and word:
                text = text.capitalize() if word[0].isupper() else text.lower()
            out.append(text)
        tokens = tuple(item for item in items if item != _KEPT)
        kept = [text for text in out if text]
        return Rewrite(join_words(kept), tokens=tokens, units=len(tokens))

    def _clip(self) -> Clip:
        return chosen_clip(self.low, self.high, self._checkpoint().clip or self.released_range)

    def _room(self) -> int:
        """Return how many tokens the model reads: what is asked for, as far as it can hold it."""
        bound = self._checkpoint().positions
        return self.context if bound is None else min(self.context, bound)

    def _checkpoint(self) -> Checkpoint:
        checkpoint = load_checkpoint("masked", self.model, self.revision, self.device, self.dtype)
        if checkpoint.tokenizer.mask_token_id is None:
            raise ModelError(f"'{self.model}' has no mask token; dp-mlm needs a masked language model.")
        return checkpoint


@lru_cache(maxsize=1 << 18)
def _spelled(tokenizer: Any, item: int) -> str:
    """Return how an item of the vocabulary is written; a released word and the empty item not at all."""
    if not 0 <= item < len(tokenizer):
        return ""
    return str(tokenizer.decode([item], skip_special_tokens=True)).strip()


def _present(words: Sequence[str | None]) -> int:
    return sum(word is not None for word in words)


@lru_cache(maxsize=4)
def _stop_list(path: str) -> frozenset[str]:
    """Return the stop words: scikit-learn's, or those of a file with one a line."""
    if not path:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    try:
        return frozenset(Path(path).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"'dp-mlm': cannot read the stop words in '{path}' ({error}).") from error
