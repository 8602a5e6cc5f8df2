"""Rewrite with any language model, a prompt and the sampling settings that people use (no noise added).

Claim:   none. The only randomness is that of ordinary sampling: nothing bounds what a text can do to it.
Departs: from transformers' `generate` in nothing that its distribution depends on; see the card.

There is no epsilon: a temperature is none, because no clipping bounds the logits that it divides. It is a
setting of its own, and several are audited side by side under labels.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Literal

from tedaudit.errors import ModelError, SpecError
from tedaudit.mechanisms._generator import OVERLONG, Generator
from tedaudit.models.chat import render_turn
from tedaudit.models.loading import Checkpoint, find_writer, load_checkpoint
from tedaudit.models.sampling.settings import PublicSettings, SamplingRule, SamplingSettings
from tedaudit.models.zoo import zoo_or
from tedaudit.plugins.nominal import NO_EPSILON
from tedaudit.plugins.values import UNBOUNDED, Card, Claim, Leak, Note

_BANS = {"no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0}
_PENALTIES = {"repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0}
_MISSING = {
    "num_beams": 1, "min_length": 0, "epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "top_h": None,
    "sequence_bias": None, "exponential_decay_length_penalty": None, "guidance_scale": 1.0,
    "watermarking_config": None, "token_healing": False,
}  # what `generate` knows and this mechanism does not, and the values that change nothing  # fmt: skip


def _leak_of(key: str, off: float) -> Leak:
    """Return the leak of a setting that cuts off tokens; `off` is the value that cuts off none."""
    return Leak(
        field=key,
        value=None,
        instead=off,
        says=f"{key} is {{value}}: which tokens can be drawn depends on the text",
    )


@dataclass(frozen=True)
class Sampler(Generator):
    """Any model that writes text: a folder, a hub id or `zoo:NAME`, with an encoder or without.

    The sampling settings have the names and the meaning that they have in `generate`; the defaults draw from
    the model's own distribution. A checkpoint's `generation_config.json` is not used for them, except for
    tokens that it forbids or forces whatever the text, and for those that end a text: what is audited is what
    is written here (`tedaudit lint -m sampler` tells where the checkpoint says otherwise).
    """

    model: str = zoo_or("seq2seq", "google/flan-t5-base")
    """Any model that writes text: a folder, a hub id or zoo:NAME."""
    revision: str = ""
    """Branch, tag or commit of a model on the hub. Empty: the newest."""
    prompt: str = "Document : {text}\nParaphrase of the document :"
    """The prompt. {text} stands for the text."""
    chat: Literal["auto", "off"] = "auto"
    """auto puts the prompt into the tokenizer's chat template, if it has one; off never does."""
    temperature: float = 1.0
    """Divides the logits: below 1 the likeliest tokens are drawn more often."""
    top_k: int = 0
    """Draw from only this many of the likeliest tokens. 0: all."""
    top_p: float = 1.0
    """Draw from the likeliest tokens that together have this probability. 1: all."""
    min_p: float = 0.0
    """Leave out tokens less likely than this fraction of the likeliest. 0: leave out none."""
    typical_p: float = 1.0
    """Draw from the tokens of most typical surprise that together have this probability. 1: all."""
    repetition_penalty: float = 1.0
    """Above 1: tokens that were already written become less likely. 1: off."""
    no_repeat_ngram_size: int = 0
    """No sequence of this many tokens is written twice. 0: off."""
    encoder_repetition_penalty: float = 1.0
    """Above 1: tokens of the prompt become likelier. 1: off."""
    encoder_no_repeat_ngram_size: int = 0
    """No sequence of this many tokens is copied from the prompt. 0: off."""
    min_new_tokens: int = 0
    """Minimum number of new tokens in a rewrite."""
    max_new_tokens: int = 32
    """Maximum number of new tokens in a rewrite."""
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
    forbids_by_rule: ClassVar[bool] = True
    card: ClassVar[Card] = Card(
        name="sampler",
        english=("model: the default model", "prompt: the default prompt"),
        needs=("models",),
        summary="Any language model with a prompt and ordinary sampling settings.",
        claim="none: a temperature is no epsilon, because no clipping bounds the logits that it divides",
        departures=(
            "draws as transformers' `generate` with do_sample=True and one beam, of a text without padding",
            "the library's own default is top_k=50; here it is 0, the whole vocabulary",
            "settings of the checkpoint are not used, except for end, forced and forbidden tokens",
            "the softmax is in float64 where `generate` has float32; long texts are cut",
            "a GPU rounds by the batch: what is just inside top_p when drawn may be outside when scored",
        ),
        leaks=(  # they show nothing: a text comes through without them, since no noise is added
            replace(OVERLONG, shows=()),
            _leak_of("top_k", 0),
            _leak_of("top_p", 1.0),
            _leak_of("min_p", 0.0),
            _leak_of("typical_p", 1.0),
        ),
    )

    def __post_init__(self) -> None:
        self._settings()
        if "{text}" not in self.prompt:
            raise SpecError(f"'sampler': the prompt is {self.prompt!r}; it must contain {{text}}.")
        if self.context < 1:
            raise SpecError(f"context is {self.context}; it must be 1 or more.")
        self._check_readings()

    def claim(self, epsilon: float) -> Claim | None:  # noqa: ARG002 - takes no epsilon
        """Promise nothing."""
        return None

    def epsilons(self, asked: Sequence[float]) -> Sequence[float]:  # noqa: ARG002
        """Return the only setting."""
        return (NO_EPSILON,)

    def fingerprint(self) -> Mapping[str, str]:
        """Return what else determines the draws: weights, special tokens and the chat template."""
        checkpoint, rule = self._load_checkpoint(), self._choose_rule()
        special = json.dumps([rule.ends, rule.start, asdict(rule.public)])
        template = str(checkpoint.tokenizer.chat_template) if self._uses_template() else ""
        return {
            **checkpoint.fingerprint(),
            "special tokens": special,
            "chat template": hashlib.sha256(template.encode()).hexdigest()[:16] if template else "none",
        }

    @property
    def has_encoder(self) -> bool:
        """Whether the model reads the prompt with an encoder, so that penalties see only what was drawn."""
        return find_writer(self.model, self.revision) == "seq2seq"

    def arithmetic(self, epsilons: Sequence[float], texts: Sequence[str]) -> Iterator[Note]:  # noqa: ARG002
        """Yield what penalties read, that no logits are clipped, and what the checkpoint would choose."""
        for key, off in {**_BANS, **_PENALTIES}.items():
            if getattr(self, key) != off:
                yield self._check_penalty(key, off)
        text = "logits are not clipped: nothing limits how much likelier one text makes a token than another"
        yield Note(
            level="info", rule="clip range", text=text, fix="dp-prompt or dp-paraphrase, which clip them"
        )
        for key, value in self.find_ignored().items():
            there = f"{value} in the checkpoint's generation settings"
            if key in _MISSING:
                yield Note("info", "checkpoint", f"{key} is {there}; nothing here does the same")
                continue
            text = f"{key} is {getattr(self, key)} here, and {there}"
            yield Note(
                level="info",
                rule="checkpoint",
                text=text,
                fix=f"{key}={value} to audit what `generate` does without it",
            )

    def _check_penalty(self, key: str, off: float) -> Note:
        value, fix = getattr(self, key), f"{key}={off}"
        if self.has_encoder and not key.startswith("encoder"):
            text = f"{key} is {value}: with an encoder it sees only what was drawn, the same for every text"
            return Note("info", key, text)
        if key in _BANS:
            text = f"{key} is {value}: what stands in the private prompt cannot be drawn, {UNBOUNDED}"
            return Note(level="error", rule=key, text=text, fix=fix)
        text = f"{key} is {value}: how likely a token is depends on whether the private prompt has it"
        return Note(level="warning", rule=key, text=text, fix=fix)

    def find_ignored(self) -> dict[str, Any]:
        """Return the checkpoint's settings that would change what is drawn, and that are not so here."""
        own = self._load_checkpoint().model.generation_config
        found = {entry.name: getattr(own, entry.name, None) for entry in fields(SamplingSettings)}
        differing = {
            name: value
            for name, value in found.items()
            if value is not None and name != "max_new_tokens" and value != getattr(self, name)
        }
        missing = {name: getattr(own, name, None) for name in _MISSING}
        return differing | {
            name: value for name, value in missing.items() if value not in (None, _MISSING[name])
        }

    def _settings(self) -> SamplingSettings:
        return SamplingSettings(
            **{entry.name: getattr(self, entry.name) for entry in fields(SamplingSettings)}
        )

    def _choose_rule(self) -> SamplingRule:
        checkpoint = self._load_checkpoint()
        config = checkpoint.model.config
        start = config.decoder_start_token_id if config.is_encoder_decoder else None
        return SamplingRule(
            settings=self._settings(),
            ends=self._find_ends(),
            start=start,
            public=PublicSettings.read(checkpoint),
        )

    def _find_ends(self) -> tuple[int, ...]:
        """Return the tokens that end a text: the checkpoint's, of which chat models have several."""
        own = self._load_checkpoint().model.generation_config.eos_token_id
        if own is None:
            return super()._find_ends()
        return (own,) if isinstance(own, int) else tuple(own)

    def fill_prompt(self, text: str) -> str:
        """Return what the model is given for a text."""
        filled = self.prompt.replace("{text}", text)
        return render_turn(self._load_checkpoint().tokenizer, filled) if self._uses_template() else filled

    def _tokenize(self, prompts: Sequence[str], **options: Any) -> list[list[int]]:
        if self._uses_template():  # which writes the special tokens itself
            options["add_special_tokens"] = False
        return super()._tokenize(prompts, **options)

    def _uses_template(self) -> bool:
        template = getattr(self._load_checkpoint().tokenizer, "chat_template", None)
        return self.chat == "auto" and bool(template)

    def _compute_limit(self, prompt: tuple[int, ...]) -> int:  # noqa: ARG002 - the same for every text
        return self.max_new_tokens

    def _compute_room(self) -> int:
        """Return how many tokens a prompt may have: `context`, or less if the model's limit is lower."""
        checkpoint = self._load_checkpoint()
        bound = checkpoint.positions
        if bound is None:
            return self.context
        room = bound if checkpoint.model.config.is_encoder_decoder else bound - self.max_new_tokens
        if room < 1 or self.max_new_tokens > bound:
            raise ModelError(
                f"'{self.model}' reads {bound} tokens, and is to write up to {self.max_new_tokens}: that "
                "leaves no room for a prompt. Let it write fewer."
            )
        return min(self.context, room)

    def _load_checkpoint(self) -> Checkpoint:
        task = find_writer(self.model, self.revision)
        return load_checkpoint(task, self.model, self.revision, self.device, self.dtype)
