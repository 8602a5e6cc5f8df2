"""Rewrite word by word with a masked language model (DP-MLM).

Paper:   Meisenbacher, Chevli, Vladika and Matthes 2024, Findings of ACL.
Claim:   epsilon per drawn word, for the whole text: n words cost n epsilon.
Departs: "sound" rewrites stop words and punctuation too, over a public number of slots with an empty
         item, and case comes with the token. "published" follows the release, sjmeis/DPMLM 3ce9390; the
         card says what is left.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms._clipped_logits import describe_arithmetic
from tedaudit.mechanisms._masked_rows import (
    DrawShelf,
    ItemSpellings,
    Places,
    Words,
    find_fragments,
    lay_out,
    load_spellings,
    slot_logits,
)
from tedaudit.mechanisms._released_slots import Slot, SlotNumbers, to_tokens
from tedaudit.mechanisms._slot_likelihood import Memory, SlotLikelihood
from tedaudit.mechanisms._text_likelihood import TextLikelihood
from tedaudit.models.loading import Checkpoint, load_checkpoint, send
from tedaudit.models.places import caution_range
from tedaudit.models.sampling.draw_pairs import DrawPairs
from tedaudit.models.sampling.exponential import (
    Clip,
    check_clip,
    choose_clip,
    log_probabilities,
    sample_pairs,
)
from tedaudit.models.triples.treebank import (
    StopWords,
    join_words,
    load_splitter,
    load_stop_words,
    split_words,
)
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.batches import Draws, PairLosses, Ragged, Rewrites
from tedaudit.plugins.batches.guesses import TextLikelihoods
from tedaudit.plugins.batches.sequences import pause_collection
from tedaudit.plugins.values import Card, Claim, Draw, Floats, InputLimit, Leak, ModelUse, Note, Rewrite
from tedaudit.text.characters import replace_surrogates

_NONE = -1  # instead of an item, for a word that is not drawn
_PAIRS = "windows by a word's number among all words, decoded from their tokens"  # `pairs` released
_TEXTS = {"cuda": 2048}  # laid out at a time on a GPU, which reads them meanwhile; on a CPU all are


@dataclass(frozen=True)
class DPMLM:
    """RoBERTa, or the zoo's model if installed; `model` takes any masked language model.

    For each word the model sees the original and a copy with that word masked, as a pair, and one
    word is drawn from the logits at the mask. With `length` "input" there is no empty item. The clip range
    that is stored with a model was measured on public text.
    """

    model: str = zoo_or("mlm", "FacebookAI/roberta-base")
    """The masked language model: a folder, a hub id or zoo:NAME."""
    revision: str = ""
    """Branch, tag or commit of a model on the hub. Empty: the newest."""
    low: float | None = None
    """Lower end of the clip range for logits. Null: as stored with the model, or else as released."""
    high: float | None = None
    """Upper end of the clip range for logits. Null: as stored with the model, or else as released."""
    length: Literal["fixed", "input"] = "fixed"
    """fixed: `slots` draws for every text. input: one per word, which reveals how many words it has."""
    slots: int = 32
    """How many words are drawn for every text, if length is fixed. Longer texts are cut."""
    words: Literal["treebank", "nltk"] = "treebank"
    """How words are found. treebank: needs no data. nltk: splits sentences first, as the release does."""
    nltk_data: str = ""
    """Folder with nltk's data. Empty: wherever nltk finds it, or else a substitute."""
    pairs: Literal["plain", "released"] = "plain"
    """What the model reads. plain: the text and a masked copy. released: built as in the release."""
    special_tokens: Literal["skip", "write"] = "skip"
    """What a drawn token that is no word (special, unused, ##end) becomes. skip: nothing. write: its name."""
    keep_stop_words: bool = False
    """Release stop words as they are, without noise."""
    keep_punctuation: bool = False
    """Release punctuation as it is, without noise."""
    copy_case: bool = False
    """Give a drawn word the capital letter of the original, without noise."""
    stop_words: str = ""
    """File of stop words to keep, one per line. Empty: nltk's list, or else scikit-learn's."""
    context: int = 512
    """How many tokens the model reads at once, at most. Its own limit applies if it is lower."""
    dtype: str = "auto"
    """Number format of the model: auto (bfloat16 on CUDA, otherwise float32) or a torch dtype."""
    device: str = field(default="auto", metadata={"incidental": True})
    """Where the model runs: auto (CUDA, or else the CPU) or a torch device."""
    _last_logits: Memory = field(init=False, repr=False, compare=False, default_factory=dict)
    forbids_by_rule: ClassVar[bool] = True
    released_range: ClassVar[tuple[float, float]] = (-3.2093127, 16.304797887802124)
    measured_on: ClassVar[str] = "roberta-base"
    card: ClassVar[Card] = Card(
        name="dp-mlm",
        english=("model: the default model", "rules for words, sentences and stop words"),
        needs=("models",),
        summary="Word by word from a masked language model, every word by the exponential mechanism.",
        paper="Meisenbacher et al. 2024 (Findings of ACL); release sjmeis/DPMLM 3ce9390",
        claim=(
            "epsilon per word, each drawn given the whole text: n words cost n epsilon; published: no maximum"
        ),
        departures=(
            "sound: a public number of slots with an empty item, stop words and punctuation drawn too",
            "published: stop words and punctuation released, case copied, as many words out as in",
            "published: sentences and stop words are nltk's, if its data is found (punkt_tab, stopwords)",
            "without it, Punkt with few abbreviations and scikit-learn's stop words (see fingerprint)",
            "published: probabilities in float64; the release's float32 gives some items 0 above epsilon 210",
            "published: a word that is not masked (closing quotes, beyond the window) comes back as it is",
            "published: so in the release's batch mode, which this is; its other mode fails on the text",
            "published: no clean-up of spaces in decoded windows, as in the library since 4.45",
        ),
        version=2,
        leaks=(
            Leak(
                field="keep_stop_words",
                value=True,
                instead=False,
                says="stop words are released as they are",
                shows=("stop word", "stop words", "copied words"),
                rule="stop words",
            ),
            Leak(
                field="keep_punctuation",
                value=True,
                instead=False,
                says="punctuation is released as it is",
                shows=("punctuation", "sentences"),
                rule="punctuation",
            ),
            Leak(
                field="copy_case",
                value=True,
                instead=False,
                says="the case of each first letter is copied from the private word",
                shows=("case",),
                rule="case",
            ),
            Leak(
                field="length",
                value="input",
                instead="fixed",
                says="how long the output can be depends on the text",
                shows=("length",),
                rule="length rule",
            ),
            Leak(
                field="pairs",
                value="released",
                instead="plain",
                says="a word that the release fails to mask comes back as it is",
                shows=(
                    "length",
                    "copied words",
                    "rare word",
                    "name",
                    "number",
                    "word order",
                    "zero-width character",
                    "homoglyph",
                ),
                rule="copied words",
            ),
        ),
        not_leaks=(
            ("words", "it splits words; other settings decide what is released of them"),
            ("special_tokens", "comes after the draw"),
        ),
        slope=(10, 25, 100),
        public=(("stop_words", "list of stop words"),),
    )
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "sound": {
            "length": "fixed", "keep_stop_words": False, "keep_punctuation": False, "copy_case": False,
            "words": "treebank", "pairs": "plain", "special_tokens": "skip",
        },
        "published": {
            "length": "input", "keep_stop_words": True, "keep_punctuation": True, "copy_case": True,
            "words": "nltk", "pairs": "released", "special_tokens": "write",
        },
    }  # fmt: skip

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise SpecError(f"'dp-mlm': slots is {self.slots}; it must be 1 or more.")
        if self.pairs == "released" and self.length == "fixed":
            raise SpecError(
                "'dp-mlm': pairs is 'released' and length is 'fixed'; the release returns a word as it is if "
                "it fails to mask it, so it needs length 'input'."
            )
        check_clip(self.low, self.high)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per word; with length "input" nothing bounds the number of words."""
        return Claim(epsilon, "word", max_units=self.slots if self.length == "fixed" else None)

    def models(self) -> Sequence[ModelUse]:
        """Name the checkpoint."""
        return [ModelUse("weights", self.model)]

    def cautions(self) -> Sequence[str]:
        """Say if the clip range was measured on another model."""
        return caution_range(
            self.model, self.low, self.high, self.released_range, self.measured_on, self.revision
        )

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:
        """Yield what is known of the clip range and the probabilities."""
        return describe_arithmetic(self, self._choose_clip(), epsilons, texts)

    def input_limit(self) -> InputLimit | None:
        """Return the slots; with length "input" there is no limit."""
        if self.length == "input":
            return None
        return InputLimit(lambda text: len(self._find_words(text)), self.slots, "words")

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format, the clip range, and the data on words.

        How released pairs are built is in it, and not in the card's version: other rows stay as they were.
        """
        clip, stop_words = self._choose_clip(), self._load_stop_words()
        found = {**self._load_checkpoint().fingerprint(), "clip range": f"{clip.low!r} to {clip.high!r}"}
        if self.words == "nltk":
            found["sentences"] = load_splitter(self.nltk_data).source
        if self.pairs == "released":
            found["released pairs"] = _PAIRS
        if self.special_tokens == "skip" and find_fragments(self._load_checkpoint().tokenizer):
            found["ends of words"] = "not written"
        return found | ({"stop words": stop_words.source} if stop_words.source else {})

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Run the model once per distinct text and word; all draws at all epsilons reuse its logits."""
        batch, numbers = Draws.of(draws), self._number_slots()
        with pause_collection():
            words = self._split_all(batch.texts)
            drawn = self._draw(batch, words, numbers)
        if self.length == "fixed" and numbers.releases_items:
            return self._join_items(drawn)
        known: dict[tuple[str, tuple[int, ...]], Rewrite] = {}  # with little noise few of them differ
        rewrites = []
        for number, text in enumerate(batch.texts):
            key = text, tuple(drawn.values[drawn.offsets[number] : drawn.offsets[number + 1]].tolist())
            if key not in known:
                known[key] = self._join(words[text], key[1], numbers)
            rewrites.append(known[key])
        return Rewrites.of(rewrites)

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each candidate releases these tokens; -inf if it cannot."""
        return self.log_likelihoods([tokens], [candidates], epsilon)[0]

    def log_likelihoods(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Do the same for many releases, each with its own candidates; the model sees every text once."""
        return self._make_likelihood().score(released, candidates, epsilon)

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Return the log-probability of each text, whatever was drawn: exact, unless the model is rounded."""
        likelihood = TextLikelihood(self._make_likelihood(), self.length == "fixed", self.pairs == "released")
        found = likelihood.score(texts, candidates, epsilon)
        return TextLikelihoods.scores(found) if self._is_rounded() else TextLikelihoods.exact(found)

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both likelihoods, the loss of every slot, and the largest loss of any release."""
        return self._make_likelihood().compare(released, pairs, epsilon)

    def first_token(self, texts: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each item of the vocabulary is drawn first, one row per text.

        The empty item, if there is one, has the rest. A text of which no word is drawn gets a row of -inf.
        """
        places = self._lay_out(self._split_all(texts), self._number_slots())
        beyond = {text: words.index(None) for text, words in places.words.items() if None in words}
        first = beyond | dict(reversed(places.drawn))  # a text's first place stays
        size = int(self._load_checkpoint().model.config.vocab_size)
        found: dict[str, Floats] = {}
        for slots, rows, logits in self._compute_logits(places):
            table = log_probabilities(self._choose_clip(), logits, epsilon).cpu().numpy()
            for row, (text, slot) in zip(rows, slots, strict=True):
                if first.get(text) == slot:
                    found[text] = table[row, :size]
        return np.array([found.get(text, np.full(size, -math.inf)) for text in texts])

    @property
    def terms_are_pieces(self) -> bool:
        """Whether the words of a text are known without data that may differ from that of a run."""
        return self.words == "treebank"

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the words of a text that have a slot."""
        return tuple(word for word in self._split(text) if word is not None)

    def _draw(self, draws: Draws, words: Mapping[str, Words], numbers: SlotNumbers) -> Ragged:
        """Return the items drawn for the slots of each draw; -1 if a word is kept or copied.

        While a GPU runs the model on some texts, the next ones are made ready for it.
        """
        clip, device = self._choose_clip(), self._load_checkpoint().device
        shelf = DrawShelf(draws, words, device)
        texts = list(words)
        step = _TEXTS.get(device.type, max(1, len(texts)))
        for start in range(0, len(texts), step):
            places = self._lay_out({text: words[text] for text in texts[start : start + step]}, numbers)
            for slots, row_of_slot, logits in self._compute_logits(places):
                own, cells, counts = shelf.find(slots)
                rows = np.repeat(row_of_slot, counts)
                pairs = DrawPairs.send(rows, draws.epsilons[own], len(logits), device)
                shelf.put(cells, sample_pairs(clip, logits, pairs, shelf.noise[send(cells, device)]))
        return shelf.fetch(_NONE)

    def _lay_out(self, words: Mapping[str, Words], numbers: SlotNumbers) -> Places:
        """Return what the model reads for every word that is drawn."""
        split = load_splitter(self.nltk_data).split if self.pairs == "released" else None
        return lay_out(
            self._load_checkpoint().tokenizer, self._compute_room(), words, numbers.find_kept, split
        )

    def _split_all(self, texts: Sequence[str]) -> dict[str, Words]:
        return {text: self._split(text) for text in dict.fromkeys(texts)}

    def _compute_logits(self, places: Places) -> Iterator[tuple[list[tuple[str, int]], Any, Any]]:
        return slot_logits(
            self._load_checkpoint(), places, self._choose_clip(), with_empty=self.length == "fixed"
        )

    def _make_likelihood(self) -> SlotLikelihood:
        numbers = self._number_slots()
        return SlotLikelihood(
            numbers=numbers,
            split=self._split,
            lay_out=lambda texts: self._lay_out(self._split_all(texts), numbers),
            compute_logits=self._compute_logits,
            clip=self._choose_clip(),
            device=self._load_checkpoint().device.type,
            memory=self._last_logits,
        )

    def _is_rounded(self) -> bool:
        """Return whether the model has so few digits that what it says is no exact probability."""
        return str(self._load_checkpoint().model.dtype).removeprefix("torch.") in ("bfloat16", "float16")

    def _split(self, text: str) -> Words:
        """Return the words of a text; with length "fixed" cut or padded with None to the number of slots."""
        words: list[str | None] = [*self._find_words(text)]
        if self.length == "input":
            return words
        return words[: self.slots] + [None] * (self.slots - len(words))

    def _find_words(self, text: str) -> list[str]:
        plain = replace_surrogates(text)
        return load_splitter(self.nltk_data).split(plain) if self.words == "nltk" else split_words(plain)

    def _join(self, words: Words, items: Sequence[int], numbers: SlotNumbers) -> Rewrite:
        """Join the drawn and the unchanged words into a text."""
        slots: list[Slot] = []
        for word, item in zip(words, items, strict=True):
            kept = numbers.find_kept(word)
            drawn = numbers.copy(str(word)) if item == _NONE else numbers.number(word, item)
            slots.append(drawn if kept is None else kept)
        written = [numbers.write(slot) for slot in slots]
        if self.length == "fixed":
            written = [spelling for spelling in written if spelling]
        units = sum(item != _NONE for item in items)
        return Rewrite(join_words(written), tokens=to_tokens(slots), units=units)

    def _join_items(self, drawn: Ragged) -> Rewrites:
        """Join drawn words into texts if every slot is drawn and the items are all that is released."""
        items = drawn.values.reshape(len(drawn), self.slots)
        return Rewrites.from_texts(self._load_spellings().join(items), tokens=items, units=self.slots)

    def _number_slots(self) -> SlotNumbers:
        return SlotNumbers(
            size=int(self._load_checkpoint().model.config.vocab_size) + (self.length == "fixed"),
            stop_words=self._load_stop_words().words,
            keep_punctuation=self.keep_punctuation,
            copy_case=self.copy_case,
            spell=self._load_spellings().spell,
        )

    def _load_spellings(self) -> ItemSpellings:
        return load_spellings(self._load_checkpoint().tokenizer, self.special_tokens == "skip")

    def _load_stop_words(self) -> StopWords:
        if not self.keep_stop_words:
            return StopWords(frozenset(), "")
        return load_stop_words(self.nltk_data, self.stop_words)

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
