"""A Ray cluster: actors hold plug-ins, and this process keeps the work until their results are there.

Actors restart by themselves; calls are never retried by Ray, because one whose node is gone would never come
back. Work of a lost actor goes to another one at once, and the actor is used again as soon as it answers.
"""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tedaudit.errors import InfrastructureError, shorten
from tedaudit.execution.engines.cluster import Cluster
from tedaudit.execution.engines.pool import Announce, Done, Lost, PoolEngine, WorkerTask
from tedaudit.execution.engines.processes import find_path
from tedaudit.execution.engines.workplace import Actor, describe_known
from tedaudit.execution.units import Rewriting, Unit, Work
from tedaudit.plugins.extras import require
from tedaudit.plugins.registry import Reference
from tedaudit.spec.engine import EngineSpec
from tedaudit.store.files import read_part
from tedaudit.version import __version__

_POLL = 0.5  # seconds between looks at what happens
_PAUSE = 0.5  # seconds before a lost actor is asked again
_SILENCE = 60.0  # seconds without any actor after which it is said
_PATIENCE = 600.0  # seconds without any actor after which a run ends


@dataclass(eq=False)
class ActorHandle:
    """An actor, and what it was asked."""

    handle: Any
    tickets: list[int] = field(default_factory=list)
    shelf: set[int] = field(default_factory=set)
    is_ready: bool = False
    has_begun: bool = False
    calls: dict[Any, int] = field(default_factory=dict)  # tickets by what they will return
    greeting: Any = None  # the answer that is waited for before it gets work
    greet_at: float = 0.0


def _bring_parts(unit: Unit) -> Unit:
    """Return a unit with the bytes of stored parts that it needs: other machines do not see our disk."""

    def bring(rewriting: Rewriting) -> Rewriting:
        stored = (replace(part, content=read_part(Path(part.path))) for part in rewriting.stored)
        return replace(rewriting, stored=tuple(stored))

    return replace(unit, rewriting=tuple(map(bring, unit.rewriting)))


