"""One chunk after the other, in this process."""

from collections.abc import Iterator, Mapping
from typing import Any

from tedaudit.execution.chunks import Chunk
from tedaudit.execution.work import BATCH, Bench, Result


class SerialEngine:
    """Does a chunk when its result is asked for, and keeps plug-ins loaded between chunks."""

    def __init__(self, batch_size: int = BATCH) -> None:
        self._bench = Bench(batch_size)
        self._waiting: list[tuple[int, Chunk]] = []

    @property
    def has_room(self) -> bool:
        """Whether nothing waits: one chunk is in memory at a time."""
        return not self._waiting

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Use these plug-ins instead of building them again."""
        self._bench.adopt(plugins)

    def submit(self, ticket: int, chunk: Chunk) -> None:
        """Take a chunk."""
        self._waiting.append((ticket, chunk))

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Do the chunks that wait, in order."""
        while self._waiting:
            ticket, chunk = self._waiting.pop(0)
            yield ticket, self._bench.perform(chunk)
