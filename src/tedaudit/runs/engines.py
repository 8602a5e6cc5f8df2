"""Who does the steps of a run: this process, several of this machine, or a Ray cluster.

A step may be done twice, and by anybody: its files depend on nothing but the step. Whoever does one writes
its files; only the run lists them.
"""

import io
import os
import pickle
import queue
import signal
import sys
import threading
import types
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, Self

from tedaudit.errors import InfrastructureError, PluginError
from tedaudit.plugins.protocols import CallsOut, CallsUserCode
from tedaudit.plugins.registry import Reference
from tedaudit.runs.listing import Made
from tedaudit.runs.steps import GuessStep, Shared, Step, Worker, commit

Announce = Callable[[str], None]  # takes a line for the user
MOST_LOST = 3  # processes that the same step may cost
_PAUSE = 0.2  # seconds; a wait without end would not notice Ctrl-C, which polars handles in its own way
_ONE_THREAD = (
    "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip


class Engine(Protocol):
    """Does steps, a bounded number of them at a time. Which engine it is plays no part in any table's key."""

    @property
    def has_room(self) -> bool:
        """Whether another step may be submitted now; if not, take what is finished first."""
        ...

    def open(self, here: Worker, plugins: Mapping[str, Any]) -> None:
        """Begin a run: what its steps share, and its plug-ins as they are built, by their identity."""
        ...

    def submit(self, step: Step) -> None:
        """Take a step."""
        ...

    def finished(self) -> Iterator[tuple[Step, list[Made]]]:
        """Yield what is done, in any order; wait for something if nothing is."""
        ...


class SerialEngine:
    """Does a step in this process when its files are asked for."""

    def __init__(self) -> None:
        self._waiting: list[Step] = []

    @property
    def has_room(self) -> bool:
        """Whether nothing waits: one step is in memory at a time."""
        return not self._waiting

    def open(self, here: Worker, plugins: Mapping[str, Any]) -> None:  # noqa: ARG002 - it has them
        """Begin a run."""
        self._here = here
        self._waiting.clear()

    def submit(self, step: Step) -> None:
        """Take a step."""
        self._waiting.append(step)

    def finished(self) -> Iterator[tuple[Step, list[Made]]]:
        """Do the step that waits."""
        while self._waiting:
            step = self._waiting.pop()
            yield step, do_here(self._here, step)


def do_here(here: Worker, step: Step) -> list[Made]:
    """Do a step in this process, and write its files."""
    return commit(here.shared.root, here.do(step))


def must_stay(step: Step, plugins: Mapping[str, Any]) -> bool:
    """Return whether a step calls a plug-in that asks a server: its limits hold for one process.

    Or an attack that tries a function or a server: how often that is called was said before.
    """
    called = [plugins.get(reference.identity) for reference in step.called]
    if any(_calls_out(plugin) and not isinstance(plugin, CallsUserCode) for plugin in called):
        return True
    is_tried = isinstance(step, GuessStep) and step.attack.knows_mechanism
    return is_tried and _calls_out(plugins.get(step.mechanism.identity))


def _calls_out(plugin: Any) -> bool:
    return isinstance(plugin, CallsOut) and plugin.callee(2) is not None


def list_remembering(plugins: Mapping[str, Any], workers: int) -> Iterator[str]:
    """Yield what is to be said of code that may remember its calls, if several processes have it."""
    for plugin in plugins.values():
        if isinstance(plugin, CallsUserCode) and workers > 1:
            callee = plugin.callee(2) if isinstance(plugin, CallsOut) else None
            name = "Your code" if callee is None else f"{callee.name[0].upper()}{callee.name[1:]}"
            yield (
                f"{name} runs in up to {workers} processes: what it remembers between calls, it remembers "
                "in each of them apart."
            )


class StepPickler(pickle.Pickler):
    """Writes a step for another process; objects that live in this one are named there by their identity."""

    def persistent_id(self, thing: Any) -> str | None:
        """Return the identity of a reference to such an object."""
        return thing.identity if isinstance(thing, Reference) and not thing.is_named else None


class _StepUnpickler(pickle.Unpickler):
    def __init__(self, parcel: bytes, references: Mapping[str, Reference]) -> None:
        super().__init__(io.BytesIO(parcel))
        self._references = references

    def persistent_load(self, identity: str) -> Reference:
        return self._references[identity]


def pack_step(step: Step) -> bytes:
    """Return a step as bytes."""
    buffer = io.BytesIO()
    StepPickler(buffer, pickle.HIGHEST_PROTOCOL).dump(step)
    return buffer.getvalue()


def unpack_step(parcel: bytes, shared: Shared) -> Step:
    """Return the step in some bytes."""
    step: Step = _StepUnpickler(parcel, shared.references).load()
    return step


def pack_shared(shared: Shared) -> bytes:
    """Return what all steps share as bytes."""
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(shared)
    except Exception as error:  # whatever a class raises that holds a file, lock or connection
        raise PluginError(
            f"An object of this audit cannot be sent to another process ({type(error).__name__}: {error}). "
            "Use the engine `serial`; or give it by its name, as py:package.module:name."
        ) from error
    return packed


def unpack_shared(packed: bytes) -> Shared:
    """Return what all steps share, in another process."""
    try:
        shared: Shared = pickle.loads(packed)  # noqa: S301 - from the run
    except Exception as error:
        raise PluginError(
            f"An object of this audit cannot be loaded in another process ({type(error).__name__}: {error}). "
            "Use the engine `serial`; or give it by its name, as py:package.module:name."
        ) from error
    return shared


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessEngine:
    """Has steps done by processes, started when there is something to do and ended when it is closed."""

    def __init__(self, workers: int = 0, announce: Announce | None = None) -> None:
        self._workers, self._announce = workers or count_cores(), announce
        self._told: set[str] = set()
        self._staying = _Waiting()  # for the thread of plug-ins that must not be there several times
        self._pool: ProcessPoolExecutor | None = None
        self._parcel = b""
        self._flying: dict[Future[Any], Step] = {}
        self._suspects: deque[Step] = deque()  # steps that were being done when a process was lost
        self._lost: Counter[Step] = Counter()

    @property
    def has_room(self) -> bool:
        """Whether a process has nothing to do; a step that may have cost a process is done alone."""
        return not self._suspects and len(self._flying) <= self._workers

    def open(self, here: Worker, plugins: Mapping[str, Any]) -> None:
        """Begin a run."""
        self._root, self._plugins = here.shared.root, plugins
        self._parcel = pack_shared(here.shared)
        self._leave()
        self._end()
        threading.Thread(target=_do_in_turn, args=(here, self._staying), daemon=True).start()
        self._suspects.clear()
        self._lost.clear()
        for line in list_remembering(plugins, self._workers):
            self._tell(line)

    def submit(self, step: Step) -> None:
        """Take a step."""
        future: Future[Any]
        if must_stay(step, self._plugins):
            future = Future()
            self._staying.put((future, step))
        else:
            parcel = pack_step(step)
            try:
                with _as_parent():  # a process may start with any step
                    future = self._begin().submit(_do, parcel)
            except BrokenProcessPool:  # one was lost, and nothing has said so yet
                self._suspect(step)
                return
        self._flying[future] = step

    def finished(self) -> Iterator[tuple[Step, list[Made]]]:
        """Yield what is done; an error of a plug-in is raised as if it had been done here."""
        while not self._flying and self._suspects:
            self.submit(self._suspects[0])
        done = wait(self._flying, timeout=_PAUSE, return_when=FIRST_COMPLETED).done
        for future in done:
            step = self._flying.pop(future, None)
            if step is None:
                continue
            try:
                result = future.result()
            except BrokenProcessPool:
                self._suspect(step)
                continue
            if self._suspects and self._suspects[0] is step:
                self._suspects.popleft()
            yield step, commit(self._root, result) if isinstance(result, dict) else result

    def _suspect(self, step: Step) -> None:
        """Note that a process was lost: all steps that were being done are done again, one at a time."""
        self._end()
        self._lost[step] += 1
        if self._lost[step] >= MOST_LOST:
            raise InfrastructureError(
                f"{step.what} has cost {MOST_LOST} processes, one after the other. That is not an output, so "
                "no attack sees it. Finished work is kept: remove the cause (too little memory for so many "
                "workers?) and run the same command again; the engine `serial` shows what the plug-in does."
            )
        if step not in self._suspects:
            self._suspects.append(step)

    def _begin(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._workers, get_context("spawn"), _open, (self._parcel,))
        return self._pool

    def _tell(self, line: str) -> None:
        if self._announce is not None and line not in self._told:
            self._told.add(line)
            self._announce(line)

    def _leave(self) -> None:
        """Let go of all that is being done; what the thread has not begun is not done any more."""
        for future in self._flying:
            future.cancel()
        self._flying.clear()
        self._staying.put(None)
        self._staying = _Waiting()

    def _end(self) -> None:
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):  # noqa: SLF001 - no other way to stop one
                process.kill()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()
        self._end()


