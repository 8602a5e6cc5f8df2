"""What engines with workers have in common: which work is where, and what becomes of that of a lost worker.

Work is kept as bytes until all its results are there, so that it can be given to another worker; unless some
parts of a unit have been placed already: then the run makes a unit of the rest. Work that has cost three
workers without a result ends the run.
"""

import queue
import threading
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from tedaudit.errors import InfrastructureError
from tedaudit.execution.doing import do
from tedaudit.execution.engines.workplace import restore_error
from tedaudit.execution.units import GuessChunk, Interrupted, Result, RewriteChunk, Unit, Work
from tedaudit.execution.wire import Failure, Shelf, unpack
from tedaudit.execution.work import Bench
from tedaudit.nominal import Nominal, distinct_epsilons
from tedaudit.plugins.abilities import CallsOut, CallsUserCode

MOST_LOST = 3  # workers that the same work may cost
_WINDOW = 3  # pieces of work in flight for each worker, so that there is something for everybody
_CROWD = 4  # pieces that wait for one worker before another one learns to do them
_PAUSE = 0.2  # seconds
_UNREAD = 64  # results that nobody has taken yet: who has more of them waits
ROOM = 512 * 2**20  # bytes of work and results in flight, as far as more than one piece is
Announce = Callable[[str], None]


@dataclass
class WorkerTask:
    """Work on its way."""

    parcel: bytes
    needs: frozenset[int]
    name: str  # for messages
    identity: object  # what is left of it after a loss has the same, if nothing was done
    home: object = None  # work that shares it is done faster by one worker
    is_bound: bool = False  # whether no other worker may do it
    has_parts: bool = False  # whether some of its results are there


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
    events: "queue.Queue[Any]"
    waiting: "queue.SimpleQueue[tuple[int, Work] | None]" = field(default_factory=queue.SimpleQueue)
    thread: threading.Thread | None = None
    is_closed: bool = False

    def submit(self, ticket: int, work: Work) -> None:
        """Take some work."""
        self.waiting.put((ticket, work))
        if self.thread is None:
            self.thread = threading.Thread(target=self._work, daemon=True)
            self.thread.start()

    def close(self) -> None:
        """End the thread once it has done what it is doing; its results are dropped."""
        self.is_closed = True
        if self.thread is not None:
            self.waiting.put(None)
            self.thread = None

    def _work(self) -> None:
        while (given := self.waiting.get()) is not None and not self.is_closed:
            ticket, work = given
            try:
                for result in do(work, self.bench):
                    self._tell(Done(ticket, None, result))
                    if self.is_closed:
                        return
            except BaseException as error:
                self._tell(Done(ticket, None, error))

    def _tell(self, event: "Done") -> None:
        """Say that something is done; wait as long as too much of it is unread."""
        while not self.is_closed:
            with suppress(queue.Full):
                self.events.put(event, timeout=_PAUSE)
                return


def name_work(work: Work) -> str:
    """Return how messages call some work; no text of it is told."""
    if isinstance(work, Unit):
        asked = {(one.reference.name, one.epsilon) for one in work.guessing}
        if not work.rewrites and len(asked) == 1:
            [(name, epsilon)] = asked
            return f"The guessing of trials {work.start:,} to {work.stop:,} by '{name}'{_at(epsilon)}"
        rows = f"trials {work.start:,} to {work.stop:,}" if len(work.plan) else f"{len(work.own):,} own draws"
        return f"The work on {rows} of '{work.mechanism.name}'"
    if isinstance(work, RewriteChunk):
        given = [e.label for e in distinct_epsilons(work.draws.epsilons.tolist()) if e.is_given]
        where = f" at epsilon {', '.join(given)}" if given else ""
        return f"The rewriting of {len(work):,} texts by '{work.plugin.name}'{where}"
    return f"The guessing of {len(work):,} trials by '{work.plugin.name}'{_at(work.epsilon)}"


