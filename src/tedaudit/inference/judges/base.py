"""Questions to a judge and its answers: the values that pass between attacks and judges."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tedaudit.inference.judges.address import JUDGE, Role
from tedaudit.types import Floats

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's turn in two parts, the first shared by many prompts, and the beginning of the reply.

    A raw prompt is not a turn: a model in this process reads it without its chat template.
    """

    head: str
    body: str
    reply: str = ""
    raw: bool = False


@dataclass(frozen=True, slots=True)
class EndingScores:
    """The log-probability of every ending of a prompt, and how many tokens each has."""

    log_probabilities: Floats
    tokens: tuple[int, ...]


class Judge(Protocol):
    """A language model with the two abilities that attacks need.

    None stands for a question that failed for good, which happens behind a server.
    """

    def score(
        self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]
    ) -> Sequence[EndingScores | None]:
        """Return how probable each ending of each prompt is; nothing is generated."""
        ...

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> Sequence[str | None]:
        """Return the likeliest reply to each prompt, without think blocks."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the answers."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """How a server is called; none of these settings changes an answer."""

    allow_remote: bool = False
    concurrency: int = 8
    timeout: float = 60.0
    attempts: int = 6
    role: Role = JUDGE


def strip_thoughts(text: str) -> str:
    """Return a reply without its think blocks; an unclosed one removes the rest of the reply."""
    return _THOUGHT.sub("", text).strip()
