"""Calls to an OpenAI-compatible server: where it may be, the key, waiting, trying again, several at a time.

The key comes from TEDAUDIT_API_KEY or OPENAI_API_KEY and is in no message. Nothing goes to another
machine unless that was allowed, and to this one never by way of a proxy.
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
_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_LONGEST_WAIT = 30.0
_KEYS = ("TEDAUDIT_API_KEY", "OPENAI_API_KEY")


def split_backend(backend: str) -> tuple[str, str]:
    """Return model and address of openai:MODEL@URL."""
    found = re.fullmatch(r"(.+?)@(\w+://.*)", backend.removeprefix("openai:"))
    name, url = found.groups() if found else ("", "")
    parts = urlsplit(url)
    if not found or parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(
            f"The judge is '{backend}'; it must be openai:MODEL@URL, such as "
            "openai:qwen3-8b@http://127.0.0.1:8000/v1."
        )
    if parts.username or parts.password:
        raise SpecError(
            f"The judge's address names a user or password for {parts.hostname}, and runs keep their "
            f"settings. Put the key into the environment instead, as {_KEYS[0]}."
        )
    return name, url.rstrip("/")


def check_address(backend: str, *, allow_remote: bool) -> None:
    """Refuse a server on another machine that nobody allowed."""
    _, url = split_backend(backend)
    if not allow_remote and not is_loopback(url):
        raise SpecError(
            f"The judge is at {urlsplit(url).hostname}, another machine: it would be sent the candidates and "
            "rewrites of every trial, which are private texts. Where that is allowed, say "
            "`allow_remote: true` in the attack's settings; else serve one here with `tedaudit judge`."
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
        """Return the work done on every item, in order, so many at a time; the first failure ends it."""
        with ThreadPoolExecutor(max(1, self._service.concurrency)) as threads:
            waiting = [threads.submit(work, item) for item in items]
            try:
                return [one.result() for one in waiting]
            except BaseException:
                for one in waiting:
                    one.cancel()
                raise

    def post(self, path: str, body: dict[str, Any], *, base: str = "") -> dict[str, Any]:
        """Return a server's answer; what may pass is tried again, what cannot is explained."""
        reason = ""
        for attempt in range(self._service.attempts):
            wait = min(_LONGEST_WAIT, 0.25 * 2**attempt)
            try:
                response = self._client.post((base or self.url) + path, json=body)
            except self._failures as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if response.status_code == 200:
                    found = _parsed(response)
                    if found is not None:
                        return found
                    reason = "it answered with something that is not JSON"
                elif response.status_code in _AGAIN:
                    reason = f"it answered {response.status_code}"
                    wait = max(wait, _asked_wait(response))
                else:
                    raise ModelError(self._refused(path, response))
            if attempt + 1 < self._service.attempts:
                time.sleep(wait)
        raise ModelError(
            f"The judge at {self.url} cannot be used: {reason}, {self._service.attempts} times in a row. "
            "Trials that are finished are kept: once it answers again, the same command goes on from there."
        )

    def _refused(self, path: str, response: Any) -> str:
        detail = " ".join(response.text.split())[:200]
        hint = ""
        if response.status_code in (401, 403):
            hint = f" Put its key into the environment, as {_KEYS[0]}."
        elif response.status_code == 404:
            hint = " The address usually ends with /v1, and the model must be one that it serves."
        return f"The judge at {self.url} refused {path} with {response.status_code}: {detail}{hint}"


def _parsed(response: Any) -> dict[str, Any] | None:
    try:
        found = response.json()
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _asked_wait(response: Any) -> float:
    """Return how long the server asks to wait, within reason."""
    try:
        return min(_LONGEST_WAIT, float(response.headers.get("retry-after", 0)))
    except ValueError:
        return 0.0