_Waiting = queue.SimpleQueue["tuple[Future[Any], Step] | None"]


def _do_in_turn(here: Worker, waiting: _Waiting) -> None:
    """Do what waits, one step after the other; nobody waits for this thread when the process ends."""
    while (given := waiting.get()) is not None:
        future, step = given
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(here.do(step))
        except BaseException as error:
            future.set_exception(error)


@contextmanager
def _as_parent() -> Iterator[None]:
    """Start processes that have one thread each, and do not run the user's script again."""
    before = {name: os.environ.get(name) for name in (*_ONE_THREAD, "TOKENIZERS_PARALLELISM")}
    main = sys.modules["__main__"]
    os.environ.update({**dict.fromkeys(_ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"})
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


# --- What runs in another process.

_place: Worker | PluginError | None = None


@contextmanager
def as_told() -> Iterator[None]:
    """Tell an error that no pickle holds in words: others arrive in the first process as they are."""
    try:
        yield
    except BaseException as error:
        try:
            is_whole = str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - made here
        except Exception:  # whatever a class raises
            is_whole = False
        if is_whole:
            raise
        raise RuntimeError(f"{type(error).__name__}: {error}") from error


def _open(parcel: bytes) -> None:
    """Take what steps share; end with the process that started this one, whatever is being done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is typed is for the first process
    os.dup2(2, 1)  # its standard output is for results
    threading.Thread(target=_end_with_parent, daemon=True).start()
    global _place  # noqa: PLW0603 - a process has one
    try:
        _place = Worker(unpack_shared(parcel))
    except PluginError as error:  # told when there is somebody to tell
        _place = error


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _do(parcel: bytes) -> list[Made]:
    if not isinstance(_place, Worker):
        raise _place or RuntimeError("nothing was opened")
    with as_told():
        return do_here(_place, unpack_step(parcel, _place.shared))
