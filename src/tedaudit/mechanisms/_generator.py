"""Shared by mechanisms whose model reads a prompt with the private text and draws the rewrite by tokens."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Literal

import numpy as np

from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms._clipped_logits import describe_arithmetic
from tedaudit.models.decoding import decode_all
from tedaudit.models.loading import Checkpoint, Task, load_checkpoint
from tedaudit.models.places import caution_range
from tedaudit.models.sampling.exponential import Clip, TokenRule, check_clip, choose_clip
from tedaudit.models.sampling.generation import (
    Request,
    first_log_probabilities,
    generate,
    log_likelihood_terms,
    log_probabilities_along,
)
from tedaudit.models.sampling.text_draws import Spellings, TextDraws, learn_spellings
from tedaudit.models.sampling.text_search import IMPOSSIBLE, Found, Sought, search
from tedaudit.models.zoo import load_tokenizer, read_positions
from tedaudit.plugins.batches import Draws, PairLosses, Ragged, Rewrites
from tedaudit.plugins.batches.guesses import TextLikelihoods
from tedaudit.plugins.batches.sequences import pause_collection
from tedaudit.plugins.values import Claim, Draw, Floats, InputLimit, Leak, ModelUse, Note
from tedaudit.seeding import key_numbers
from tedaudit.text.characters import replace_surrogates

OVERLONG = Leak(
    field="overlong",
    value="error",
    instead="cut",
    says="a prompt longer than the context fails, others do not",
    shows=("failure",),
    rule="failures",
)
_TEXTS = 256  # published texts whose draws are in memory at a time


class Generator(ABC):
    """Draws, scores and decodes; a mechanism adds its fields, its prompt and its rule for one token."""

    model: str
    overlong: Literal["cut", "truncate", "error"]
    text_readings: int

    @abstractmethod
    def fill_prompt(self, text: str) -> str: ...

    @abstractmethod
    def _choose_rule(self) -> TokenRule: ...

    @abstractmethod
    def _compute_limit(self, prompt: tuple[int, ...]) -> int: ...

    @abstractmethod
    def _compute_room(self) -> int: ...

    @abstractmethod
    def _load_checkpoint(self) -> Checkpoint: ...

    def _write(self, text: str, continuation: str) -> str:  # noqa: ARG002
        """Return what is released of the decoded tokens; in a published variant it may depend on the text."""
        return continuation.strip()

    def _only_strips(self) -> bool:
        """Return whether all that is taken off the decoded tokens is white space at both ends."""
        return type(self)._write is Generator._write  # noqa: SLF001

    def _check_readings(self) -> None:
        if self.text_readings < 1:
            raise SpecError(f"text_readings is {self.text_readings}; it must be 1 or more.")

    def models(self) -> Sequence[ModelUse]:
        """Name the checkpoint."""
        return [ModelUse("weights", self.model)]

    def rewrite(self, draws: Sequence[Draw]) -> Rewrites:
        """Draw the tokens of all rewrites together, so that equal prefixes share the model's work."""
        batch = Draws.of(draws)
        prompts = self._encode_prompts(batch.texts)
        limits = {text: self._compute_limit(ids) for text, ids in prompts.items() if ids is not None}
        asked = zip(batch.texts, batch.epsilons.tolist(), key_numbers(batch.keys), strict=True)
        requests = [
            None
            if (prompt := prompts[text]) is None
            else Request(prompt=prompt, epsilon=epsilon, key=key, limit=limits[text])
            for text, epsilon, key in asked
        ]
        accepted = [request for request in requests if request is not None]
        checkpoint, ends = self._load_checkpoint(), self._find_ends()
        with pause_collection():
            outputs = iter(generate(checkpoint, self._choose_rule(), accepted, ends))
        tokens = [None if request is None else tuple(next(outputs)) for request in requests]
        written = decode_all(checkpoint.tokenizer, [() if drawn is None else drawn for drawn in tokens])
        rows = zip(batch.texts, tokens, written, strict=True)
        return Rewrites.from_texts(
            ["" if drawn is None else self._write(text, words) for text, drawn, words in rows],
            errors=["over-long" if drawn is None else "" for drawn in tokens],
            tokens=tokens,
            units=np.array([-1 if drawn is None else len(drawn) for drawn in tokens], dtype=np.int64),
        )

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each candidate releases these tokens; -inf if it cannot."""
        return self.log_likelihoods([tokens], [candidates], epsilon)[0]

    def log_likelihoods(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Do the same for many releases at once, each with its own candidates."""
        return [np.array(list(map(_add_up, row))) for row in self._find_terms(released, candidates, epsilon)]

    def compare(
        self, released: Sequence[Sequence[int]], pairs: Sequence[tuple[str, str]], epsilon: float
    ) -> tuple[Floats, PairLosses]:
        """Return both likelihoods and the loss of every token; how large a loss can be is not known."""
        terms = self._find_terms(released, pairs, epsilon)
        scores = np.array([list(map(_add_up, row)) for row in terms], dtype=np.float64)
        losses = [
            row[0] - row[1] if row[0] is not None and row[1] is not None and np.isfinite(sums).all() else None
            for row, sums in zip(terms, scores, strict=True)
        ]
        unknown = np.full(len(pairs), math.nan)
        return scores.reshape(len(pairs), 2), PairLosses(unknown, unknown, Ragged.of(losses, np.float64))

    def _find_terms(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[list[Floats | None]]:
        """Return the log-probability of every token for each candidate; None if it cannot release them."""
        prompts = self._encode_prompts([text for texts in candidates for text in texts])
        possible = [
            (release, place, (prompts[text] or (), tuple(tokens)))
            for release, (tokens, texts) in enumerate(zip(released, candidates, strict=True))
            for place, text in enumerate(texts)
            if self._can_end(tokens, prompts[text])
        ]
        pairs = list(dict.fromkeys(pair for _, _, pair in possible))
        values = log_likelihood_terms(self._load_checkpoint(), self._choose_rule(), pairs, epsilon)
        by_pair = dict(zip(pairs, values, strict=True))
        terms: list[list[Floats | None]] = [[None] * len(texts) for texts in candidates]
        for release, place, pair in possible:
            terms[release][place] = by_pair[pair]
        return terms

    def text_log_likelihood(
        self, texts: Sequence[str], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> TextLikelihoods:
        """Return the ends between which each text's probability lies, for each of its candidates.

        A score if the draws of a text are not all known, or if the model computes with few digits.
        """
        prompts = self._encode_prompts(list(chain(*candidates)))
        found: list[list[Found]] = []
        for start in range(0, len(texts), _TEXTS):
            part = slice(start, start + _TEXTS)
            found += self._search_draws(texts[part], candidates[part], prompts, epsilon)
        lower, upper, guess = ([np.array([one[end] for one in row]) for row in found] for end in range(3))
        is_whole = self._find_spellings() is not None and self._only_strips()
        if not is_whole or not self._is_precise():
            return TextLikelihoods.scores(guess)
        return TextLikelihoods.between(lower, upper, guess)

    def _search_draws(
        self,
        texts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        prompts: Mapping[str, tuple[int, ...] | None],
        epsilon: float,
    ) -> list[list[Found]]:
        """Return what is found of each text and each of its candidates; equal ones are searched once."""
        checkpoint = self._load_checkpoint()
        graphs = {text: self._find_draws(text) for text in dict.fromkeys(texts)}
        asked = [[(text, one) for one in row] for text, row in zip(texts, candidates, strict=True)]
        able = {pair: prompt for pair in chain(*asked) if (prompt := prompts[pair[1]]) is not None}
        pairs = sorted(able, key=lambda pair: able[pair])  # so that a prompt is read once for many texts

        def are_written(drawn: Sequence[tuple[int, tuple[int, ...]]]) -> list[bool]:
            written = decode_all(checkpoint.tokenizer, [tokens for _, tokens in drawn])
            rows = [(*pairs[number], words) for (number, _), words in zip(drawn, written, strict=True)]
            return [self._write(one, words) == text for text, one, words in rows]

        sought = [Sought(graphs[pair[0]], able[pair], self._compute_limit(able[pair])) for pair in pairs]
        read = partial(log_probabilities_along, checkpoint, self._choose_rule(), epsilon=epsilon)
        found = dict(zip(pairs, search(sought, read, are_written, self.text_readings), strict=True))
        return [[found.get(pair, IMPOSSIBLE) for pair in row] for row in asked]

    def _is_precise(self) -> bool:
        """Return whether what is computed has the digits to be called a probability."""
        return self._load_checkpoint().is_precise

    def _find_draws(self, text: str) -> TextDraws:
        """Return the draws that are written as a text; or those that an unknown tokenizer chooses."""
        spellings = self._find_spellings()
        if spellings is None:
            return TextDraws.of_sequences(self.source_tokens(text), self._find_ends())
        return TextDraws.find(text, spellings, self._find_ends())

    def _find_spellings(self) -> Spellings | None:
        checkpoint = self._load_checkpoint()
        return learn_spellings(checkpoint.tokenizer, int(checkpoint.model.config.vocab_size))

    def first_token(self, texts: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability that each token is drawn first, one row per text.

        This is the distribution itself, so no sampling is needed. A text refused as over-long gets a
        row of -inf.
        """
        prompts = self._encode_prompts(texts)
        distinct = list(dict.fromkeys(prompt for prompt in prompts.values() if prompt is not None))
        table = first_log_probabilities(self._load_checkpoint(), self._choose_rule(), distinct, epsilon)
        rows = dict(zip(distinct, table, strict=True))
        refused = np.full(table.shape[1], -math.inf)
        per_text = [prompts[text] for text in texts]
        return np.array([refused if prompt is None else rows[prompt] for prompt in per_text])

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the tokens of the text alone, without the prompt; end markers count as tokens."""
        tokenizer = self._load_checkpoint().tokenizer
        return tuple(self.piece(token) for token in tokenizer(replace_surrogates(text))["input_ids"])

    def piece(self, token: int) -> str:
        """Return the string of one token, including any leading space."""
        return str(self._load_checkpoint().tokenizer.decode([token]))

    def source_tokens(self, text: str) -> tuple[tuple[int, ...], ...]:
        """Return the tokens that write a text, once at the start of a line and once after a space."""
        tokenizer, text = self._load_checkpoint().tokenizer, replace_surrogates(text)
        encoded = tokenizer(text_target=[text, f" {text}"], add_special_tokens=False)["input_ids"]
        return tuple(tuple(ids) for ids in encoded)

    def _can_end(self, tokens: Sequence[int], prompt: tuple[int, ...] | None) -> bool:
        """Return whether a draw from this prompt can stop exactly after these tokens."""
        if prompt is None or not tokens:
            return False
        limit, ends = self._compute_limit(prompt), self._find_ends()
        if any(token in ends for token in tokens[:-1]):
            return False
        return len(tokens) == limit or (len(tokens) < limit and tokens[-1] in ends)

    def _encode_prompts(self, texts: Sequence[str]) -> dict[str, tuple[int, ...] | None]:
        """Return the prompt tokens of each distinct text; None if it is too long and must not be cut."""
        distinct = list(dict.fromkeys(texts))
        encoded = self._tokenize([self.fill_prompt(text) for text in distinct])
        prompts: dict[str, tuple[int, ...] | None] = {}
        room = self._compute_room()
        if self.overlong == "cut":
            self._check_room(room)
        for text, ids in zip(distinct, encoded, strict=True):
            if len(ids) <= room:
                prompts[text] = tuple(ids)
            elif self.overlong == "cut":
                prompts[text] = self._cut_prompt(text, len(ids) - room)
            else:
                prompts[text] = self._truncate_prompt(text) if self.overlong == "truncate" else None
        return prompts

    def _check_room(self, room: int) -> None:
        """Refuse settings by which every text would be cut away: all rewrites would seem to be private."""
        bare = len(self._tokenize([self.fill_prompt("")])[0])
        if bare >= room:
            raise ModelError(
                f"'{self.model}' would see nothing of any text: prompt and text may have {room} tokens, and "
                f"the prompt alone has {bare}. Let the model read more (context), or write less."
            )

    def _tokenize(self, prompts: Sequence[str], **options: Any) -> list[list[int]]:
        """Return the tokens of filled prompts, with the special tokens that the tokenizer adds."""
        tokenizer, texts = self._load_checkpoint().tokenizer, list(map(replace_surrogates, prompts))
        tokens: list[list[int]] = tokenizer(texts, **options)["input_ids"] if texts else []
        return tokens

    def _truncate_prompt(self, text: str) -> tuple[int, ...]:
        """Return the beginning of the prompt, the text's or not; end markers stay."""
        [encoded] = self._tokenize([self.fill_prompt(text)], truncation=True, max_length=self._compute_room())
        return tuple(encoded)

    def _cut_prompt(self, text: str, excess: int) -> tuple[int, ...]:
        """Return the prompt with as much of the beginning of the text as fits."""
        tokenizer, room = self._load_checkpoint().tokenizer, self._compute_room()
        ids = tokenizer(replace_surrogates(text), add_special_tokens=False)["input_ids"]
        while True:
            ids = ids[: max(0, len(ids) - excess)]
            start = tokenizer.decode(ids, skip_special_tokens=True)
            [shorter] = self._tokenize([self.fill_prompt(start)])
            excess = len(shorter) - room
            if excess <= 0 or not ids:
                return tuple(shorter[:room])

    def _find_ends(self) -> tuple[int, ...]:
        end: int | None = self._load_checkpoint().tokenizer.eos_token_id
        return () if end is None else (end,)


def _add_up(terms: Floats | None) -> float:
    """Return the log-probability of all tokens; -inf if they cannot be released."""
    return -math.inf if terms is None else float(terms.sum())


# --- Shared by DP-Prompt and DP-Paraphrase: an exponential mechanism for every token the model generates.

LEAKS = (
    OVERLONG,
    Leak(
        field="top_k",
        value=None,
        instead=0,
        says="only the {value} likeliest tokens (and ties) can be drawn, and the text decides which",
        shows=("everything",),
    ),
    Leak(
        field="length",
        value="input",
        instead="fixed",
        says="how long the output can be depends on the text",
        shows=("length",),
        rule="length rule",
    ),
)
"""Of every mechanism made from this one."""


@dataclass(frozen=True)
class Autoregressive(Generator):
    """The model reads a prompt that contains the private text and draws the rewrite token by token.

    The clip range that is stored with a model was measured on public text.
    """

    model: str = ""
    """The language model: a folder, a hub id or zoo:NAME."""
    revision: str = ""
    """Branch, tag or commit of a model on the hub. Empty: the newest."""
    low: float | None = None
    """Lower end of the clip range for logits. Null: as stored with the model, or else as released."""
    high: float | None = None
    """Upper end of the clip range for logits. Null: as stored with the model, or else as released."""
    top_k: int = 0
    """Draw from only this many of the likeliest tokens. 0: the whole vocabulary, as the claim needs."""
    length: Literal["fixed", "input"] = "fixed"
    """fixed: up to max_tokens for every text. input: up to the length of the prompt, which reveals it."""
    max_tokens: int = 32
    """Maximum number of new tokens in a rewrite, if length is fixed."""
    overlong: Literal["cut", "truncate", "error"] = "cut"
    """If a prompt is too long. cut: shorten the text. truncate: drop the prompt's end. error: fail."""
    context: int = 512
    """Longest prompt, in tokens. The model's own limit applies if it is lower."""
    dtype: str = "auto"
    """Number format of the model: auto (bfloat16 on CUDA, otherwise float32) or a torch dtype."""
    device: str = field(default="auto", metadata={"incidental": True})
    """Where the model runs: auto (CUDA, or else the CPU) or a torch device."""
    text_readings: int = field(default=16, kw_only=True, metadata={"scores_only": True})
    """How many draws the model reads, at most, per published text and candidate to find its probability."""
    released_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    measured_on: ClassVar[str] = ""
    prompts: ClassVar[Task | None] = None
    """Whether `models clip` gives models of this kind this mechanism's prompt; one mechanism of each kind."""
    forbids_by_rule: ClassVar[bool] = True
    _task: ClassVar[Task]

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.context < 1:
            raise SpecError(
                f"max_tokens is {self.max_tokens} and context is {self.context}; both must be 1 or more."
            )
        self._check_readings()
        check_clip(self.low, self.high, self.top_k)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per token for the whole text; with length "input" the context is the bound."""
        units = self.max_tokens if self.length == "fixed" else self.context
        return Claim(epsilon, "token", max_units=units)

    def cautions(self) -> Sequence[str]:
        """Say if the clip range was measured on another model."""
        return caution_range(
            self.model, self.low, self.high, self.released_range, self.measured_on, self.revision
        )

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:
        """Yield what is known of the clip range and the probabilities."""
        return describe_arithmetic(self, self._choose_clip(), epsilons, texts)

    def input_limit(self) -> InputLimit | None:
        """Return how many tokens a prompt may have, counted with the tokenizer of a model of the zoo."""
        tokenizer = load_tokenizer(self.model)
        if tokenizer is None:
            return None
        room = self._leave_room(read_positions(self.model))
        return InputLimit(
            lambda text: len(tokenizer.encode(self.fill_prompt(text)).ids), room, "tokens with the prompt"
        )

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format and the clip range of the logits."""
        clip = self._choose_clip()
        return {**self._load_checkpoint().fingerprint(), "clip range": f"{clip.low!r} to {clip.high!r}"}

    def _compute_limit(self, prompt: tuple[int, ...]) -> int:
        return self.max_tokens if self.length == "fixed" else max(1, len(prompt))

    def _choose_rule(self) -> Clip:
        return self._choose_clip()

    def _choose_clip(self) -> Clip:
        default = self._load_checkpoint().clip or self.released_range
        return choose_clip(self.low, self.high, default, self.top_k)

    def _compute_room(self) -> int:
        """Return how many tokens a prompt may have: `context`, or less if the model's limit is lower."""
        return self._leave_room(self._load_checkpoint().positions)

    def _leave_room(self, bound: int | None) -> int:
        if bound is None:
            return self.context
        room = bound - self.max_tokens if self.length == "fixed" else bound // 2
        if room < 1:
            raise ModelError(
                f"'{self.model}' has {bound} positions, and max_tokens is {self.max_tokens}: that leaves no "
                "room for a prompt. Set it lower."
            )
        return min(self.context, room)

    def _load_checkpoint(self) -> Checkpoint:
        return load_checkpoint(self._task, self.model, self.revision, self.device, self.dtype)
