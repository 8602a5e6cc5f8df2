"""A pause for Python's search for cyclic garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
    """Let nobody look for cycles meanwhile: many small objects are made, and none of them is in one.

    Each search looks at every object that there is, among them a corpus, and may take longer than the work.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