def _identify(work: Work) -> object:
    """Return what tells some work from all other work of a run."""
    if not isinstance(work, Unit):
        return id(work)
    guessing = frozenset((one.attack, one.epsilon) for one in work.guessing)
    own = (work.own.text[:1].tobytes(), work.own.replicate[:1].tobytes(), len(work.own))
    return work.plan_name, work.mechanism.identity, work.start, work.stop, guessing, own


def _at(epsilon: Nominal) -> str:
    return f" at {epsilon.phrase}" if epsilon.phrase else ""


class Worker(Protocol):
    """Somebody who does work."""

    tickets: list[int]  # in the order in which they were given
    is_ready: bool  # whether it has said that it is at work
    shelf: set[int]  # the things that it has been given


W = TypeVar("W", bound=Worker)


class PoolEngine(ABC, Generic[W]):
    """Gives work to workers, and takes their results."""

    def __init__(self, size: int, batch_size: int, announce: Announce | None = None) -> None:
        self._size, self._batch_size, self._announce = size, batch_size, announce
        self._workers: list[W] = []
        self._shelf = Shelf()
        self._tasks: dict[int, WorkerTask] = {}
        self._waiting: deque[int] = deque()
        self._events: queue.Queue[Any] = queue.Queue(_UNREAD)
        self._here = Here(Bench(batch_size), self._events)
        self._at_home: set[int] = set()  # tickets of work that this process does
        self._homes: dict[object, Any] = {}
        self._plugins: Mapping[str, Any] = {}
        self._lost: Counter[object] = Counter()  # workers that work has cost, by its identity
        self._interrupted: list[int] = []  # tickets of units whose worker was lost on the way
        self._told: set[str] = set()

    # --- what the runner calls

    @property
    def has_room(self) -> bool:
        """Whether more work may be submitted: as many as keep all workers busy, if bytes allow it."""
        count = len(self._tasks) + len(self._at_home)
        used = sum(len(task.parcel) for task in self._tasks.values())
        return count == 0 or (count < _WINDOW * self._size and used < ROOM)

    @property
    def workers(self) -> int:
        """How many workers there are, or will be once there is work for them."""
        return self._size

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Learn what the plug-ins of a run are; work of a run before it is not wanted any more."""
        self._plugins = plugins
        if self._at_home:
            self._leave()
        self._here.bench.adopt(plugins)
        for pending in (self._tasks, self._waiting, self._at_home, self._homes):
            pending.clear()
        self._lost.clear()
        self._interrupted.clear()
        for plugin in plugins.values():
            if isinstance(plugin, CallsUserCode) and self._size > 1:
                self._tell(
                    f"{_name_code(plugin)} runs in up to {self._size} processes: what it remembers between "
                    "calls, it remembers in each of them apart."
                )

    def submit(self, ticket: int, work: Work) -> None:
        """Take some work."""
        if self._must_stay(work):
            self._at_home.add(ticket)
            self._here.submit(ticket, work)
            return
        parcel, needs = self._shelf.pack(work)
        self._tasks[ticket] = WorkerTask(
            parcel, needs, name_work(work), _identify(work), *self._find_home(work)
        )
        self._waiting.append(ticket)
        self._hand_out()

    def finished(self) -> Iterator[tuple[int, Result]]:
        """Yield results as they come; an error of a plug-in is raised as if it had been done here."""
        while self._tasks or self._at_home or self._interrupted:
            while self._interrupted:
                yield self._interrupted.pop(0), Interrupted()
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
        self._leave()
        while self._workers:
            self._end(self._workers.pop())

    def _leave(self) -> None:
        """Let the thread of this process go: what it has not begun is not done any more."""
        self._here.close()
        self._here = Here(Bench(self._batch_size), self._events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what an engine is made of

    @abstractmethod
    def _start(self) -> None:
        """Start another worker, if there can be one more."""

    @abstractmethod
    def _give(self, worker: W, ticket: int, task: WorkerTask) -> None:
        """Give some work to a worker, with what it lacks from the shelf."""

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
        """Give what waits to workers with nothing to do; start more workers as long as there is work."""
        if len(self._tasks) > len(self._workers) and len(self._workers) < self._size:
            self._start()
        for worker in self._workers:
            if worker.is_ready and not worker.tickets:
                ticket = self._choose(worker)
                if ticket is not None:
                    self._give_ticket(worker, ticket)

    def _choose(self, worker: W) -> int | None:
        """Return what a worker should do next.

        What a worker has learnt for some work serves other work of the same home. Somebody else learns it
        too if there is nothing else to do and much of it waits.
        """
        elsewhere: dict[object, list[int]] = {}
        for ticket in self._waiting:
            task = self._tasks[ticket]
            if task.home is None or self._homes.setdefault(task.home, worker) is worker:
                return ticket
            if not task.is_bound:
                elsewhere.setdefault(task.home, []).append(ticket)
        crowded = [tickets for tickets in elsewhere.values() if len(tickets) >= _CROWD]
        return crowded[0][-1] if crowded else None

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
        ticket, worker = event.ticket, event.worker
        result = event.result if worker is None else unpack(event.result)
        known = ticket in (self._at_home if worker is None else self._tasks)  # or of a run that was stopped
        if isinstance(result, tuple):
            if worker is not None and known:
                self._tasks[ticket].has_parts = True
        else:
            self._at_home.discard(ticket)
            task = self._tasks.pop(ticket, None)
            if task is not None:
                self._lost.pop(task.identity, None)
            if worker is not None and ticket in worker.tickets:
                worker.tickets.remove(ticket)
            self._hand_out()
        if known and isinstance(result, BaseException | Failure):
            raise restore_error(result) if isinstance(result, Failure) else result
        if known:
            yield ticket, result

    def _give_back(self, event: Lost) -> None:
        """Take back the work of a lost worker."""
        if event.worker in self._workers:
            self._workers.remove(event.worker)
        self._homes = {home: worker for home, worker in self._homes.items() if worker is not event.worker}
        for ticket in event.worker.tickets:
            if ticket in self._tasks:
                self._blame(ticket, self._tasks[ticket], event.reason)

    def _blame(self, ticket: int, task: WorkerTask, reason: str) -> None:
        """Note that work has cost a worker, and have it done by another."""
        self._lost[task.identity] = 1 if task.has_parts else self._lost[task.identity] + 1
        if self._lost[task.identity] >= MOST_LOST:
            raise InfrastructureError(
                f"{task.name} has cost {MOST_LOST} workers, one after the other; the last one {reason}. That "
                "is not an output, so no attack sees it. Finished work is kept: remove the cause (too "
                "little memory for so many workers?) and run the same command again; the engine `serial` "
                "shows what the plug-in does."
            )
        if task.has_parts:
            del self._tasks[ticket]
            self._interrupted.append(ticket)
        else:
            self._waiting.appendleft(ticket)

    def _must_stay(self, work: Work) -> bool:
        """Return whether work is for a plug-in that asks a server: its limits hold for one process."""
        called = work.called if isinstance(work, Unit) else (work.plugin,)
        plugins = [self._plugins.get(reference.identity) for reference in called]
        return any(_calls_out(plugin) and not isinstance(plugin, CallsUserCode) for plugin in plugins)

    def _find_home(self, work: Work) -> tuple[object, bool]:
        """Return what makes work belong to the worker that had other work like it, and whether no other may.

        An attack that practises or learns does so in every worker that it guesses in. If it tries a function
        or a server, it may do so in one only: how often that is called was said before.
        """
        if isinstance(work, Unit) and len(work.guessing) and not any(r.lacking.any() for r in work.rewriting):
            guessing = work.guessing[0]
            mechanism = work.mechanism if guessing.knows_mechanism else None
            attack, practice, own, epsilon = (
                guessing.reference, guessing.practice, guessing.own, guessing.epsilon,
            )  # fmt: skip
        elif isinstance(work, GuessChunk):
            mechanism, attack, epsilon = work.mechanism, work.plugin, work.epsilon
            practice, own = work.practice, work.own
        else:
            return None, False
        is_bound = mechanism is not None and _calls_out(self._plugins.get(mechanism.identity))
        if not (is_bound or len(practice) or own):
            return None, False
        return (attack.identity, "" if mechanism is None else mechanism.identity, epsilon), is_bound

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
