"""One piece of work after the other, in this process."""

from collections.abc import Iterator, Mapping
from typing import Any

from tedaudit.execution.doing import do
from tedaudit.execution.units import Result, Work
from tedaudit.execution.work import BATCH, Bench


class SerialEngine:
    """Does work when its results are asked for, and keeps plug-ins loaded in between."""

    workers = 1

    def __init__(self, batch_size: int = BATCH) -> None:
        self._bench = Bench(batch_size)
        self._waiting: list[tuple[int, Work]] = []
        self._is_busy = False

    @property
    def has_room(self) -> bool:
        """Whether nothing waits: one piece of work is in memory at a time."""
        return not self._waiting and not self._is_busy

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Use these plug-ins instead of building them again."""
        self._bench.adopt(plugins)
        self._waiting.clear()
        self._is_busy = False

    def submit(self, ticket: int, work: Work) -> None:
        """Take some work."""
        self._waiting.append((ticket, work))

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Do the work that waits, in order."""
        while self._waiting:
            ticket, work = self._waiting.pop(0)
            for result in do(work, self._bench):
                self._is_busy = isinstance(result, tuple)
                yield ticket, result
