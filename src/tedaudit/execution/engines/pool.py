"""What engines with workers have in common: which chunk is where, and what becomes of those of a lost worker.

A chunk is kept as bytes until its result is there, so that it can be given to another worker. Of the chunks
that a lost worker had, it was at work on the first: a chunk that has cost three workers ends the run.
"""

import queue
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, Protocol, Self, TypeVar

from tedaudit.abilities import CallsOut, CallsUserCode
from tedaudit.errors import InfrastructureError
from tedaudit.execution.chunks import Chunk, GuessChunk
from tedaudit.execution.engines.parcels import Shelf
from tedaudit.execution.engines.serving import restore_error
from tedaudit.execution.engines.tasks import Done, Here, Lost, Task, name_chunk
from tedaudit.execution.wire import Failure, unpack
from tedaudit.execution.work import Bench, Result

MOST_LOST = 3  # workers that one chunk may cost
AHEAD = 2  # chunks that a worker has: one that it does, and one that is there when it is done
_WINDOW = 4  # chunks in flight for each worker, so that there is something for everybody
_CROWD = 4  # chunks that wait for one worker before another one learns to do them
ROOM = 512 * 2**20  # bytes of chunks and results in flight, as far as more than one chunk is
Announce = Callable[[str], None]


class Worker(Protocol):
    """Somebody who does chunks."""

    tickets: list[int]  # in the order in which they were given
    is_ready: bool  # whether it has said that it is at work
    shelf: set[int]  # the things that it has been given


W = TypeVar("W", bound=Worker)


