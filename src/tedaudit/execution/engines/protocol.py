"""What an engine is: it takes work and gives back what becomes of it, in any order."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

from tedaudit.execution.units import Result, Work


class Engine(Protocol):
    """Does units of trials, and chunks. Only a bounded number of them and of bytes is in flight at a time.

    Work may be done twice: its result depends on nothing but the work. Which engine does it is incidental,
    so it is part of no table's key. `doing.do` does any work and yields its results.
    """

    @property
    def workers(self) -> int:
        """How many pieces of work it does at the same time, so that units can be cut for all of them."""
        ...

    @property
    def has_room(self) -> bool:
        """Whether more work may be submitted now; if not, take what is finished first."""
        ...

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Take plug-ins that are built already, by their identity; engines that work elsewhere need none."""
        ...

    def submit(self, ticket: int, work: Work) -> None:
        """Take some work; the ticket comes back with its results."""
        ...

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Yield results, in any order of work; wait for one if none is there and something is in flight.

        A chunk has one result. A unit has tuples of parts, in their order, and then `Finished`; or
        `Interrupted`, if whoever did it was lost after some parts: then the run submits the rest.
        """
        ...


@runtime_checkable
class TellsStatus(Protocol):
    """An engine that says how many of its workers are there, for the progress shown."""

    @property
    def status(self) -> str:
        """A few words, or nothing."""
        ...
