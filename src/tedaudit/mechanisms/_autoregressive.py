"""Shared by DP-Prompt and DP-Paraphrase: an exponential mechanism for every token the model generates."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tedaudit.errors import SpecError
from tedaudit.inference.loading import Checkpoint, Task, caution_range, load_checkpoint
from tedaudit.inference.sampling import Clip, choose_clip
from tedaudit.inference.zoo import load_tokenizer, read_positions
from tedaudit.mechanisms._clipped_logits import describe_arithmetic
from tedaudit.mechanisms._generator import OVERLONG, Generator
from tedaudit.types import Claim, InputLimit, Leak, Note

LEAKS = (
    OVERLONG,
    Leak(
        "top_k", None, 0,
        "only the {value} likeliest tokens, with ties, can be drawn, and the text decides which",
        shows=("everything",),
    ),
    Leak(
        "length", "input", "fixed", "how long the output can be depends on the text", shows=("length",),
        rule="length rule",
    ),
)  # fmt: skip
"""Of every mechanism made from this one."""


@dataclass(frozen=True)
class Autoregressive(Generator):
    """The model reads a prompt that contains the private text and draws the rewrite token by token.

    The clip range that is stored with a model was measured on public text.
    """

    model: str = ""
    """The language model: a folder, a hub id or zoo:NAME."""
    revision: str = ""
    """Branch, tag or commit of a model on the hub; empty: the newest."""
    low: float | None = None
    """Lower end to which logits are clipped; null: as stored with the model, or else as released."""
    high: float | None = None
    """Upper end to which logits are clipped; null: as stored with the model, or else as released."""
    top_k: int = 0
    """Draw among so many of the likeliest tokens; 0: the whole vocabulary, which the claim needs."""
    length: Literal["fixed", "input"] = "fixed"
    """fixed: max_tokens for every text; input: as many as the prompt has, which reveals its length."""
    max_tokens: int = 32
    """Most new tokens of a rewrite, if length is fixed."""
    overlong: Literal["cut", "truncate", "error"] = "cut"
    """A prompt that is too long: cut shortens the text, truncate the end of the prompt, error fails."""
    context: int = 512
    """Longest prompt in tokens; less if the model's own limit is lower."""
    dtype: str = "auto"
    """Number format of the model: auto (bfloat16 on CUDA, else float32), or one that torch has."""
    device: str = field(default="auto", metadata={"incidental": True})
    """Where the model runs: auto (CUDA, then MPS, then CPU), or a name that torch takes."""
    released_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    measured_on: ClassVar[str] = ""
    forbids_by_rule: ClassVar[bool] = True
    _task: ClassVar[Task]

    def __post_init__(self) -> None:
        if self.max_tokens < 1 or self.context < 1:
            raise SpecError(
                f"max_tokens is {self.max_tokens} and context is {self.context}; both must be 1 or more."
            )
        choose_clip(self.low, self.high, self.released_range, self.top_k)

    def claim(self, epsilon: float) -> Claim | None:
        """Promise epsilon per token for the whole text; with length "input" the context is the bound."""
        units = self.max_tokens if self.length == "fixed" else self.context
        return Claim(epsilon, "token", max_units=units)

    def cautions(self) -> Sequence[str]:
        """Say if the clip range was measured on another model."""
        return caution_range(self.model, self.low, self.high, self.released_range, self.measured_on)

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
        return self.max_tokens if self.length == "fixed" else len(prompt)

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
        return max(1, min(self.context, bound - self.max_tokens if self.length == "fixed" else bound // 2))

    def _load_checkpoint(self) -> Checkpoint:
        return load_checkpoint(self._task, self.model, self.revision, self.device, self.dtype)
