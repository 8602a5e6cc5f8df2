"""Calls to an OpenAI-compatible server: waits, retries, several at a time, and which failure ends a run.

- No answer, an overloaded server and an answer that is empty or broken are tried again.
- A question that still has no usable answer has failed for good, if the server answers a trivial one
  and then not this one: its trial is unusable, and the run goes on.
- The run ends, and can be resumed, if the server does not answer the trivial question either, if it
  refuses the key, the address or the model, or if 20 questions in a row have failed for good.
"""

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from tedaudit.errors import ModelError
from tedaudit.models.judges.base import KEYS, Service, hide_address, read_key, split_backend
from tedaudit.models.judges.loopback import is_loopback
from tedaudit.plugins.extras import require

Item = TypeVar("Item")
Result = TypeVar("Result")
Answer = dict[str, Any]
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_QUESTION = frozenset({400, 413, 414, 422})  # refuses this question: it is too long, or cannot be read
_LONGEST_WAIT, _SHORTEST_WAIT = 30.0, 0.25
_IN_A_ROW = 20
_TRIVIAL = {"role": "user", "content": "Answer with one word: yes."}
_RESUME = "Finished trials are saved: once it answers again, the same command continues from there."


class FailedQuestionError(ModelError):
    """A question without a usable answer, although the server is there."""


class RefusalError(ModelError):
    """A server that refuses the key, the address or the model: no question will be answered."""


class BrokenAnswerError(Exception):
    """An answer that holds not what was asked for."""


class _AttemptError(Exception):
    """One attempt that failed: why, and how long the server asked to wait."""

    def __init__(self, reason: str, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.reason, self.wait = reason, wait


class _BrokenAttemptError(_AttemptError):
    """The server answered, but not what was asked."""


class _RefusedAttemptError(_AttemptError):
    """The server will not answer this question: to ask again is of no use."""


class Caller:
    """One server; safe to use from several threads."""

    def __init__(self, backend: str, service: Service) -> None:
        require(f"'{hide_address(backend)}'", "httpx")
        import httpx

        self.model, self.url = split_backend(backend, service.role)
        self._service, self._role = service, service.role
        self._key = read_key()
        limits = httpx.Limits(max_connections=service.concurrency)
        self._client = httpx.Client(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {}, timeout=service.timeout,
            limits=limits, trust_env=not is_loopback(self.url),
        )  # fmt: skip
        self._failures: tuple[type[Exception], ...] = (httpx.RequestError,)
        self._failed_in_a_row, self._lock = 0, threading.Lock()

    def each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result | None]:
        """Do the work on all items, several at a time; None stands for a question that failed for good."""
        with ThreadPoolExecutor(max(1, self._service.concurrency)) as threads:
            futures = [threads.submit(self._work_on, work, item) for item in items]
            try:
                return [future.result() for future in futures]
            except BaseException:
                for future in futures:
                    future.cancel()
                raise

    def _work_on(self, work: Callable[[Item], Result], item: Item) -> Result | None:
        try:
            result = work(item)
        except FailedQuestionError as failure:
            with self._lock:
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= _IN_A_ROW:
                    raise ModelError(
                        f"{failure} So it went with {_IN_A_ROW} questions in a row: the run ends here. "
                        f"Try another {self._role.advice}. {_RESUME}"
                    ) from failure
            return None
        with self._lock:
            self._failed_in_a_row = 0
        return result

    def post(self, path: str, body: Answer, read: Callable[[Answer], Result], *, base: str = "") -> Result:
        """Return what `read` finds in the server's answer; it raises `BrokenAnswerError` if that is none."""
        url = (base or self.url) + path
        try:
            return self._try_often(url, body, read)
        except _AttemptError as failure:
            self._check_presence()
            reason = failure.reason
            if not isinstance(
                failure, _RefusedAttemptError
            ):  # perhaps the server was away during all attempts
                try:
                    return self._try(url, body, read)
                except _AttemptError as last:
                    reason = last.reason
        raise FailedQuestionError(
            f"The {self._role.name} at {self.url} does not answer a question: {reason}."
        )

    def _check_presence(self) -> None:
        """End the run if the server does not answer a trivial question; what it answers does not matter."""
        body = {"model": self.model, "messages": [_TRIVIAL], "temperature": 0, "max_tokens": 4}
        attempts = max(1, self._service.attempts)
        try:
            self._try_often(f"{self.url}/chat/completions", body, lambda _: None)
        except _RefusedAttemptError:
            return
        except _AttemptError as failure:
            raise ModelError(
                f"The {self._role.name} at {self.url} cannot be used: {failure.reason}, {attempts} "
                f"time{'s' * (attempts != 1)} in a row. {_RESUME}"
            ) from None

    def _try_often(self, url: str, body: Answer, read: Callable[[Answer], Result]) -> Result:
        """Try several times, with growing waits; raise the last failure."""
        for attempt in range(max(1, self._service.attempts) - 1):
            try:
                return self._try(url, body, read)
            except _RefusedAttemptError:
                raise
            except _BrokenAttemptError:
                time.sleep(_SHORTEST_WAIT)
            except _AttemptError as failure:
                time.sleep(max(failure.wait, min(_LONGEST_WAIT, _SHORTEST_WAIT * 2**attempt)))
        return self._try(url, body, read)

    def _try(self, url: str, body: Answer, read: Callable[[Answer], Result]) -> Result:
        """Ask once."""
        try:
            response = self._client.post(url, json=body)
        except self._failures as error:
            raise _AttemptError(self._hide_key(f"{type(error).__name__}: {error}")) from None
        if response.status_code == 200:
            try:
                return read(_parse(response))
            except BrokenAnswerError as error:
                raise _BrokenAttemptError(str(error)) from None
        if response.status_code in _RETRIED:
            raise _AttemptError(f"it answered {response.status_code}", _read_wait(response))
        if response.status_code in _QUESTION:
            raise _RefusedAttemptError(f"it answered {response.status_code}: {self._quote(response)}")
        raise RefusalError(self._explain_refusal(url, response))

    def _explain_refusal(self, url: str, response: Any) -> str:
        hint = ""
        if response.status_code in (401, 403):
            hint = f" Set its key in the environment, as {KEYS[0]}."
        elif response.status_code == 404:
            hint = " The address usually ends with /v1, and the server must have the model."
        return (
            f"The {self._role.name} refused {url} with {response.status_code}: {self._quote(response)}{hint}"
        )

    def _quote(self, response: Any) -> str:
        """Return the beginning of what a server said; some repeat the key that they were sent."""
        return self._hide_key(" ".join(response.text.split()))[:200]

    def _hide_key(self, text: str) -> str:
        return text.replace(self._key, "***") if self._key else text


def _parse(response: Any) -> Answer:
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise BrokenAnswerError("it answered with something that is not a JSON object")
    return answer


def _read_wait(response: Any) -> float:
    """Return how long the server asks to wait, up to the longest wait; 0 if it does not."""
    try:
        return max(0.0, min(_LONGEST_WAIT, float(response.headers.get("retry-after", 0))))
    except ValueError:
        return 0.0
