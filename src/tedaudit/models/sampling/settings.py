"""Sampling as transformers' `generate` does it: its own processors, in its order, and then the softmax.

`generate` hands float32 logits through a list of processors before it draws a token from their softmax. The
same classes are applied here in the same order, each row with what it has read and drawn, so that which
tokens are left is decided as the library decides it; only the softmax is in float64. Rows of one call have
prompts of one length: the library would count padding among the tokens that a penalty is for, and a text
rewritten alone has none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tedaudit.errors import SpecError
from tedaudit.models.loading import Checkpoint
from tedaudit.models.sampling.exponential import Prefixes

_CELLS = {"cpu": 1 << 23, "cuda": 1 << 27}  # logits that processors are given at a time; sorting copies them


@dataclass(frozen=True, slots=True)
class SamplingSettings:
    """The settings of `generate` with the library's names; each default changes nothing."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    typical_p: float = 1.0
    repetition_penalty: float = 1.0
    no_repeat_ngram_size: int = 0
    encoder_repetition_penalty: float = 1.0
    encoder_no_repeat_ngram_size: int = 0
    min_new_tokens: int = 0
    max_new_tokens: int = 32

    def __post_init__(self) -> None:
        for name in ("temperature", "repetition_penalty", "encoder_repetition_penalty"):
            _refuse_unless(0 < getattr(self, name) < float("inf"), self, name, "a number above 0")
        for name in ("top_p", "typical_p"):
            _refuse_unless(0 < getattr(self, name) <= 1, self, name, "above 0, and 1 at most (1 is off)")
        _refuse_unless(0 <= self.min_p <= 1, self, "min_p", "between 0 (off) and 1")
        for name in ("top_k", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_new_tokens"):
            _refuse_unless(getattr(self, name) >= 0, self, name, "0 (off) or more")
        most = self.max_new_tokens
        _refuse_unless(most >= 1, self, "max_new_tokens", "1 or more")
        _refuse_unless(self.min_new_tokens <= most, self, "min_new_tokens", f"max_new_tokens={most} at most")


def _refuse_unless(is_right: bool, settings: SamplingSettings, name: str, allowed: str) -> None:
    if not is_right:
        hint = " For the likeliest token every time set top_k=1." if name == "temperature" else ""
        raise SpecError(f"{name} is {getattr(settings, name)}; it must be {allowed}.{hint}")


@dataclass(frozen=True, slots=True)
class PublicSettings:
    """What a checkpoint's own generation settings forbid or force, whatever the text; most have none."""

    bad_words_ids: tuple[tuple[int, ...], ...] = ()
    forced_bos_token_id: int | None = None
    forced_eos_token_id: tuple[int, ...] = ()
    suppress_tokens: tuple[int, ...] = ()
    begin_suppress_tokens: tuple[int, ...] = ()

    @classmethod
    def read(cls, checkpoint: Checkpoint) -> "PublicSettings":
        """Return those of a checkpoint."""
        own = checkpoint.model.generation_config
        return cls(
            bad_words_ids=tuple(tuple(word) for word in own.bad_words_ids or ()),
            forced_bos_token_id=own.forced_bos_token_id,
            forced_eos_token_id=_as_tuple(own.forced_eos_token_id),
            suppress_tokens=_as_tuple(own.suppress_tokens),
            begin_suppress_tokens=_as_tuple(own.begin_suppress_tokens),
        )


def _as_tuple(tokens: Any) -> tuple[int, ...]:
    return () if tokens is None else (tokens,) if isinstance(tokens, int) else tuple(tokens)


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """How a model's logits become the probabilities of its next token: a rule for `generation`.

    `ends` are the tokens that end a text, and `start` is what a decoder reads before it draws anything; a
    model without an encoder has none, and goes on from its prompt.
    """

    settings: SamplingSettings
    ends: tuple[int, ...] = ()
    start: int | None = None
    public: PublicSettings = PublicSettings()

    def adjust(self, logits: Any, prefixes: Prefixes) -> Any:
        """Return the logits as the processors leave them; what cannot be drawn is -inf."""
        import torch

        given = logits.float()
        adjusted = torch.empty_like(given)
        for rows, read in self._split(prefixes, given.shape[1]):
            before = self._before(read, len(rows), prefixes.drawn)
            history = torch.cat([before, prefixes.drawn[rows]], dim=1)
            scores = given[rows]
            for processor in self._list_processors(read, before.shape[1], given.device):
                scores = processor(history, scores)
            adjusted[rows] = scores
        return adjusted

    def exponents(self, logits: Any, epsilon: Any) -> Any:  # noqa: ARG002 - there is none
        """Return the adjusted logits in float64."""
        import torch

        return logits.to(torch.float64, copy=True)

    def find_outside(self, logits: Any) -> Any:
        """Return which tokens cannot be drawn; models may forbid some too."""
        return logits == -float("inf")

    @property
    def reads_logits_alone(self) -> bool:
        """False: settings may cut the support, where rounding would decide, or look back."""
        return False

    @property
    def _looks_back(self) -> bool:
        """Whether the prompt itself matters, beyond the logits that the model makes of it."""
        own = self.settings
        if own.encoder_repetition_penalty != 1 or own.encoder_no_repeat_ngram_size > 0:
            return True
        in_prompt = own.repetition_penalty != 1 or own.no_repeat_ngram_size > 0
        forced = self.public.bad_words_ids or self.public.forced_bos_token_id is not None
        return self.start is None and bool(in_prompt or forced)

    def _split(self, prefixes: Prefixes, vocabulary: int) -> Iterator[tuple[Any, Any]]:
        """Yield row numbers in portions that fit in memory, with their prompts if these matter."""
        import torch

        device, count = prefixes.drawn.device, len(prefixes.drawn)
        step = max(1, _CELLS.get(device.type, 1 << 23) // vocabulary)
        groups = [(torch.arange(count, device=device), 0)]
        if self._looks_back:
            lengths = torch.tensor([len(prompt) for prompt in prefixes.prompts], device=device)
            of_row = lengths[prefixes.origins]
            groups = [((of_row == length).nonzero()[:, 0], length) for length in of_row.unique().tolist()]
        for rows, length in groups:
            for portion in rows.split(step):
                read = [prefixes.prompts[i] for i in prefixes.origins[portion].tolist()] if length else []
                shape = (len(portion), length)
                yield portion, torch.tensor(read, dtype=torch.long, device=device).reshape(shape)

    def _before(self, read: Any, rows: int, like: Any) -> Any:
        """Return what stands before the first token drawn: the start token, or the prompt if it matters."""
        return read if self.start is None else like.new_full((rows, 1), self.start)

    def _list_processors(self, read: Any, before: int, device: Any) -> Iterator[Any]:
        """Yield the processors that `generate` would use, in its order; `before` tokens are not drawn."""
        yield from self._list_penalties(read)
        yield from self._list_public(before, device)
        yield from self._list_warpers()

    def _list_penalties(self, read: Any) -> Iterator[Any]:
        from transformers import generation as library

        own = self.settings
        if own.encoder_repetition_penalty != 1:
            penalty = float(own.encoder_repetition_penalty)
            yield library.EncoderRepetitionPenaltyLogitsProcessor(penalty, read)
        if own.repetition_penalty != 1:
            yield library.RepetitionPenaltyLogitsProcessor(float(own.repetition_penalty))
        if own.no_repeat_ngram_size > 0:
            yield library.NoRepeatNGramLogitsProcessor(own.no_repeat_ngram_size)
        if own.encoder_no_repeat_ngram_size > 0:
            yield library.EncoderNoRepeatNGramLogitsProcessor(own.encoder_no_repeat_ngram_size, read)

    def _list_public(self, before: int, device: Any) -> Iterator[Any]:
        from transformers import generation as library

        own, public, ends = self.settings, self.public, list(self.ends)
        if public.bad_words_ids:
            words = [list(word) for word in public.bad_words_ids]
            yield library.NoBadWordsLogitsProcessor(words, ends or None)
        if own.min_new_tokens > 0 and ends:
            yield library.MinNewTokensLengthLogitsProcessor(before, own.min_new_tokens, ends, device)
        first = before
        if public.forced_bos_token_id is not None:
            first += before == 1
            yield library.ForcedBOSTokenLogitsProcessor(public.forced_bos_token_id)
        if public.forced_eos_token_id:
            last, forced = before + own.max_new_tokens, list(public.forced_eos_token_id)
            yield library.ForcedEOSTokenLogitsProcessor(last, forced, device)
        if public.suppress_tokens:
            yield library.SuppressTokensLogitsProcessor(public.suppress_tokens, device)
        if public.begin_suppress_tokens:
            tokens = public.begin_suppress_tokens
            yield library.SuppressTokensAtBeginLogitsProcessor(tokens, first, device)

    def _list_warpers(self) -> Iterator[Any]:
        from transformers import generation as library

        own = self.settings
        if own.temperature != 1:
            yield library.TemperatureLogitsWarper(float(own.temperature))
        if own.top_k > 0:
            yield library.TopKLogitsWarper(own.top_k)
        if own.top_p < 1:
            yield library.TopPLogitsWarper(own.top_p)
        if own.min_p > 0:
            yield library.MinPLogitsWarper(own.min_p)
        if own.typical_p < 1:
            yield library.TypicalLogitsWarper(own.typical_p)
