"""Several processes of this machine, one thread each: `python -m tedaudit.worker --serve`, over pipes."""

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tedaudit.errors import InfrastructureError
from tedaudit.execution.engines.pool import MOST_LOST, Announce, Done, Lost, PoolEngine, WorkerTask
from tedaudit.execution.engines.workplace import DROP, OPEN, PERFORM, READY, SHELVE, receive, send
from tedaudit.execution.work import BATCH

_ONE_THREAD = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
_PAUSE = 0.2  # seconds; a wait without end would not notice Ctrl-C, which polars handles in its own way
_PATIENCE = 5  # seconds that a killed worker has to end


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def find_path() -> list[str]:
    """Return where this process finds modules."""
    return [str(Path(entry or ".").absolute()) for entry in sys.path]


@dataclass(eq=False)
class WorkerProcess:
    """A process that does work."""

    process: "subprocess.Popen[bytes]"
    listener: threading.Thread | None = None
    tickets: list[int] = field(default_factory=list)
    shelf: set[int] = field(default_factory=set)
    is_ready: bool = False

    @property
    def inlet(self) -> IO[bytes]:
        """The pipe that it reads from."""
        assert self.process.stdin is not None  # noqa: S101 - it was asked for
        return self.process.stdin


class ProcessEngine(PoolEngine[WorkerProcess]):
    """Has work done by processes that it starts when there is work, and ends when it is closed."""

    def __init__(self, workers: int = 0, batch_size: int = BATCH, announce: Announce | None = None) -> None:
        super().__init__(workers or count_cores(), batch_size, announce)
        self._stillborn = 0  # workers in a row that ended before they began

    def _start(self) -> None:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tedaudit.worker", "--serve"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(),
            start_new_session=True,  # what is typed here, Ctrl-C included, is for this process
        )  # fmt: skip
        worker = WorkerProcess(process)
        self._workers.append(worker)
        worker.listener = threading.Thread(target=self._listen, args=(worker,), daemon=True)
        worker.listener.start()
        self._send(worker, OPEN, self._batch_size)

    def _give(self, worker: WorkerProcess, ticket: int, task: WorkerTask) -> None:
        for number in sorted(task.needs - worker.shelf):
            worker.shelf.add(number)
            self._send(worker, SHELVE, number, self._shelf.parcel(number))
        self._send(worker, PERFORM, ticket, task.parcel)

    def _drop(self, worker: WorkerProcess, number: int) -> None:
        self._send(worker, DROP, number)

    def _send(self, worker: WorkerProcess, what: int, number: int, parcel: bytes = b"") -> None:
        try:
            send(worker.inlet, what, number, parcel)
        except OSError:  # it is gone: whoever listens to it says so
            return

    def _listen(self, worker: WorkerProcess) -> None:
        """Pass on what a worker says, until it says nothing more."""
        assert worker.process.stdout is not None  # noqa: S101 - it was asked for
        with worker.process.stdout as outlet:
            while (message := receive(outlet)) is not None:
                what, number, parcel = message
                self._events.put(worker if what == READY else Done(number, worker, parcel))
        self._events.put(Lost(worker, _describe_end(worker.process.wait())))

    def _next_event(self) -> Any:
        try:
            event = self._events.get(timeout=_PAUSE)
        except queue.Empty:
            return None
        if isinstance(event, WorkerProcess):
            event.is_ready, self._stillborn = True, 0
            return None
        if isinstance(event, Lost):
            self._bury(event)
        return event

    def _bury(self, event: Lost) -> None:
        """Close the pipes of a worker that is gone; give up if none ever begins."""
        self._end(event.worker)
        if event.worker.is_ready or event.worker not in self._workers:
            return
        self._stillborn += 1
        if self._stillborn >= MOST_LOST:
            raise InfrastructureError(
                f"{self._stillborn} workers in a row did not begin; the last one {event.reason}. "
                f"`{Path(sys.executable).name} -m tedaudit.worker --serve </dev/null` shows why; the engine "
                "`serial` needs none."
            )

    def close(self) -> None:
        """End all workers; results that nobody has taken are dropped, so that no listener waits with one."""
        for worker in self._workers:
            _kill(worker.process)
        deadline = time.monotonic() + _PATIENCE
        listeners = [worker.listener for worker in self._workers if worker.listener is not None]
        while any(one.is_alive() for one in listeners) and time.monotonic() < deadline:
            with suppress(queue.Empty):
                self._events.get(timeout=_PAUSE / 4)
        super().close()

    def _end(self, worker: WorkerProcess) -> None:
        if worker.process.poll() is None:
            _kill(worker.process)
        with suppress(OSError):  # bytes that nobody took
            worker.inlet.close()
        if worker.listener is not None:
            worker.listener.join(_PATIENCE)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a worker, and what it may have started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (OSError, AttributeError):  # it is gone, or there are no groups on this system
        process.kill()


def _describe_end(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = str(-code)
    return f"was ended by {name}"


def _environment() -> dict[str, str]:
    """Return the environment of a worker: modules are found where this process finds them."""
    return {
        **os.environ, "PYTHONPATH": os.pathsep.join(find_path()), "TOKENIZERS_PARALLELISM": "false",
        **dict.fromkeys(_ONE_THREAD, "1"),
    }  # fmt: skip
