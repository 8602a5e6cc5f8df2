"""What DP-Prompt and DP-Paraphrase share: an exponential mechanism for every token that a model writes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from tedaudit.errors import SpecError
from tedaudit.inference.generation import Request, first_log_probabilities, generate, log_likelihoods
from tedaudit.inference.loading import Checkpoint, Task, load_checkpoint
from tedaudit.inference.sampling import Clip, chosen_clip
from tedaudit.types import Claim, Draw, Floats, Rewrite


@dataclass(frozen=True)
class Autoregressive(ABC):
    """The model reads a prompt around the private text and draws token by token.

    `length` "fixed" allows `max_tokens` new tokens whatever the text; "input" as many as the prompt
    has, which tells its length. `overlong` says what becomes of a prompt that the model cannot hold.
    `low` and `high` clip the logits; where they are not given, the range that was measured on public
    text and is stored with the model, or else the one of the release.
    """

    model: str = ""
    revision: str = ""
    low: float | None = None
    high: float | None = None
    top_k: int = 0
    length: Literal["fixed", "input"] = "fixed"
    max_tokens: int = 32
    overlong: Literal["cut", "error"] = "cut"
    context: int = 512
    dtype: str = "auto"
    device: str = field(default="auto", metadata={"incidental": True})
    released_range: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.context < 1:
            raise SpecError(
                f"max_tokens is {self.max_tokens} and context is {self.context}; both must be 1 or more."
            )
        chosen_clip(self.low, self.high, self.released_range, self.top_k)

    @abstractmethod
    def _task(self) -> Task: ...

    @abstractmethod
    def _prompt(self, text: str) -> str: ...

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per token, each in the whole text; the context bounds an input-sized length."""
        units = self.max_tokens if self.length == "fixed" else self.context
        return Claim(epsilon, "token", max_units=units)

    def fingerprint(self) -> Mapping[str, str]:
        """Return a checksum of the weights, their number format and the range of logits."""
        clip = self._clip()
        return {**self._checkpoint().fingerprint(), "clip range": f"{clip.low!r} to {clip.high!r}"}

    def rewrite(self, draws: Sequence[Draw]) -> list[Rewrite]:
        """Draw the tokens of all rewrites together, so that those that agree share the model's work."""
        prompts = self._prompts([draw.text for draw in draws])
        kept = [i for i, draw in enumerate(draws) if prompts[draw.text] is not None]
        requests = [self._request(draws[i], prompts[draws[i].text] or ()) for i in kept]
        done = [Rewrite("", error="over-long")] * len(draws)
        for i, tokens in zip(
            kept, generate(self._checkpoint(), self._clip(), requests, self._end()), strict=True
        ):
            done[i] = Rewrite(self._decoded(tokens), tokens=tokens, units=len(tokens))
        return done

    def log_likelihood(self, tokens: Sequence[int], candidates: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of drawing these tokens from each candidate; -inf where it cannot be."""
        return self.log_likelihoods([tokens], [candidates], epsilon)[0]

    def log_likelihoods(
        self, released: Sequence[Sequence[int]], candidates: Sequence[Sequence[str]], epsilon: float
    ) -> list[Floats]:
        """Do the same for many releases, each with its candidates, together."""
        prompts = self._prompts([text for some in candidates for text in some])
        scores = [np.full(len(some), -math.inf) for some in candidates]
        able = [
            (number, place, (prompts[text] or (), tuple(tokens)))
            for number, (tokens, some) in enumerate(zip(released, candidates, strict=True))
            for place, text in enumerate(some)
            if self._can_end(tokens, prompts[text])
        ]
        pairs = list(dict.fromkeys(pair for _, _, pair in able))
        found = dict(
            zip(pairs, log_likelihoods(self._checkpoint(), self._clip(), pairs, epsilon), strict=True)
        )
        for number, place, pair in able:
            scores[number][place] = found[pair]
        return scores

    def first_token(self, texts: Sequence[str], epsilon: float) -> Floats:
        """Return the log-probability of every token as the first one drawn, a row per text.

        It is the distribution that draws are made from, so nothing need be sampled to know it. All are
        -inf for a text that is refused as over-long.
        """
        prompts = self._prompts(texts)
        able = list(dict.fromkeys(prompt for prompt in prompts.values() if prompt is not None))
        found = first_log_probabilities(self._checkpoint(), self._clip(), able, epsilon)
        rows = dict(zip(able, found, strict=True))
        refused = np.full(found.shape[1], -math.inf)
        own = [prompts[text] for text in texts]
        return np.array([refused if prompt is None else rows[prompt] for prompt in own])

    def pieces(self, text: str) -> tuple[str, ...]:
        """Return the tokens of a text alone, without the prompt around it; marks of its end are tokens."""
        return tuple(self.piece(token) for token in self._checkpoint().tokenizer(text)["input_ids"])

    def piece(self, token: int) -> str:
        """Return how one token is written, the space before it included."""
        return str(self._checkpoint().tokenizer.decode([token]))

    def source_tokens(self, text: str) -> tuple[tuple[int, ...], ...]:
        """Return the tokens that write a text: at the start of a line, and after a space."""
        tokenizer = self._checkpoint().tokenizer
        written = tokenizer([text, f" {text}"], add_special_tokens=False)["input_ids"]
        return tuple(tuple(ids) for ids in written)

    def _can_end(self, tokens: Sequence[int], prompt: tuple[int, ...] | None) -> bool:
        """Return whether a draw from this prompt can stop exactly after these tokens."""
        if prompt is None or not tokens:
            return False
        limit = self._limit(prompt)
        return len(tokens) == limit or (len(tokens) < limit and tokens[-1] == self._end())

    def _request(self, draw: Draw, prompt: tuple[int, ...]) -> Request:
        return Request(prompt, draw.epsilon, draw.key, self._limit(prompt))

    def _limit(self, prompt: tuple[int, ...]) -> int:
        return self.max_tokens if self.length == "fixed" else len(prompt)

    def _prompts(self, texts: Sequence[str]) -> dict[str, tuple[int, ...] | None]:
        """Return what the model reads for each distinct text; None where it is too long and not cut."""
        tokenizer = self._checkpoint().tokenizer
        distinct = list(dict.fromkeys(texts))
        encoded = tokenizer([self._prompt(text) for text in distinct])["input_ids"] if distinct else []
        found: dict[str, tuple[int, ...] | None] = {}
        room = self._room()
        for text, ids in zip(distinct, encoded, strict=True):
            if len(ids) <= room:
                found[text] = tuple(ids)
            else:
                found[text] = self._cut(text, len(ids) - room) if self.overlong == "cut" else None
        return found

    def _cut(self, text: str, excess: int) -> tuple[int, ...]:
        """Return the prompt of as much of the text's beginning as fits."""
        tokenizer, room = self._checkpoint().tokenizer, self._room()
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        while True:
            ids = ids[: max(0, len(ids) - excess)]
            shorter = tokenizer(self._prompt(tokenizer.decode(ids, skip_special_tokens=True)))["input_ids"]
            excess = len(shorter) - room
            if excess <= 0 or not ids:
                return tuple(shorter[:room])

    def _decoded(self, tokens: Sequence[int]) -> str:
        tokenizer = self._checkpoint().tokenizer
        known = [token for token in tokens if token < len(tokenizer)]  # models pad their vocabulary
        return str(tokenizer.decode(known, skip_special_tokens=True)).strip()

    def _end(self) -> int | None:
        end: int | None = self._checkpoint().tokenizer.eos_token_id
        return end

    def _clip(self) -> Clip:
        measured = self._checkpoint().clip or self.released_range
        return chosen_clip(self.low, self.high, measured, self.top_k)

    def _room(self) -> int:
        """Return how many tokens a prompt may have: what is asked for, as far as the model can hold it."""
        bound = self._checkpoint().positions
        if bound is None:
            return self.context
        return max(1, min(self.context, bound - self.max_tokens if self.length == "fixed" else bound // 2))

    def _checkpoint(self) -> Checkpoint:
        return load_checkpoint(self._task(), self.model, self.revision, self.device, self.dtype)
