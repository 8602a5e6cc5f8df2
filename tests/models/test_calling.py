"""Errors of the machine or the network: which they are, and that they are tried again."""

import concurrent.futures
import errno
import http.client
import json
import socket
import ssl
import subprocess
import urllib.error
from types import SimpleNamespace

import pytest

from tedaudit.errors import InfrastructureError
from tedaudit.models import calling as retries
from tedaudit.models.calling import is_infrastructure, retry


def _foreign(name, *bases):
    """Return an error of a library that need not be installed."""
    return type(name, bases or (Exception,), {})("x")


def _http(status):
    return urllib.error.HTTPError("http://x", status, "x", None, None)


def _with_status(**parts):
    error = RuntimeError("x")
    vars(error).update(parts)
    return error


INFRASTRUCTURE = [
    MemoryError(), TimeoutError(), concurrent.futures.TimeoutError(),
    subprocess.TimeoutExpired("x", 1), ConnectionRefusedError(), BrokenPipeError(),
    OSError(errno.ENOSPC, "full"), OSError(errno.EHOSTUNREACH, "away"), OSError(errno.EMFILE, "many"),
    socket.gaierror(-2, "unknown"), ssl.SSLError("x"), urllib.error.URLError("x"),
    http.client.IncompleteRead(b""), http.client.RemoteDisconnected("x"), _http(429), _http(503),
    _with_status(status_code=429), _with_status(response=SimpleNamespace(status_code=504)),
    _foreign("OutOfMemoryError", RuntimeError), _foreign("ConnectionError", OSError),
    _foreign("ConnectTimeout", type("TransportError", (Exception,), {})),
    _foreign("APITimeoutError", type("APIConnectionError", (Exception,), {})),
]  # fmt: skip
OUTPUTS = [
    ValueError(), KeyError("x"), RuntimeError(), RecursionError(), UnicodeEncodeError("ascii", "", 0, 1, "x"),
    json.JSONDecodeError("x", "", 0), FileNotFoundError(errno.ENOENT, "x"), OSError("x"), PermissionError(),
    OSError(errno.ENAMETOOLONG, "x"), _http(400), _http(413), _http(500), _with_status(status_code=422),
    _with_status(code=503), _foreign("ContentFilterError"),
]  # fmt: skip


@pytest.mark.parametrize("error", INFRASTRUCTURE, ids=lambda error: type(error).__name__)
def test_what_the_machine_or_the_network_does_is_no_output(error):
    assert is_infrastructure(error)


@pytest.mark.parametrize("error", OUTPUTS, ids=lambda error: type(error).__name__)
def test_what_a_text_can_cause_is_an_output(error):
    assert not is_infrastructure(error)


def test_a_real_error_of_torch_is_known():
    torch = pytest.importorskip("torch")
    assert is_infrastructure(torch.OutOfMemoryError("x"))


def test_a_call_is_tried_again_after_pauses_that_grow(monkeypatch):
    paused, calls = [], []
    monkeypatch.setattr(retries.time, "sleep", paused.append)

    def call():
        calls.append(1)
        if len(calls) < 3:
            raise TimeoutError
        return "done"

    assert retry(call, "x") == "done"
    assert paused == list(retries.PAUSES[:2])
    assert list(retries.PAUSES) == sorted(retries.PAUSES)


def test_an_error_that_stays_is_told_with_its_name_and_the_way_out(monkeypatch):
    monkeypatch.setattr(retries, "PAUSES", (0.0, 0.0))
    calls = []

    def call():
        calls.append(1)
        raise MemoryError("no room")

    with pytest.raises(InfrastructureError) as caught:
        retry(call, "my_function")
    assert len(calls) == 3
    assert "'my_function' raised MemoryError 3 times in a row: no room." in str(caught.value)
    assert "run the same command again" in str(caught.value)


def test_an_error_of_the_function_itself_is_not_tried_again(monkeypatch):
    monkeypatch.setattr(retries.time, "sleep", lambda _: pytest.fail("waited"))
    calls = []

    def call():
        calls.append(1)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        retry(call, "x")
    assert len(calls) == 1
