"""Language models that answer questions about texts: in this process, or behind an OpenAI-compatible server.

A backend is one string: `hf:ID_OR_PATH`, or `openai:MODEL@URL`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tedaudit.errors import SpecError
from tedaudit.types import Floats

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A user's turn in two parts, of which many prompts share the first, and how the reply begins."""

    head: str
    body: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Scored:
    """The log-probability of every ending of a prompt, and how many tokens each has."""

    log_probabilities: Floats
    tokens: tuple[int, ...]


class Judge(Protocol):
    """A language model with the two abilities that attacks need."""

    def score(self, prompts: Sequence[Prompt], endings: Sequence[Sequence[str]]) -> list[Scored]:
        """Return how probable each ending of each prompt is; nothing is generated."""
        ...

    def answer(self, prompts: Sequence[Prompt], max_tokens: int) -> list[str]:
        """Return the likeliest reply to each prompt, thoughts left out."""
        ...

    def fingerprint(self) -> Mapping[str, str]:
        """Return what determines the answers."""
        ...


@dataclass(frozen=True, slots=True)
class Service:
    """How a server is called; none of it changes an answer."""

    allow_remote: bool = False
    concurrency: int = 8
    timeout: float = 60.0
    attempts: int = 6


def check_backend(backend: str, *, allow_remote: bool) -> None:
    """Refuse a backend that does not exist, and a server elsewhere that nobody allowed."""
    kind, _, name = backend.partition(":")
    if kind not in ("hf", "openai") or not name:
        raise SpecError(
            f"The judge is '{backend}'; it must be hf:ID_OR_PATH, a model in this process, or "
            "openai:MODEL@URL, a model behind an OpenAI-compatible server."
        )
    if kind == "openai":
        from tedaudit.inference.judges.calls import check_address

        check_address(backend, allow_remote=allow_remote)


def load_judge(backend: str, service: Service, device: str = "auto", dtype: str = "auto") -> Judge:
    """Return the judge of a backend."""
    check_backend(backend, allow_remote=service.allow_remote)
    kind, _, name = backend.partition(":")
    if kind == "hf":
        from tedaudit.inference.judges.local import load_local

        return load_local(name, device, dtype)
    from tedaudit.inference.judges.remote import RemoteJudge

    return RemoteJudge(backend, service)


def without_thoughts(text: str) -> str:
    """Return a reply without its think blocks; one that never ends takes the rest with it."""
    return _THOUGHT.sub("", text).strip()
