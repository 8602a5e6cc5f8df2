"""Shared by DP-Prompt and DP-Paraphrase: an exponential mechanism for every token the model generates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from tedaudit.errors import SpecError
from tedaudit.inference.loading import Checkpoint, Task, load_checkpoint
from tedaudit.inference.sampling import Clip, choose_clip
from tedaudit.mechanisms._generator import Generator
from tedaudit.types import Claim


@dataclass(frozen=True)
class Autoregressive(Generator):
    """The model reads a prompt that contains the private text and draws the rewrite token by token.

    `length` "fixed" allows `max_tokens` new tokens for every text; "input" allows as many as the
    prompt has, which reveals its length. `overlong` says what happens to a prompt that exceeds the
    model's context: "cut" shortens the text, "truncate" the end of the prompt, whatever stands there, and
    "error" fails. `low` and `high` clip the logits; if not given, the range measured on public text
    and stored with the model is used, or else the range of the release.
    """

    model: str = ""
    revision: str = ""
    low: float | None = None
    high: float | None = None
    top_k: int = 0
    length: Literal["fixed", "input"] = "fixed"
    max_tokens: int = 32
    overlong: Literal["cut", "truncate", "error"] = "cut"
    context: int = 512
    dtype: str = "auto"
    device: str = field(default="auto", metadata={"incidental": True})
    released_range: ClassVar[tuple[float, float]] = (0.0, 1.0)
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
        bound = self._load_checkpoint().positions
        if bound is None:
            return self.context
        return max(1, min(self.context, bound - self.max_tokens if self.length == "fixed" else bound // 2))

    def _load_checkpoint(self) -> Checkpoint:
        return load_checkpoint(self._task, self.model, self.revision, self.device, self.dtype)
