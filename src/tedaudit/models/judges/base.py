"""Questions to a judge and its answers, and the address of a server that may be asked."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from tedaudit.errors import ModelError, SpecError
from tedaudit.models.judges.loopback import is_loopback, may_hold_key
from tedaudit.plugins.values import Floats

# --- The address of a model's server and the key for it: what is allowed, and what never appears anywhere.
#
# A run stores its settings, and messages are copied into issues. So an address holds no key: the key
# comes from the environment, and texts go to another machine only if the user allows it.

KEYS = ("TEDAUDIT_API_KEY", "OPENAI_API_KEY")


class Role(NamedTuple):
    """What a model behind a server is for: how it is called, what it is sent, whose setting it is."""

    name: str
    sent: str
    setting_of: str
    advice: str
    without: str  # what to do if the server returns no log-probabilities


JUDGE = Role(
    "judge",
    "the candidates and rewrites of every trial",
    "attack",
    "judge, reading or length of texts (`longest`)",
    "Use `reading: generate`, which does not need this",
)
ANONYMISER = Role(
    "anonymiser",
    "every text that is rewritten",
    "mechanism",
    "model, prompt or `max_tokens`",
    "Leave out the attack that needs it",
)


def split_backend(backend: str, role: Role = JUDGE) -> tuple[str, str]:
    """Return the model and address of openai:MODEL@URL; an address with a key in it is refused."""
    match = re.fullmatch(r"(.+?)@(\w+://\S*)", backend.removeprefix("openai:"))
    name, url = match.groups() if match else ("", "")
    parts = _split_url(url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(
            f"The {role.name} is '{hide_address(backend)}'; it must be openai:MODEL@URL, such as "
            "openai:qwen3-8b@http://127.0.0.1:8000/v1."
        )
    if may_hold_key(url):
        raise SpecError(
            f"The {role.name}'s address at {parts.hostname} contains a user or password, or something after "
            "'?' or '#', and runs store their settings. Name the path and nothing after it, as in "
            f"http://{parts.hostname}/v1, and set the key in the environment, as {KEYS[0]}."
        )
    return name, url.rstrip("/")


def _split_url(url: str) -> SplitResult | None:
    """Return the parts of an address, or None if it is not one."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if it is no number
    except ValueError:
        return None
    return parts


def hide_address(backend: str) -> str:
    """Return the name of a judge without what follows its model: a wrong address may hold a key too."""
    model, at, _ = backend.partition("@")
    return f"{model}{at}{'...' * bool(at)}"


def check_address(backend: str, *, allow_remote: bool, role: Role = JUDGE) -> None:
    """Refuse a server on another machine unless the user allows it."""
    _, url = split_backend(backend, role)
    if not allow_remote and not is_loopback(url):
        raise SpecError(
            f"The {role.name} is at {urlsplit(url).hostname}, another machine: it would be sent {role.sent}, "
            "which are private texts. If that is allowed, set `allow_remote: true` in the "
            f"{role.setting_of}'s settings; otherwise serve one here with `tedaudit judge`."
        )


def read_key() -> str:
    """Return the key from the environment, or an empty string; one that cannot be sent is refused unseen."""
    for name in KEYS:
        key = os.environ.get(name, "").strip()
        if key:
            if not re.fullmatch(r"[!-~]+", key):
                raise ModelError(
                    f"The key in {name} contains a space, a line break or a letter that is not ASCII, and "
                    "cannot be sent. Copy it again."
                )
            return key
    return ""


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