class RayEngine(PoolEngine[ActorHandle]):
    """Has work done by actors of a cluster: one that is named, or one that is started here."""

    def __init__(self, settings: EngineSpec, batch_size: int, announce: Announce | None = None) -> None:
        require("The engine ray", "ray")
        import ray

        super().__init__(1, batch_size, announce)
        self._ray, self._settings = ray, settings
        self._cluster = Cluster(settings)
        self._refs: dict[int, Any] = {}  # things of the shelf in the cluster's memory
        self._arrived: deque[Any] = deque()
        self._known: dict[str, Any] = {}  # what determines plug-ins here
        self._alive_at = time.monotonic()
        self._size = self._cluster.count_room()

    @property
    def status(self) -> str:
        """How many actors are at work."""
        alive = sum(worker.is_ready for worker in self._workers)
        return f"{alive} of {self._size} actors"

    def offer(self, plugins: Mapping[str, Any]) -> None:
        """Learn what the plug-ins of a run are."""
        super().offer(plugins)
        self._known = {}
        if self._cluster.address:
            self._tell(
                f"Texts go to the Ray cluster at {self._cluster.address}: whoever may use it can read them."
            )

    def submit(self, ticket: int, work: Work) -> None:
        """Take some work; what determines its plug-ins goes with it, so that other ones are noticed."""
        for reference in work.references:
            self._note(reference)
        super().submit(ticket, _bring_parts(work) if isinstance(work, Unit) else work)

    def close(self) -> None:
        """End all actors, and the cluster if it was started here."""
        super().close()
        self._cluster.close()

    # --- actors

    def _start(self) -> None:
        if not self._workers:
            self._alive_at = time.monotonic()
        if any(not worker.has_begun for worker in self._workers):
            return  # one after the other: all at once would load their models at once
        options = {**self._cluster.options(), "max_restarts": -1, "max_task_retries": 0}
        threads = max(1, int(self._cluster.share.get("cpu", 1)))
        build = self._ray.remote(**options)(Actor)
        worker = ActorHandle(build.remote(self._batch_size, threads, find_path()))
        self._workers.append(worker)
        self._greet(worker)

    def _greet(self, worker: ActorHandle) -> None:
        worker.greeting = worker.handle.greet.remote()

    def _give(self, worker: ActorHandle, ticket: int, task: WorkerTask) -> None:
        self._refs = {number: ref for number, ref in self._refs.items() if number in self._shelf}
        missing = sorted(task.needs - worker.shelf)
        for number in missing:
            if number not in self._refs:
                self._refs[number] = self._ray.put(self._shelf.parcel(number))
        worker.shelf.update(missing)
        things = [self._refs[number] for number in missing]
        call = worker.handle.perform.remote(task.parcel, sorted(task.needs), self._known, missing, *things)
        worker.calls[call] = ticket

    def _drop(self, worker: ActorHandle, number: int) -> None:
        worker.handle.drop.remote(number)

    def _end(self, worker: ActorHandle) -> None:
        if self._ray.is_initialized():
            self._ray.kill(worker.handle)

    # --- what happens

    def _next_event(self) -> Any:
        if self._arrived:
            return self._arrived.popleft()
        if not self._events.empty():
            return self._events.get()
        self._size = self._cluster.count_room()
        self._watch()
        for worker in self._workers:
            if worker.greeting is None and not worker.is_ready and time.monotonic() >= worker.greet_at:
                self._greet(worker)
        waited = {worker.greeting: worker for worker in self._workers if worker.greeting is not None}
        waited |= {call: worker for worker in self._workers for call in worker.calls}
        if not waited:
            time.sleep(0.05)
            return None
        done, _ = self._ray.wait(list(waited), num_returns=1, timeout=0.1 if self._at_home else _POLL)
        for call in done:
            self._look(waited[call])
        return None

    def _look(self, worker: ActorHandle) -> None:
        """Take everything that an actor has returned, and then notice if it is lost."""
        if worker.greeting is not None and self._ray.wait([worker.greeting], timeout=0)[0]:
            self._take_greeting(worker)
        reason = ""
        for call in list(worker.calls):
            if not self._ray.wait([call], timeout=0)[0]:
                continue
            ticket = worker.calls.pop(call)
            try:
                result = self._ray.get(call)
            except self._ray.exceptions.RayTaskError as error:
                raise InfrastructureError(f"An actor failed: {shorten(str(error), 1000)}") from error
            except self._ray.exceptions.RayError as error:
                reason = f"was lost ({type(error).__name__})"
                continue
            if result is None:  # it has restarted since, and lacks what it was given
                worker.shelf.clear()
                if ticket in self._tasks:
                    self._give(worker, ticket, self._tasks[ticket])
            else:
                self._arrived += [Done(ticket, worker, bytearray(one)) for one in result]
        if reason:
            self._arrived.append(Lost(worker, reason))

    def _take_greeting(self, worker: ActorHandle) -> None:
        greeting, worker.greeting = worker.greeting, None
        try:
            version = self._ray.get(greeting)
        except (self._ray.exceptions.ActorDiedError, self._ray.exceptions.RayTaskError) as error:
            raise InfrastructureError(
                f"An actor cannot begin: {shorten(str(error), 600)}. tedaudit {__version__}, and what the "
                "plug-ins need, must be installed on every machine of the cluster."
            ) from error
        except self._ray.exceptions.RayError:  # it restarts, or waits for a machine
            worker.greet_at = time.monotonic() + _PAUSE
            return
        if version != __version__:
            raise InfrastructureError(
                f"A machine of the cluster has tedaudit {version}, and this one {__version__}: install the "
                "same version on all of them."
            )
        worker.is_ready = worker.has_begun = True

    def _give_back(self, event: Lost) -> None:
        """Take back the work of a lost actor; it is asked again until it answers."""
        worker: ActorHandle = event.worker
        is_known = worker in self._workers
        super()._give_back(event)
        worker.tickets.clear()
        worker.calls.clear()
        worker.shelf.clear()
        worker.is_ready = False
        if is_known:
            self._workers.append(worker)

    def _watch(self) -> None:
        """Say so if no actor is there; give up in the end."""
        now = time.monotonic()
        if any(worker.is_ready for worker in self._workers):
            self._alive_at = now
        gone = now - self._alive_at
        each = ", ".join(f"{amount:g} {name}" for name, amount in self._cluster.share.items())
        if gone > _SILENCE:
            self._tell(f"No actor is there: waiting until the cluster has {each} for one.")
        if gone > _PATIENCE:
            raise InfrastructureError(
                f"No actor was there for {_PATIENCE / 60:.0f} minutes. Each takes {each}: does the cluster "
                "have that? Finished work is kept: run the same command again."
            )

    def _note(self, reference: Reference) -> None:
        """Note what determines a plug-in here, if other machines make it by its name."""
        identity = reference.identity
        if identity not in self._known:
            self._known[identity] = describe_known(reference, self._plugins.get(identity))
