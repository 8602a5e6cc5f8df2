"""Errors of the machine or the network around a mechanism: tried again, and never taken for an output.

What a mechanism does with a text is an output, failures included: they may depend on the text, and whoever
receives them learns from them. A time-out, too little memory or a lost connection says nothing of the
mechanism, so it must not reach an attack. It is tried again; if it stays, the run stops with what is done.
"""

import errno
import time
from collections.abc import Callable
from typing import TypeVar

from tedaudit.errors import InfrastructureError

Returned = TypeVar("Returned")

PAUSES = (0.5, 2.0, 8.0)  # seconds before each further attempt
_TYPES = (MemoryError, TimeoutError, ConnectionError)
_ERRNOS = {
    errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EAGAIN,
    errno.ENOBUFS, errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH,
    errno.ETIMEDOUT, errno.ENOTCONN,
}  # fmt: skip
_NAMES = {
    "OutOfMemoryError",  # torch
    "TimeoutExpired",  # subprocess
    "gaierror", "SSLError", "URLError", "IncompleteRead",  # socket, ssl, urllib, http.client
    "ConnectionError", "Timeout", "MaxRetryError",  # requests and urllib3
    "TransportError",  # httpx
    "ClientConnectionError",  # aiohttp
    "APIConnectionError",  # clients of language models
}  # fmt: skip
"""Classes of other libraries, which need not be installed: looked for by name among an error's bases."""
_STATUSES = {408, 425, 429, 502, 503, 504, 529}  # of HTTP: too slow, too early, too often, not there


def is_infrastructure(error: BaseException) -> bool:
    """Return whether an error is one of the machine or the network, and no answer to a text.

    - MemoryError, TimeoutError, ConnectionError, and what PyTorch, requests, httpx, aiohttp and clients of
      language models raise in their place;
    - an OSError whose number means a lack of memory, disk, files or network: not one about a path, such as
      FileNotFoundError, since a text can cause that;
    - an HTTP error with status 408, 425, 429, 502, 503, 504 or 529: not any other, since a server may refuse
      a text.
    """
    status = _find_status(error)
    if status is not None:
        return status in _STATUSES
    if isinstance(error, _TYPES) or (isinstance(error, OSError) and error.errno in _ERRNOS):
        return True
    return any(base.__name__ in _NAMES for base in type(error).__mro__)


def retry(call: Callable[[], Returned], name: str) -> Returned:
    """Return what a call returns; after an error of the infrastructure try again, in the end say so."""
    attempts = 1
    while True:
        try:
            return call()
        except Exception as error:
            if not is_infrastructure(error):
                raise
            if attempts > len(PAUSES):
                raise InfrastructureError(
                    f"'{name}' raised {type(error).__name__} {attempts} times in a row: {error}. That is an "
                    "error of the machine or the network, not an output, so no attack sees it. Finished "
                    "work is kept: remove the cause and run the same command again. If a text causes it, "
                    "raise another exception, such as ValueError: that is an output."
                ) from error
        time.sleep(PAUSES[attempts - 1])
        attempts += 1


def _find_status(error: BaseException) -> int | None:
    """Return the status of an HTTP error, as urllib, requests, httpx and others hold it."""
    response = getattr(error, "response", None)
    offered = [getattr(error, "status_code", None), getattr(response, "status_code", None)]
    if isinstance(error, OSError):  # urllib's
        offered.append(getattr(error, "code", None))
    return next((status for status in offered if isinstance(status, int)), None)
