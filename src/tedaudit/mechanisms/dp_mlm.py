"""Rewrite word by word with a masked language model (DP-MLM).

Paper:   Meisenbacher, Chevli, Vladika and Matthes 2024, Findings of ACL.
Claim:   epsilon per drawn word, for the whole text: n words cost n epsilon.
Departs: "sound" rewrites stop words and punctuation too, over a public number of slots with an empty
         item, and case comes with the token. "published" follows the release, with two exceptions:
         the stop list is scikit-learn's (the release's needs a download), and a text too long for
         the model is read through a window around the word.
"""

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.batches import Draws, Rewrites
from tedaudit.errors import ModelError, SpecError
from tedaudit.inference.loading import Checkpoint, load_checkpoint
from tedaudit.inference.masked import masked_logits
from tedaudit.inference.sampling import Clip, choose_clip, log_probabilities, noise_for, sample
from tedaudit.inference.treebank import join_words, split_words
from tedaudit.inference.zoo import zoo_or
from tedaudit.mechanisms._masked_rows import build_rows
from tedaudit.types import Card, Claim, Draw, Floats, ModelUse, Rewrite

_SLOTS = 4096  # slots beyond the end of a text that are drawn at a time
_KEPT = -1  # instead of an item, for a word that is released unchanged


@dataclass(frozen=True)
class DPMLM:
    """RoBERTa, or the zoo's model if installed; `model` takes any masked language model.

    For each word the model sees the original and a copy with that word masked, as a pair, and one
    word is drawn from the logits at the mask. `low` and `high` clip the logits; if not given, the
    range measured on public text and stored with the model is used, or else the range of the release.
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
        needs=("models",),
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
        choose_clip(self.low, self.high, self.released_range)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per word; with length "input" only the context bounds the number of words."""
        return Claim(epsilon, "word", max_units=self.slots if self.length == "fixed" else self.context)

    def models(self) -> Sequence[ModelUse]:
        """Name the checkpoint."""
        return [ModelUse("weights", self.model)]

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format and the clip range of the logits."""
        clip = self._choose_clip()
        return {**self._load_checkpoint().fingerprint(), "clip range": f"{clip.low!r} to {clip.high!r}"}

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Run the model once per distinct text and word; all draws at all epsilons reuse its logits."""
        batch = Draws.of(draws)
        texts = batch.texts
        words = {text: self._split(text) for text in dict.fromkeys(texts)}
        drawn = self._draw(batch, words)
        tokenizer = self._load_checkpoint().tokenizer
        spellings = {item: _spell(tokenizer, item) for item in {item for items in drawn for item in items}}
        known: dict[tuple[str, tuple[int, ...]], Rewrite] = {}  # with little noise few of them differ
        rewrites = []
        for text, items in zip(texts, drawn, strict=True):
            key = text, tuple(items)
            if key not in known:
                known[key] = self._join(words[text], items, spellings)
            rewrites.append(known[key])
        return Rewrites.of(rewrites)

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of drawing these items from each candidate; -inf if impossible."""
        return self.log_likelihoods([tokens], [candidates], epsilon)[0]

    def log_likelihoods(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Do the same for many releases, each with its own candidates; the model sees every text once."""
        words = {text: self._split(text) for texts in candidates for text in texts}
        charged = {text: [i for i, word in enumerate(words[text]) if self._is_drawn(word)] for text in words}
        scores = [
            np.array([0.0 if len(charged[text]) == len(tokens) else -math.inf for text in texts])
            for tokens, texts in zip(released, candidates, strict=True)
        ]
        uses: dict[str, list[tuple[int, int]]] = {}  # the releases, and places in them, that have a text
        for release, texts in enumerate(candidates):
            for place, text in enumerate(texts):
                if scores[release][place] == 0.0:
                    uses.setdefault(text, []).append((release, place))
        for slots, rows, logits in self._compute_logits({text: words[text] for text in uses}):
            table = log_probabilities(self._choose_clip(), logits, epsilon).cpu().numpy()
            for row, (text, slot) in zip(rows, slots, strict=True):
                item = charged[text].index(slot)
                for release, place in uses[text]:
                    scores[release][place] += table[row, released[release][item]]
        return scores

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that have a slot."""
        return tuple(word for word in self._split(text) if word is not None)

    def _draw(self, draws: Draws, words: Mapping[str, list[str | None]]) -> list[list[int]]:
        """Return the items drawn for the slots of each draw; -1 for a word that is released unchanged."""
        import torch

        of_text: dict[str, list[int]] = {}
        for number, text in enumerate(draws.texts):
            of_text.setdefault(text, []).append(number)
        noise = self._draw_noise(draws, of_text, words)
        items = {t: np.full((len(of_text[t]), len(words[t])), _KEPT, dtype=np.int64) for t in of_text}
        for slots, row_of_slot, logits in self._compute_logits(words):
            counts = [len(of_text[text]) for text, _ in slots]
            epsilons = draws.epsilons[[n for text, _ in slots for n in of_text[text]]]
            coins = np.concatenate([noise[text][:, slot] for text, slot in slots])
            rows = np.repeat(row_of_slot, counts)
            tensors = [torch.from_numpy(part).to(logits.device) for part in (rows, epsilons, coins)]
            sampled = sample(self._choose_clip(), logits, *tensors).cpu().numpy()
            for (text, slot), part in zip(slots, np.split(sampled, np.cumsum(counts)[:-1]), strict=True):
                items[text][:, slot] = part
        drawn: list[list[int]] = [[]] * len(draws)
        for text, numbers in of_text.items():
            for number, row in zip(numbers, items[text].tolist(), strict=True):
                drawn[number] = row
        return drawn

    def _draw_noise(
        self, draws: Draws, of_text: Mapping[str, list[int]], words: Mapping[str, list[str | None]]
    ) -> dict[str, Floats]:
        """Return the uniforms of every text's draws; texts with equally many slots share one call."""
        by_length: dict[int, list[str]] = {}
        for text in of_text:
            by_length.setdefault(len(words[text]), []).append(text)
        noise: dict[str, Floats] = {}
        for length, texts in by_length.items():
            whole = noise_for(draws.keys[[n for text in texts for n in of_text[text]]], length)
            ends = np.cumsum([len(of_text[text]) for text in texts])[:-1]
            noise.update(zip(texts, np.split(whole, ends), strict=True))
        return noise

    def _compute_logits(self, words: Mapping[str, list[str | None]]) -> Any:
        """Yield (text, slot) pairs, the row of each, and rows of logits over vocabulary and the empty item.

        The empty item has the lowest utility in a slot with a word. Beyond the end of the text it has the
        highest and every word the lowest, whatever the text, so that all such slots share one row.
        """
        import torch

        checkpoint, clip = self._load_checkpoint(), self._choose_clip()
        charged = [
            (text, slot)
            for text, slots in words.items()
            for slot, word in enumerate(slots)
            if word is not None and self._is_drawn(word)
        ]
        vocabulary = 0
        rows = build_rows(checkpoint.tokenizer, self._compute_room(), [(words[t], s) for t, s in charged])
        for numbers, logits in masked_logits(checkpoint, rows):
            vocabulary = logits.shape[1]
            lowest = torch.full((len(numbers), 1), clip.low, device=logits.device)
            yield [charged[i] for i in numbers], np.arange(len(numbers)), torch.cat([logits, lowest], dim=1)
        beyond = [(text, slot) for text, slots in words.items() for slot, w in enumerate(slots) if w is None]
        vocabulary = vocabulary or int(checkpoint.model.config.vocab_size)
        empty = torch.full((1, vocabulary + 1), clip.low, device=checkpoint.device)
        empty[0, -1] = clip.high
        for start in range(0, len(beyond), _SLOTS):
            block = beyond[start : start + _SLOTS]
            yield block, np.zeros(len(block), dtype=np.int64), empty

    def _split(self, text: str) -> list[str | None]:
        """Return the words of a text; with length "fixed" cut or padded with None to the number of slots."""
        words: list[str | None] = list(split_words(text))
        if self.length == "input":
            return words
        return words[: self.slots] + [None] * (self.slots - len(words))

    def _is_drawn(self, word: str | None) -> bool:
        """Return whether a word is replaced by a charged draw rather than released unchanged."""
        if word is None:
            return True
        if self.keep_punctuation and all(letter in string.punctuation for letter in word):
            return False
        return not (self.keep_stop_words and word in _load_stop_words(self.stop_words))

    def _join(
        self, words: Sequence[str | None], items: Sequence[int], spellings: Mapping[int, str]
    ) -> Rewrite:
        """Join the drawn and the unchanged words into a text."""
        output = []
        for word, item in zip(words, items, strict=True):
            spelling = str(word) if item == _KEPT else spellings[item]
            if item != _KEPT and self.copy_case and word:
                spelling = spelling.capitalize() if word[0].isupper() else spelling.lower()
            if spelling:
                output.append(spelling)
        tokens = tuple(item for item in items if item != _KEPT)
        return Rewrite(join_words(output), tokens=tokens, units=len(tokens))

    def _choose_clip(self) -> Clip:
        return choose_clip(self.low, self.high, self._load_checkpoint().clip or self.released_range)

    def _compute_room(self) -> int:
        """Return how many tokens the model may read: `context`, or less if the model's limit is lower."""
        bound = self._load_checkpoint().positions
        return self.context if bound is None else min(self.context, bound)

    def _load_checkpoint(self) -> Checkpoint:
        checkpoint = load_checkpoint("masked", self.model, self.revision, self.device, self.dtype)
        if checkpoint.tokenizer.mask_token_id is None:
            raise ModelError(f"'{self.model}' has no mask token; dp-mlm needs a masked language model.")
        return checkpoint


@lru_cache(maxsize=1 << 18)
def _spell(tokenizer: Any, item: int) -> str:
    """Return the string of a vocabulary item; "" for the empty item and for a word released unchanged."""
    if not 0 <= item < len(tokenizer):
        return ""
    return str(tokenizer.decode([item], skip_special_tokens=True)).strip()


@lru_cache(maxsize=4)
def _load_stop_words(path: str) -> frozenset[str]:
    """Return the stop words: scikit-learn's, or those in a file with one per line."""
    if not path:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    try:
        return frozenset(Path(path).read_text(encoding="utf-8").split())
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"'dp-mlm': cannot read the stop words in '{path}' ({error}).") from error
