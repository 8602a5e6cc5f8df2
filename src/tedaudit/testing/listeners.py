"""Who wants to hear of the audits of a test suite. It imports nothing: pytest starts with it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

_listeners: list[Callable[[str], None]] = []


@contextmanager
def listening(hear: Callable[[str], None]) -> Iterator[None]:
    """Have every audit of `assert_private` told in one line while this lasts."""
    _listeners.append(hear)
    try:
        yield
    finally:
        _listeners.remove(hear)


def tell(line: str) -> None:
    """Tell a line to whoever listens."""
    for hear in _listeners:
        hear(line)
