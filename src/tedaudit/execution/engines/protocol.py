"""What an engine is: it takes chunks and gives back their results, in any order."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from tedaudit.execution.chunks import Chunk
from tedaudit.execution.work import Result


class Engine(Protocol):
    """Does chunks. Only a bounded number of chunks and bytes is in flight at a time.

    A chunk may be done twice: its result depends on nothing but the chunk. Which engine does it is
    incidental, so it is part of no table's key.
    """

    @property
    def has_room(self) -> bool:
        """Whether another chunk may be submitted now; if not, take what is finished first."""
        ...

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Take plug-ins that are built already, by their identity; engines that work elsewhere need none."""
        ...

    def submit(self, ticket: int, chunk: Chunk) -> None:
        """Take a chunk; the ticket comes back with its result."""
        ...

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Yield results, in any order; wait for one if none is there and something is in flight."""
        ...


@runtime_checkable
class TellsStatus(Protocol):
    """An engine that says how many of its workers are there, for the progress shown."""

    @property
    def status(self) -> str:
        """A few words, or nothing."""
        ...