class PoolEngine(ABC, Generic[W]):
    """Gives chunks to workers, and takes their results."""

    def __init__(self, size: int, batch_size: int, announce: Announce | None = None) -> None:
        self._size, self._batch_size, self._announce = size, batch_size, announce
        self._workers: list[W] = []
        self._shelf = Shelf()
        self._tasks: dict[int, Task] = {}
        self._waiting: deque[int] = deque()
        self._events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._here = Here(Bench(batch_size), self._events)
        self._at_home: set[int] = set()  # tickets of chunks that this process does
        self._homes: dict[object, Any] = {}
        self._plugins: Mapping[str, Any] = {}
        self._largest = 0  # bytes of a result
        self._told: set[str] = set()

    # --- what the runner calls

    @property
    def has_room(self) -> bool:
        """Whether another chunk may be submitted: as many as keep all workers busy, if bytes allow it."""
        count = len(self._tasks) + len(self._at_home)
        used = sum(len(task.parcel) for task in self._tasks.values()) + len(self._tasks) * self._largest
        return count == 0 or (count < _WINDOW * (self._size + 1) and used < ROOM)

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Learn what the plug-ins of a run are; work of a run before it is not wanted any more."""
        self._plugins = plugins
        self._here.bench.adopt(plugins)
        for pending in (self._tasks, self._waiting, self._at_home, self._homes):
            pending.clear()
        for plugin in plugins.values():
            if isinstance(plugin, CallsUserCode) and self._size > 1:
                self._tell(
                    f"{_name_code(plugin)} runs in up to {self._size} processes: what it remembers between "
                    "calls, it remembers in each of them apart."
                )

    def submit(self, ticket: int, chunk: Chunk) -> None:
        """Take a chunk."""
        if self._must_stay(chunk):
            self._at_home.add(ticket)
            self._here.submit(ticket, chunk)
            return
        parcel, needs = self._shelf.pack(chunk)
        self._tasks[ticket] = Task(parcel, needs, name_chunk(chunk), *self._find_home(chunk))
        self._waiting.append(ticket)
        self._hand_out()

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Yield results as they come; an error of a plug-in is raised as if it had been done here."""
        while self._tasks or self._at_home:
            self._hand_out()
            event = self._next_event()
            if isinstance(event, Lost):
                self._give_back(event)
            elif isinstance(event, Done):
                yield from self._take(event)

    def close(self) -> None:
        """End all workers; what they had is lost."""
        self._tasks.clear()
        self._waiting.clear()
        self._at_home.clear()
        self._here.close()
        while self._workers:
            self._end(self._workers.pop())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what an engine is made of

    @abstractmethod
    def _start(self) -> None:
        """Start another worker, if there can be one more."""

    @abstractmethod
    def _give(self, worker: W, ticket: int, task: Task) -> None:
        """Give a chunk to a worker, with what it lacks from the shelf."""

    @abstractmethod
    def _drop(self, worker: W, number: int) -> None:
        """Tell a worker that something from the shelf is not needed any more."""

    @abstractmethod
    def _next_event(self) -> Any:
        """Wait for a result or the loss of a worker; None if something else has changed."""

    @abstractmethod
    def _end(self, worker: W) -> None:
        """End a worker now."""

    # --- who does what

    def _hand_out(self) -> None:
        """Give what waits to workers with little to do; start more workers as long as there is work."""
        if len(self._tasks) > len(self._workers) and len(self._workers) < self._size:
            self._start()
        for depth in range(AHEAD):
            for worker in self._workers:
                if worker.is_ready and len(worker.tickets) == depth:
                    ticket = self._choose(worker)
                    if ticket is not None:
                        self._give_ticket(worker, ticket)

    def _choose(self, worker: W) -> int | None:
        """Return the next chunk that a worker should do.

        What a worker has learnt for some chunks serves others of their home. Somebody else learns it too if
        there is nothing else to do and much of it waits.
        """
        elsewhere: dict[object, list[int]] = {}
        for ticket in self._waiting:
            task = self._tasks[ticket]
            if task.home is None or self._homes.setdefault(task.home, worker) is worker:
                return ticket
            if not task.is_bound:
                elsewhere.setdefault(task.home, []).append(ticket)
        crowded = [tickets for tickets in elsewhere.values() if len(tickets) >= _CROWD]
        return crowded[0][-1] if crowded and not worker.tickets else None

    def _give_ticket(self, worker: W, ticket: int) -> None:
        self._waiting.remove(ticket)
        task = self._tasks[ticket]
        worker.tickets.append(ticket)
        self._give(worker, ticket, task)
        needed = frozenset[int]().union(*(task.needs for task in self._tasks.values()))
        for number in self._shelf.forget(needed):
            for other in self._workers:
                if number in other.shelf:
                    other.shelf.discard(number)
                    self._drop(other, number)

    def _take(self, event: Done) -> Iterator[tuple[int, Result]]:
        if event.worker is None:
            if event.ticket not in self._at_home:
                return
            self._at_home.remove(event.ticket)
            if isinstance(event.result, BaseException):
                raise event.result
            yield event.ticket, event.result
            return
        if event.ticket in event.worker.tickets:
            event.worker.tickets.remove(event.ticket)
        if self._tasks.pop(event.ticket, None) is None:
            return  # of a run that was stopped
        self._largest = max(self._largest, len(event.result))
        result = unpack(event.result)
        if isinstance(result, Failure):
            raise restore_error(result)
        self._hand_out()
        yield event.ticket, result

    def _give_back(self, event: Lost) -> None:
        """Take back the chunks of a lost worker, and blame the one that it was at work on."""
        if event.worker in self._workers:
            self._workers.remove(event.worker)
        self._homes = {home: worker for home, worker in self._homes.items() if worker is not event.worker}
        tickets = [ticket for ticket in event.worker.tickets if ticket in self._tasks]
        if tickets and event.worker.tickets[0] == tickets[0]:
            task = self._tasks[tickets[0]]
            task.lost += 1
            if task.lost >= MOST_LOST:
                raise InfrastructureError(
                    f"{task.name} has cost {task.lost} workers, one after the other; the last one "
                    f"{event.reason}. That is no output, so no attack is shown it. Finished blocks are kept: "
                    "remove the cause (too little memory for so many workers?) and run the same command "
                    "again; the engine `serial` shows what the plug-in does."
                )
        self._waiting.extendleft(reversed(tickets))

    def _must_stay(self, chunk: Chunk) -> bool:
        """Return whether a chunk's plug-in asks a server: limits on its requests hold for one process."""
        plugin = self._plugins.get(chunk.plugin.identity)
        return _calls_out(plugin) and not isinstance(plugin, CallsUserCode)

    def _find_home(self, chunk: Chunk) -> tuple[object, bool]:
        """Return what makes a chunk belong to the worker that had others like it, and whether no other may.

        An attack that practises or learns does so in every worker that it guesses in. If it tries a function
        or a server, it may do so in one only: how often that is called was said before.
        """
        if not isinstance(chunk, GuessChunk) or not (chunk.mechanism or chunk.own):
            return None, False
        is_bound = chunk.mechanism is not None and _calls_out(self._plugins.get(chunk.mechanism.identity))
        if not (is_bound or len(chunk.practice) or chunk.own):
            return None, False
        mechanism = "" if chunk.mechanism is None else chunk.mechanism.identity
        return (chunk.plugin.identity, mechanism, chunk.epsilon), is_bound

    def _tell(self, line: str) -> None:
        if self._announce is not None and line not in self._told:
            self._told.add(line)
            self._announce(line)


def _name_code(plugin: Any) -> str:
    """Return what is called, as the start of a sentence."""
    callee = plugin.callee(2) if isinstance(plugin, CallsOut) else None
    return "Your code" if callee is None else f"{callee.name[0].upper()}{callee.name[1:]}"


def _calls_out(plugin: Any) -> bool:
    return isinstance(plugin, CallsOut) and plugin.callee(2) is not None
