"""Calls to an OpenAI-compatible server: allowed addresses, the key, waits, retries and concurrency.

The key comes from TEDAUDIT_API_KEY or OPENAI_API_KEY and never appears in a message. Nothing is sent
to another machine unless the user allows it, and requests to this machine bypass proxies.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import urlsplit

from tedaudit.errors import ModelError, SpecError
from tedaudit.inference.judges.base import Service
from tedaudit.inference.loopback import is_loopback

Item = TypeVar("Item")
Result = TypeVar("Result")
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 30.0
_KEYS = ("TEDAUDIT_API_KEY", "OPENAI_API_KEY")


def split_backend(backend: str) -> tuple[str, str]:
    """Return the model and address of openai:MODEL@URL."""
    match = re.fullmatch(r"(.+?)@(\w+://.*)", backend.removeprefix("openai:"))
    name, url = match.groups() if match else ("", "")
    parts = urlsplit(url)
    if not match or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(
            f"The judge is '{backend}'; it must be openai:MODEL@URL, such as "
            "openai:qwen3-8b@http://127.0.0.1:8000/v1."
        )
    if parts.username or parts.password:
        raise SpecError(
            f"The judge's address contains a user or password for {parts.hostname}, and runs store their "
            f"settings. Set the key in the environment instead, as {_KEYS[0]}."
        )
    return name, url.rstrip("/")


def check_address(backend: str, *, allow_remote: bool) -> None:
    """Refuse a server on another machine unless the user allows it."""
    _, url = split_backend(backend)
    if not allow_remote and not is_loopback(url):
        raise SpecError(
            f"The judge is at {urlsplit(url).hostname}, another machine: it would be sent the candidates and "
            "rewrites of every trial, which are private texts. If that is allowed, set "
            "`allow_remote: true` in the attack's settings; otherwise serve one here with `tedaudit judge`."
        )


class Caller:
    """One server; safe to use from several threads."""

    def __init__(self, backend: str, service: Service) -> None:
        try:
            import httpx
        except ImportError as error:
            raise ModelError(
                f"'{backend}' needs httpx, which is not installed. Install it with: "
                "pip install 'tedaudit[judge]'."
            ) from error
        self.model, self.url = split_backend(backend)
        self._service = service
        key = next((os.environ[name] for name in _KEYS if os.environ.get(name)), "")
        limits = httpx.Limits(max_connections=service.concurrency)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {key}"} if key else {}, timeout=service.timeout, limits=limits,
            trust_env=not is_loopback(self.url),
        )  # fmt: skip
        self._failures: tuple[type[Exception], ...] = (httpx.TransportError,)

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Do the work on all items, several at a time, and return the results in order; a failure ends it."""
        with ThreadPoolExecutor(max(1, self._service.concurrency)) as threads:
            futures = [threads.submit(work, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def post(self, path: str, body: dict[str, Any], *, base: str = "") -> dict[str, Any]:
        """Return a server's answer; temporary failures are retried, permanent ones are explained."""
        reason = ""
        for attempt in range(self._service.attempts):
            wait = min(_LONGEST_WAIT, 0.25 * 2**attempt)
            try:
                response = self._client.post((base or self.url) + path, json=body)
            except self._failures as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if response.status_code == 200:
                    answer = _parse(response)
                    if answer is not None:
                        return answer
                    reason = "it answered with something that is not a JSON object"
                elif response.status_code in _RETRIED:
                    reason = f"it answered {response.status_code}"
                    wait = max(wait, _read_wait(response))
                else:
                    raise ModelError(self._explain_refusal(path, response))
            if attempt + 1 < self._service.attempts:
                time.sleep(wait)
        raise ModelError(
            f"The judge at {self.url} cannot be used: {reason}, {self._service.attempts} times in a row. "
            "Finished trials are saved: once it answers again, the same command continues from there."
        )

    def _explain_refusal(self, path: str, response: Any) -> str:
        detail = " ".join(response.text.split())[:200]
        hint = ""
        if response.status_code in (401, 403):
            hint = f" Set its key in the environment, as {_KEYS[0]}."
        elif response.status_code == 404:
            hint = " The address usually ends with /v1, and the server must have the model."
        return f"The judge at {self.url} refused {path} with {response.status_code}: {detail}{hint}"


def _parse(response: Any) -> dict[str, Any] | None:
    try:
        answer = response.json()
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _read_wait(response: Any) -> float:
    """Return how long the server asks to wait, up to the longest wait."""
    try:
        return min(_LONGEST_WAIT, float(response.headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
