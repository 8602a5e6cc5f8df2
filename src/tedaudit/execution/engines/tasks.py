"""Chunks on their way to workers, what comes back, and the thread for those that stay."""

import queue
import threading
from dataclasses import dataclass, field
from typing import Any

from tedaudit.batches import Draws
from tedaudit.execution.chunks import Chunk, RewriteChunk
from tedaudit.execution.work import Bench
from tedaudit.nominal import distinct_epsilons


@dataclass
class Task:
    """A chunk on its way."""

    parcel: bytes
    needs: frozenset[int]
    name: str
    home: object = None  # chunks that share it are done faster by one worker
    is_bound: bool = False  # whether no other worker may do it
    lost: int = 0  # workers


@dataclass(frozen=True)
class Done:
    """A result, as bytes from a worker or as it is from this process."""

    ticket: int
    worker: Any
    result: Any


@dataclass(frozen=True)
class Lost:
    """A worker that is gone, and why."""

    worker: Any
    reason: str


@dataclass
class Here:
    """A thread of this process, for plug-ins that must not be there several times."""

    bench: Bench
    events: "queue.SimpleQueue[Any]"
    waiting: "queue.SimpleQueue[tuple[int, Chunk] | None]" = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None

    def submit(self, ticket: int, chunk: Chunk) -> None:
        """Take a chunk."""
        self.waiting.put((ticket, chunk))
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, daemon=True)
            self.thread.start()

    def close(self) -> None:
        """End the thread once it has done what it is doing."""
        if self.thread is not None:
            self.waiting.put(None)
            self.thread = None

    def _work(self) -> None:
        while (given := self.waiting.get()) is not None:
            ticket, chunk = given
            try:
                result: Any = self.bench.perform(chunk)
            except BaseException as error:
                result = error
            self.events.put(Done(ticket, None, result))


def name_chunk(chunk: Chunk) -> str:
    """Return how messages call a chunk; no text of it is told."""
    if isinstance(chunk, RewriteChunk):
        return f"The rewriting of {len(chunk):,} texts by '{chunk.plugin.name}'{_name_epsilons(chunk.draws)}"
    where = f" at {chunk.epsilon.phrase}" if chunk.epsilon.phrase else ""
    return f"The guessing of {len(chunk):,} trials by '{chunk.plugin.name}'{where}"


def _name_epsilons(draws: Draws) -> str:
    given = [epsilon.label for epsilon in distinct_epsilons(draws.epsilons.tolist()) if epsilon.is_given]
    return f" at epsilon {', '.join(given)}" if given else ""
